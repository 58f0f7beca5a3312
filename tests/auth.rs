//! `auth.basic`: files of Apache's `htpasswd`, with various clients and handlers.

use crate::support::h2::{flag, kind};
use crate::support::peers::Peer;
use crate::support::upstream::Upstream;
use crate::support::{Launch, Scratch, Server, Wire, missing, needs_root, run, until};

/// amy:secret, amy:wrong, amy:other, eve:secret
const AMY: &str = "Authorization: Basic YW15OnNlY3JldA==\r\n";
const WRONG: &str = "Authorization: Basic YW15Ondyb25n\r\n";
const OTHER: &str = "Authorization: Basic YW15Om90aGVy\r\n";
const EVE: &str = "Authorization: Basic ZXZlOnNlY3JldA==\r\n";

/// The password `secret` for amy, hashed with bcrypt, which is checked on a separate thread.
const USERS: &str = "amy:$2y$04$KWit./ToewSlFOOeYEFpVeuoQGn1enVxQAJkX0ACg.JvEPrqGAS7y\n";

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/a.txt", "secret page").write("users", USERS);
    dir
}

/// The folder `site`, protected by a password, with these lines at its path.
#[track_caller]
fn protected(dir: &Scratch, lines: &str) -> Server {
    Server::site(dir, &format!("auth.basic: {{realm: Admin, file: DIR/users}}\n{lines}"))
}

/// An upstream, protected by a password.
#[track_caller]
fn before(dir: &Scratch, upstream: &Upstream) -> Server {
    let url = format!("http://{}", upstream.address);
    let path = format!("{{auth.basic: {{file: DIR/users}}, proxy.reverse.url: '{url}'}}");
    Server::config(dir, &format!("num-threads: 1\nhosts: {{default: {{paths: {{/: {path}}}}}}}\n"))
}

#[test]
fn a_password_is_asked_for_and_checked() {
    let dir = site();
    let server = protected(&dir, "access-log: {path: DIR/log, format: '%u %s'}");
    let challenge = Some("Basic realm=\"Admin\", charset=\"UTF-8\"");
    for _ in 0..2 {
        for (fields, want) in
            [("", 401), (WRONG, 401), (EVE, 401), (AMY, 200), ("Authorization: Bearer x\r\n", 401)]
        {
            let answer = server.get_with("/a.txt", fields);
            assert_eq!(answer.status, want, "{fields}");
            assert_eq!(answer.field("www-authenticate"), challenge.filter(|_| want == 401), "{fields}");
        }
    }
    server.until_stderr("info request: from 127.0.0.1 for \"/a.txt\": wrong password for user `amy`");
    server.until_stderr(&format!("user `eve` is not in `{}`", dir.text("users")));
    // A request without credentials is no error.
    until("both rounds are logged", || server.stderr().matches("info request").count() == 4);
    until("all lines are there", || dir.read("log").lines().count() == 10);
    // Those of two workers.
    let log = dir.read("log");
    let mut lines: Vec<_> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, [["- 401"; 8].as_slice(), ["amy 200"; 2].as_slice()].concat());
}

#[test]
fn whatever_htpasswd_writes_is_read_or_refused() {
    if missing("htpasswd") {
        return;
    }
    let dir = site();
    for (options, taken) in [
        (&["-B", "-C", "5"][..], true),
        (&["-2"], true),
        (&["-5"], true),
        (&["-5", "-r", "1000"], true),
        (&["-m"], true),
        (&["-s"], true),
        (&["-d"], false),
        (&["-p"], false),
    ] {
        dir.write("users", "");
        let file = dir.text("users");
        let args = |user| [options, &["-b", &file, user, "sécret word"]].concat();
        run("htpasswd", &args("bob"));
        run("htpasswd", &args("amy"));
        if taken {
            let server = protected(&dir, "");
            // amy:sécret word
            let right = server.get_with("/a.txt", "Authorization: Basic YW15OnPDqWNyZXQgd29yZA==\r\n");
            assert_eq!((right.status, right.text().as_str()), (200, "secret page"), "{options:?}");
            assert_eq!(server.get_with("/a.txt", AMY).status, 401, "{options:?}");
            continue;
        }
        let text = "hosts: {default: {auth.basic: {file: DIR/users}, paths: {/: {file.dir: DIR/site}}}}";
        let ended = Launch::config(&dir, text).finish_test(&[]);
        assert_eq!(ended.code, 78, "{options:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(": line 1: the password of `bob` is stored "), "{}", ended.stderr);
        assert!(ended.stderr.contains("`htpasswd -B FILE USER`"), "{}", ended.stderr);
    }
}

#[test]
fn curl_logs_in() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let server = protected(&dir, "");
    for (user, want) in [("amy:secret", "200"), ("amy:wrong", "401"), ("eve:secret", "401")] {
        let url = format!("http://{}/a.txt", server.address);
        let said = run("curl", &["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-u", user, &url]);
        assert_eq!(said, want, "{user}");
    }
}

