//! FastCGI with PHP-FPM: the variables of scripts, their responses, and the handling of their failures.
//! Without PHP-FPM skipped, unless HAYAMI_ALL_CLIENTS=1.

use crate::support::peers::Peer;
use crate::support::{Answer, Scratch, Server, missing, needs_root, output, until};

/// h2o's documented way to serve PHP, as in its manual except for the path.
const DOCUMENTED: &str = "
file.custom-handler:
  extension: .php
  fastcgi.connect:
    host: 127.0.0.1
    port: PORT
    type: tcp
file.index: [index.php, index.html]
hosts:
  default:
    paths:
      /:
        file.dir: DIR/site
";

/// PHP-FPM and hayami in front of it; `PORT` in the configuration stands for its port.
fn both(dir: &Scratch, text: &str) -> Option<(Peer, Server)> {
    let fpm = Peer::php_fpm(dir, 3, "php_admin_flag[display_errors] = off\nphp_admin_flag[log_errors] = on")?;
    let text = format!("num-threads: 1\n{text}").replace("PORT", &fpm.port.to_string());
    let server = Server::config(dir, &text);
    Some((fpm, server))
}

fn script(dir: &Scratch, name: &str, php: &str) {
    dir.write(&format!("site/{name}"), format!("<?php\n{php}\n"));
}

/// The response to a request sent with curl: status, a blank, the content.
fn curl(args: &[&str], url: &str) -> String {
    let usual = ["-sS", "-m", "60", "-w", "\n%{http_code}"];
    let (code, out) = output("curl", usual.into_iter().chain(args.iter().copied()).chain([url]));
    assert_eq!(code, 0, "curl {args:?} {url}");
    let text = String::from_utf8_lossy(&out).into_owned();
    let (content, status) = text.rsplit_once('\n').unwrap_or_default();
    format!("{status} {content}")
}

#[test]
fn the_first_example_of_the_manual_works_with_debians_pool() {
    if !needs_root() {
        return;
    }
    let dir = Scratch::new();
    let manual = include_str!("../docs/php.md");
    let example =
        manual.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    assert!(example.contains("/run/php/php8.2-fpm.sock"), "{example}");
    dir.write("run/php/.keep", "");
    script(&dir, "index.php", "echo 'front ', $_SERVER['REQUEST_URI'], ' ', exec('id -un');");
    script(&dir, "own.php", "echo 'own';");
    dir.write("site/page.html", "a page");
    let Some(_fpm) = Peer::php_fpm_of_debian(&dir, "run/php/php8.2-fpm.sock") else { return };
    let text = example.replace("listen: 80\n", "listen: 127.0.0.1:0\n");
    let text = text.replace("/run/php", "DIR/run/php").replace("/srv/www", "DIR/site");
    let server = Server::config(&dir, &text);
    for (target, want) in [
        ("/", "front / www-data"),
        ("/own.php", "own"),
        ("/pretty/url?a=b", "front /pretty/url?a=b www-data"),
        ("/page.html", "a page"),
    ] {
        let answer = server.get_with(target, "Host: www.example\r\n");
        assert_eq!((answer.status, answer.text().as_str()), (200, want), "{target}");
    }
}