#[test]
fn a_changed_password_counts_within_a_second_and_a_broken_file_changes_nothing() {
    let dir = site();
    let server = protected(&dir, "");
    assert_eq!(server.get_with("/a.txt", AMY).status, 200);
    // openssl passwd -apr1 -salt tzFGqvBh other
    dir.replace("users", "amy:$apr1$tzFGqvBh$NDUN5BaFCudofe4OqEYjF.\n");
    until("the old password fails", || server.get_with("/a.txt", AMY).status == 401);
    assert_eq!(server.get_with("/a.txt", OTHER).status, 200);
    dir.replace("users", "amy:plain\n");
    until("the file is read", || {
        assert_eq!(server.get_with("/a.txt", OTHER).status, 200);
        server
            .stderr()
            .contains("the password of `amy` is stored as plain text; its previous content stays in use")
    });
    dir.replace("users", "");
    until("nobody is left", || server.get_with("/a.txt", OTHER).status == 401);
}

#[test]
fn an_outer_requirement_holds_inside_until_it_is_switched_off() {
    let dir = site();
    let text = "auth.basic: {file: DIR/users}\nhosts:\n  default:\n    paths:\n      /: {file.dir: DIR/site}\n      \
                /open: {auth.basic: OFF, file.dir: DIR/site}\n  open:\n    auth.basic: OFF\n    paths:\n      \
                /: {file.dir: DIR/site}\n      /closed: {auth.basic: {realm: Own, file: DIR/users}, file.dir: DIR/site}\n";
    let server = Server::config(&dir, text);
    for (host, path, want) in [
        ("default", "/a.txt", Some("Restricted")),
        ("default", "/open/a.txt", None),
        ("open", "/a.txt", None),
        ("open", "/closed/a.txt", Some("Own")),
    ] {
        let answer = server.get_with(path, &format!("Host: {host}\r\n"));
        let challenge = want.map(|realm| format!("Basic realm=\"{realm}\", charset=\"UTF-8\""));
        assert_eq!(answer.field("www-authenticate"), challenge.as_deref(), "{host} {path}");
        assert_eq!(answer.status == 401, want.is_some(), "{host} {path}");
    }
}

#[test]
fn one_of_both_is_enough_if_that_is_said() {
    let dir = site();
    for (lines, plain, with_password) in [
        ("allow: 127.0.0.1\ndeny: all", 401, 200),
        ("deny: all", 403, 403),
        ("satisfy: any\nallow: 127.0.0.1\ndeny: all", 200, 200),
        ("satisfy: any\ndeny: all", 401, 200),
        ("satisfy: any\nallow: 10.0.0.1", 401, 200),
        ("satisfy: any", 401, 200),
    ] {
        let server = protected(&dir, lines);
        let both = (server.get("/a.txt").status, server.get_with("/a.txt", AMY).status);
        assert_eq!(both, (plain, with_password), "{lines}");
        assert_eq!(server.get_with("/a.txt", WRONG).status, plain, "{lines}");
    }
}

#[test]
fn a_check_loses_nothing_of_the_request() {
    let (dir, upstream) = (site(), Upstream::echo());
    let content = "0123456789".repeat(100_000);
    let length = content.len();
    // Each server checks the password again: the first request waits for it.
    let server = before(&dir, &upstream);
    let head = format!("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n");
    let answer = server.connect().send(format!("{head}{AMY}\r\n{content}")).answer();
    assert_eq!((answer.status, answer.content.len()), (200, length));
    assert_eq!(upstream.last().all("authorization"), ["Basic YW15OnNlY3JldA=="], "upstreams see it, too");

    let server = before(&dir, &upstream);
    let mut client = server.connect();
    client.send(format!("{head}Expect: 100-continue\r\n{WRONG}\r\n"));
    assert_eq!(client.answer().status, 401, "without asking for the content");
    let mut client = server.connect();
    client.send(format!("{head}Expect: 100-continue\r\n{AMY}\r\n"));
    assert_eq!(client.answer().status, 100);
    assert_eq!(client.send(&content).answer().content.len(), length);

    let server = before(&dir, &upstream);
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/x", &[("authorization", "Basic YW15OnNlY3JldA==")], false);
    wire.frame(kind::DATA, 0, 1, "hello ").frame(kind::DATA, flag::END_STREAM, 1, "there");
    let answer = wire.answer(1);
    assert_eq!((answer.status, answer.text().as_str()), (200, "hello there"));
    assert_eq!(wire.get(3, "/x").answer(3).status, 401);
}