#[test]
fn scripts_get_what_was_sent_and_clients_what_scripts_say() {
    let dir = Scratch::new();
    script(
        &dir,
        "get.php",
        "echo $_GET['a'], ' ', $_SERVER['HTTP_X_A'] ?? '-', ' ', $_SERVER['REQUEST_METHOD'];",
    );
    script(&dir, "post.php", "echo $_POST['a'] ?? '-', ' ', $_SERVER['CONTENT_LENGTH'] ?? '-';");
    script(
        &dir,
        "raw.php",
        "echo strlen(file_get_contents('php://input')), ' ', md5(file_get_contents('php://input'));",
    );
    script(&dir, "moved.php", "header('Location: /get.php?a=there');");
    script(&dir, "cookies.php", "setcookie('a', '1'); setcookie('b', '2'); http_response_code(201);");
    script(&dir, "large.php", "for ($i = 0; $i < 2000; $i++) echo str_repeat('0123456789', 1000);");
    script(&dir, "sub/index.php", "echo 'index of ', $_SERVER['SCRIPT_NAME'];");
    script(&dir, "info.php", "echo $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '-';");
    script(&dir, "broken.php", "nothing_of_that_name();");
    dir.write("site/a.css", "a{}").write("site/upload/a.jpg", "<?php echo 'run'; ?>");
    let Some((_fpm, server)) = both(&dir, DOCUMENTED) else { return };
    let url = |path: &str| format!("http://{}{path}", server.address);
    let cases: &[(&[&str], &str, &str)] = &[
        (&[], "/get.php?a=b%20c", "200 b c - GET"),
        (&["-H", "X-A: 1"], "/get.php?a=b", "200 b 1 GET"),
        (&["-H", "X_A: 1"], "/get.php?a=b", "200 b - GET"),
        (&["-X", "DELETE"], "/get.php?a=b", "200 b - DELETE"),
        (&["-d", "a=b"], "/post.php", "200 b 3"),
        (&["-d", "a=b", "-H", "Transfer-Encoding: chunked"], "/post.php", "200 b 3"),
        (&["-d", "", "-X", "POST"], "/post.php", "200 - -"),
        (&["-F", "a=b"], "/post.php", "200 b "),
        (&["-L"], "/moved.php", "200 there - GET"),
        (&["--http2-prior-knowledge", "-d", "a=b"], "/post.php", "200 b 3"),
        (&[], "/sub/", "200 index of /sub/index.php"),
        (&[], "/info.php", "200 /info.php -"),
        (&[], "/info.php/more/x.php?q", "200 /info.php /more/x.php"),
        (&[], "/a.css", "200 a{}"),
        (&[], "/upload/a.jpg", "200 <?php echo 'run'; ?>"),
        (&[], "/upload/a.jpg/x.php", "404 "),
        (&[], "/nothing.php", "404 "),
        (&[], "/broken.php", "500 "),
    ];
    for (args, path, want) in cases {
        let got = curl(args, &url(path));
        assert!(got.starts_with(want), "{args:?} {path}: {got}");
    }
    server.until_stderr(" for /broken.php: PHP message: PHP Fatal error:");
    assert_eq!(curl(&[], &url("/large.php")).len(), "200 ".len() + 20_000_000);
    let cookies = server.get("/cookies.php");
    assert_eq!((cookies.status, cookies.all("set-cookie")), (201, vec!["a=1", "b=2"]));
    assert_eq!(server.get("/moved.php").status, 302);
    let mut client = server.connect();
    let head = client.send("HEAD /get.php?a=b HTTP/1.1\r\nhost: a\r\n\r\n").answer_to_head();
    assert_eq!(head.status, 200);
    assert_eq!(client.send("GET /get.php?a=b HTTP/1.1\r\nhost: a\r\n\r\n").answer().text(), "b - GET");
}

#[test]
fn a_global_custom_handler_changes_the_environment_of_every_path() {
    let dir = Scratch::new();
    script(&dir, "env.php", "foreach (['A', 'B', 'C', 'D'] as $n) echo $_SERVER[$n] ?? '-', ' ';");
    let text = "
setenv: {D: global}
file.custom-handler:
  extension: .php
  fastcgi.connect: {host: 127.0.0.1, port: PORT}
  unsetenv: [A, B, D]
  setenv: {B: handler}
hosts:
  default:
    setenv: {A: host}
    paths: {/: {file.dir: DIR/site, setenv: {A: path, B: path, C: path}}}
";
    let Some((_fpm, server)) = both(&dir, text) else { return };
    assert_eq!(server.get("/env.php").text(), "- handler path - ");
}

#[test]
fn uploads_of_any_size_go_through_without_being_kept_in_memory() {
    let dir = Scratch::new();
    script(&dir, "form.php", "echo $_FILES['f']['size'], ' ', md5_file($_FILES['f']['tmp_name']);");
    script(
        &dir,
        "raw.php",
        "$h = fopen('php://input', 'r'); $n = 0; while (!feof($h)) $n += strlen(fread($h, 65536)); \
                             echo $n, ' ', $_SERVER['CONTENT_LENGTH'];",
    );
    let large: Vec<u8> = (0..50 << 20).map(|at: u32| (at ^ (at >> 9)) as u8).collect();
    dir.write("large", &large);
    let Some(fpm) = Peer::php_fpm(
        &dir,
        2,
        "php_admin_value[upload_max_filesize] = 60M\nphp_admin_value[post_max_size] = 60M",
    ) else {
        return;
    };
    let server =
        Server::config(&dir, &format!("num-threads: 1\n{DOCUMENTED}").replace("PORT", &fpm.port.to_string()));
    let sum = output("md5sum", [&dir.text("large")[..]]).1;
    let sum = String::from_utf8_lossy(&sum[..32]).into_owned();
    let (field, file) = (format!("f=@{}", dir.text("large")), format!("@{}", dir.text("large")));
    let url = |path: &str| format!("http://{}{path}", server.address);
    assert_eq!(curl(&["-F", &field], &url("/form.php")), format!("200 52428800 {sum}"));
    let raw = ["--data-binary", &file, "-H", "Content-Type: application/octet-stream"];
    assert_eq!(curl(&raw, &url("/raw.php")), "200 52428800 52428800");
    let chunked = [&raw[..], &["-H", "Transfer-Encoding: chunked"]].concat();
    assert_eq!(curl(&chunked, &url("/raw.php")), "200 52428800 52428800");
    assert!(server.peak_memory() < 40 << 20, "{} bytes", server.peak_memory());
}

#[test]
fn front_controllers_get_pretty_urls_by_either_way() {
    let dir = Scratch::new();
    script(&dir, "index.php", "echo 'page ', $_SERVER['REQUEST_URI'], ' ', $_POST['a'] ?? '';");
    script(&dir, "wp-login.php", "echo 'login';");
    dir.write("site/wp-content/style.css", "body{}");
    let handler = "
file.custom-handler: {extension: .php, fastcgi.connect: PORT}
file.index: index.php
hosts:
  default:
    paths:
      /:
";
    let ways = [
        "        try-files: $uri $uri/ /index.php?$args\n        file.dir: DIR/site\n",
        "        - file.dir: DIR/site\n        - redirect: {url: /index.php/, internal: YES, status: 307}\n",
    ];
    for way in ways {
        let Some((_fpm, server)) = both(&dir, &format!("{handler}{way}")) else { return };
        let url = |path: &str| format!("http://{}{path}", server.address);
        let cases: &[(&[&str], &str, &str)] = &[
            (&[], "/", "200 page / "),
            (&[], "/2026/11/hello?x=1", "200 page /2026/11/hello?x=1 "),
            (&["-d", "a=b"], "/comments", "200 page /comments b"),
            (&[], "/wp-login.php", "200 login"),
            (&[], "/wp-content/style.css", "200 body{}"),
            (&[], "/wp-content/none.css", "200 page /wp-content/none.css "),
        ];
        for (args, path, want) in cases {
            assert_eq!(curl(args, &url(path)), *want, "{way} {args:?} {path}");
        }
    }
}