#[test]
fn a_check_does_not_stand_in_the_way_of_a_tunnel() {
    let dir = site();
    let upstream = Upstream::scripted(|conn| {
        let head = conn.head().expect("a request");
        assert!(head.to_ascii_lowercase().contains("upgrade: chat"), "{head}");
        conn.send("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\nhello");
        assert_eq!(conn.bytes(5).expect("what the client says"), b"there");
        conn.send_last("bye");
    });
    let server = before(&dir, &upstream);
    let mut client = server.connect();
    client.send(format!("GET /x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat\r\n{AMY}\r\n"));
    client.until("hello").send("there").until("bye");
}

#[test]
fn requests_behind_one_that_waits_are_answered_in_order() {
    let dir = site();
    let server = protected(&dir, "");
    let get = |fields: &str| format!("GET /a.txt HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let mut client = server.connect();
    client.send([get(AMY), get(""), get(WRONG), get(AMY)].concat());
    for want in [200, 401, 401, 200] {
        assert_eq!(client.answer().status, want);
    }
}

#[test]
fn clients_of_connect_log_in_to_the_proxy() {
    let (dir, upstream) = (site(), Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
    let path = "{auth.basic: {file: DIR/users}, proxy.connect: ['+127.0.0.1']}";
    let server = Server::config(&dir, &format!("hosts: {{default: {{paths: {{/: {path}}}}}}}\n"));
    let connect =
        |fields: &str| format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n{fields}\r\n", upstream.address);
    let refused = server.connect().send(connect(AMY)).answer();
    let challenge = Some("Basic realm=\"Restricted\", charset=\"UTF-8\"");
    assert_eq!((refused.status, refused.field("proxy-authenticate")), (407, challenge));
    assert_eq!(refused.field("www-authenticate"), None);
    let mut client = server.connect();
    client.send(connect(&format!("Proxy-{AMY}"))).until("\r\n\r\n");
    assert_eq!(client.head().status, 200);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").until("hi");
}

#[test]
fn applications_get_the_users_name() {
    let dir = site();
    dir.write(
        "site/who.php",
        "<?php echo $_SERVER['REMOTE_USER'] ?? '-', ' ', $_SERVER['AUTH_TYPE'] ?? '-';",
    );
    let Some(fpm) = Peer::php_fpm(&dir, 1, "") else { return };
    let handler = format!(
        "file.custom-handler: {{extension: .php, fastcgi.connect: {{port: {}, type: tcp}}}}",
        fpm.port
    );
    let server = protected(&dir, &handler);
    assert_eq!(server.get_with("/who.php", AMY).text(), "amy Basic");
    assert_eq!(Server::site(&dir, &handler).get_with("/who.php", AMY).text(), "- -");
}

#[test]
fn guesses_fill_only_their_own_queue() {
    let dir = site();
    // A check takes a quarter of a second and more.
    dir.write("users", USERS.replace("$04$", "$12$"));
    let server = Server::config(
        &dir,
        "access-log: {path: DIR/log, format: '%s %{retry-after}o'}\nhosts: {default: {paths: {/: {file.dir: DIR/site}, \
         /closed: {auth.basic: {file: DIR/users}, file.dir: DIR/site}}}}",
    );
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let room = (processors / 2).max(1) * 65;
    let mut clients: Vec<_> = (0..room + 20).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        // `amy:a1` and three bytes that are another guess's for no other number.
        let guess = format!("YW15OmEx{}", digits(number));
        client.send(format!("GET /closed/a.txt HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {guess}\r\n\r\n"));
    }
    server.until_stderr("the password cannot be checked: too many passwords to be checked are waiting");
    assert_eq!(server.get("/a.txt").status, 200, "files are served all the same");
    until("a client is told when to try again", || dir.read("log").lines().any(|line| line == "503 5"));
}

/// Four digits of base64.
fn digits(number: usize) -> String {
    const DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let digit = |number: usize| char::from(DIGITS[number % DIGITS.len()]);
    [digit(number / DIGITS.len()), digit(number), 'A', 'A'].iter().collect()
}

#[test]
fn a_file_that_the_servers_user_cannot_read_again_is_warned_of() {
    if !needs_root() {
        return;
    }
    let dir = site();
    dir.permit("users", 0o600);
    let server = protected(&dir, "");
    let warning = format!("cannot read {}: changes of this file will not take effect", dir.text("users"));
    assert!(server.stderr().contains(&warning), "{}", server.stderr());
    assert_eq!(server.get_with("/a.txt", AMY).status, 200);
}