#[test]
fn what_happens_to_a_script_is_told_to_the_client_by_status_and_to_the_log_in_words() {
    let dir = Scratch::new();
    script(&dir, "killed.php", "exec('kill -9 ' . getmypid()); sleep(10);");
    script(
        &dir,
        "cut.php",
        "echo str_repeat('x', 200000); flush(); exec('kill -9 ' . getmypid()); sleep(10);",
    );
    script(&dir, "slow.php", "sleep(20);");
    script(&dir, "fine.php", "echo 'fine';");
    let text = format!("fastcgi.timeout.io: 400\n{DOCUMENTED}");
    let Some((fpm, server)) = both(&dir, &text) else { return };
    assert_eq!(server.get("/killed.php").status, 502);
    // Whether it is closed or reset depends on what its process had not read.
    server.until_stderr(" while waiting for the response, after ");
    assert!(server.stderr().contains(" for /killed.php: "), "{}", server.stderr());
    let mut client = server.connect();
    client.send("GET /cut.php HTTP/1.1\r\nhost: a\r\n\r\n");
    let raw = client.rest();
    assert!(
        raw.starts_with(b"HTTP/1.1 200 OK\r\n"),
        "{}",
        String::from_utf8_lossy(&raw[..raw.len().min(500)])
    );
    assert!(Answer::parse(raw, false, false).is_none(), "{} bytes look complete", raw.len());
    server.until_stderr(" for /cut.php: the content of the response is incomplete: from the upstream: ");
    assert_eq!(server.get("/slow.php").status, 504);
    server.until_stderr(" for /slow.php: timed out while waiting for the response, after ");
    assert_eq!(server.get("/fine.php").text(), "fine");
    let port = fpm.port;
    fpm.stop();
    assert_eq!(server.get("/fine.php").status, 502);
    server.until_stderr(" for /fine.php: Connection refused (os error 111) while connecting, after ");
    let _fpm = Peer::php_fpm_at(port, &dir, 3, "");
    until("it answers again", || server.get("/fine.php").text() == "fine");
}

#[test]
fn connections_are_kept_only_where_that_is_wanted() {
    let dir = Scratch::new();
    script(&dir, "fine.php", "echo getmypid();");
    for (keep_alive, kept) in [(0, 0), (60_000, 1)] {
        let text = format!("fastcgi.timeout.keepalive: {keep_alive}\n{DOCUMENTED}");
        let Some((_fpm, server)) = both(&dir, &text) else { return };
        let before = server.sockets();
        let answers: Vec<_> = (0..30).map(|_| server.get("/fine.php").text()).collect();
        // A process that has a connection takes the requests that come on it.
        if kept == 1 {
            assert_eq!(answers, vec![answers[0].clone(); 30]);
        }
        until("the others are closed", || server.sockets() == before + kept);
    }
}

#[test]
fn content_that_a_client_does_not_send_is_its_own_fault() {
    if missing("php-cgi") {
        return;
    }
    let dir = Scratch::new();
    script(&dir, "post.php", "echo 'never';");
    let Some((_fpm, server)) = both(&dir, &format!("http1-request-io-timeout: 1\n{DOCUMENTED}")) else {
        return;
    };
    let mut client = server.connect();
    client.send("POST /post.php HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n");
    assert_eq!(client.answer().status, 400);
}

#[test]
fn a_path_that_may_mean_a_thousand_scripts_costs_the_loop_no_more_than_another_one() {
    let dir = Scratch::new();
    dir.write("site/a", "");
    let at_path = "fastcgi.connect: 9\n        fastcgi.document_root: DIR/site";
    let below_files =
        "file.dir: DIR/site\n        file.custom-handler: {extension: .php, fastcgi.connect: 9}";
    for lines in [at_path, below_files] {
        let text = format!("num-threads: 1\nhosts:\n  default:\n    paths:\n      /:\n        {lines}\n");
        let server = Server::config(&dir, &text);
        let mut client = server.connect();
        let mut cost = |segment: &str| {
            let path = segment.repeat(1200);
            let before = server.cpu_nanos();
            for number in 0..20 {
                // A new name each time: nothing is cached for it.
                let request = format!("GET /{segment}{number}/{path} HTTP/1.1\r\nHost: a\r\n\r\n");
                client.send(request).answer();
            }
            server.cpu_nanos() - before
        };
        let mut least = |segment: &str| (0..3).map(|_| cost(segment)).min().expect("some");
        let (plain, scripts) = (least("a.xyz/"), least("a.php/"));
        assert!(scripts < 2 * plain + 20 * 200_000, "{lines}: {scripts} ns, {plain} ns without scripts");
    }
}
