//! `allow` and `deny`: by address, network and file, at every level, and wherever the server leads a request.

use crate::support::upstream::Upstream;
use crate::support::{Client, Launch, Scratch, Server, Wire, until};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/a.txt", "public");
    dir
}

/// A server whose paths are these, with these lines of the host.
#[track_caller]
fn server(dir: &Scratch, host: &str, paths: &str) -> Server {
    Server::config(
        dir,
        &format!("num-threads: 1\nhosts:\n  default:\n{}    paths:\n{}", deeper(host, 4), deeper(paths, 6)),
    )
}

fn deeper(lines: &str, columns: usize) -> String {
    lines.trim().lines().map(|line| format!("{}{line}\n", " ".repeat(columns))).collect()
}

#[test]
fn the_first_entry_that_matches_decides() {
    let dir = site();
    let cases = [
        ("deny: all", 403),
        ("allow: 127.0.0.0/8\ndeny: all", 200),
        ("deny: 127.0.0.1\nallow: all", 403),
        ("allow: 10.0.0.0/8\ndeny: [192.0.2.1, '::/0']", 200),
        ("allow: [10.0.0.0/8, '::1', unix:]\ndeny: all", 403),
        ("allow: '::ffff:127.0.0.0/104'\ndeny: all", 200),
    ];
    let paths = cases
        .iter()
        .enumerate()
        .map(|(number, (lines, _))| format!("/{number}:\n{}  file.dir: DIR/site\n", deeper(lines, 2)));
    let server = server(&dir, "", &paths.collect::<String>());
    for (number, (lines, want)) in cases.iter().enumerate() {
        assert_eq!(server.get(&format!("/{number}/a.txt")).status, *want, "{lines}");
        let mut wire = Wire::open(&server.address);
        assert_eq!(wire.get(1, &format!("/{number}/a.txt")).answer(1).status, *want, "{lines}");
    }
    assert_eq!(server.get("/0/none").status, 403, "what is not there is not told either");
    server.until_stderr("info request: from 127.0.0.1 for \"/0/a.txt\": access is denied by `deny: all`");
    assert_eq!(
        server.get_with("/0/a.txt", "Accept: text/html\r\n").field("content-type"),
        Some("text/html; charset=utf-8")
    );
}

#[test]
fn an_inner_level_takes_the_place_of_the_outer_list() {
    let dir = site();
    let paths = "
/: {file.dir: DIR/site}
/open: {allow: all, file.dir: DIR/site}
/closed: {deny: all, file.dir: DIR/site}
";
    let text = format!(
        "deny: all\nhosts:\n  default:\n    allow: 127.0.0.1\n    deny: all\n    paths:\n{}  other:\n    paths:\n{}",
        deeper(paths, 6),
        deeper(paths, 6)
    );
    let server = Server::config(&dir, &text);
    for (host, path, want) in [
        ("a", "/", 200),
        ("a", "/open", 200),
        ("a", "/closed", 403),
        ("other", "/", 403),
        ("other", "/open", 200),
        ("other", "/closed", 403),
    ] {
        let status = server.get_with(&format!("{path}/a.txt"), &format!("Host: {host}\r\n")).status;
        assert_eq!(status, want, "{host} {path}");
    }
}

#[test]
fn clients_on_unix_sockets_have_a_name_of_their_own() {
    let dir = site();
    let text = "listen: [{type: unix, port: DIR/socket, permission: 666}, 127.0.0.1:0]\nhosts: {default: {allow: ['unix:'], \
                deny: all, paths: {/: {file.dir: DIR/site}}}}\n";
    let server = Server::config(&dir, text);
    assert_eq!(server.get("/a.txt").status, 403);
    let request = "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(Client::connect_unix(&dir.path("socket")).send(request).answer().status, 200);
}

#[test]
fn a_file_of_addresses_is_read_again_when_it_changes() {
    let dir = site();
    dir.write("list", "# clients\n10.0.0.0/8 192.0.2.1\n127.0.0.1 # this machine\n");
    let server = server(&dir, "allow: {file: DIR/list}\ndeny: all", "/: {file.dir: DIR/site}");
    assert_eq!(server.get("/a.txt").status, 200);
    dir.replace("list", "10.0.0.0/8\n");
    until("the list is followed", || server.get("/a.txt").status == 403);
    server.until_stderr(&format!("notice access: `{}` has changed and was read again", dir.text("list")));

    dir.replace("list", "127.0.0.1\nlocalhost\n");
    let wanted = format!(
        "error access: `{}`: line 2: `localhost` is not an address or a network; its previous content stays in use",
        dir.text("list")
    );
    until("the list is read", || {
        assert_eq!(server.get("/a.txt").status, 403, "a broken list admits nobody");
        server.stderr().contains(&wanted)
    });
    std::fs::remove_file(dir.path("list")).expect("removed");
    until("it is missed", || {
        assert_eq!(server.get("/a.txt").status, 403);
        server.stderr().contains("cannot read it: there is no such file; its previous content stays in use")
    });
    dir.write("list", "127.0.0.1\n");
    until("the list is followed", || server.get("/a.txt").status == 200);
    assert_eq!(server.stderr().matches("localhost").count(), 1, "{}", server.stderr());
}

#[test]
fn ten_thousands_of_networks_cost_no_time() {
    let dir = site();
    let lines: String = (0..50_000)
        .map(|number: u32| format!("{}.{}.{}.0/24\n", 1 + number % 100, number / 100 % 250, number / 25_000))
        .collect();
    dir.write("list", lines + "127.0.0.0/8\n");
    let server = server(&dir, "allow: {file: DIR/list}\ndeny: all", "/: {file.dir: DIR/site}");
    let mut client = server.connect();
    for _ in 0..1000 {
        assert_eq!(client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").answer().status, 200);
    }
}

#[test]
fn a_list_that_cannot_be_used_is_named_with_its_line() {
    let dir = site();
    dir.write("list", "10.0.0.0/8\n\nlocalhost\n");
    for (list, want) in [
        ("list", "`LIST`: line 3: `localhost` is not an address or a network"),
        ("none", "cannot read `LIST`: there is no such file"),
    ] {
        let text = format!(
            "hosts:\n  default:\n    allow: {{file: DIR/{list}}}\n    paths: {{/: {{file.dir: DIR/site}}}}\n"
        );
        let ended = Launch::config(&dir, &text).finish_test(&[]);
        assert_eq!(ended.code, 78, "{}", ended.stderr);
        let want = want.replace("LIST", &dir.text(list));
        assert!(
            ended.stderr.contains(&want) && ended.stderr.contains("hayami.conf:4:19"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_path_is_protected_whatever_leads_to_it() {
    let dir = site();
    dir.write("closed/x", "secret").write("closed/denied.html", "a page");
    let upstream =
        Upstream::answering("HTTP/1.1 200 OK\r\nX-Accel-Redirect: /closed/x\r\nContent-Length: 0\r\n\r\n");
    let paths = format!(
        "
/: {{file.dir: DIR/site}}
/redirect: {{redirect: {{url: /closed, internal: YES}}}}
/try/: {{try-files: /closed/x, file.dir: DIR/site}}
/app: {{reproxy: ON, proxy.reverse.url: 'http://{}'}}
/closed: {{deny: all, file.dir: DIR/closed}}
/page: {{deny: all, error-doc: {{status: 403, url: /closed/denied.html}}, file.dir: DIR/closed}}
/out: {{deny: all, redirect: {{url: /, internal: YES}}}}
",
        upstream.address
    );
    let server = server(&dir, "", &paths);
    for target in ["/closed/x", "/redirect/x", "/try/none", "/app", "/out/a.txt"] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().as_str()), (403, "Forbidden\n"), "{target}");
    }
    let answer = server.get("/page/x");
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (403, "a page"),
        "the server itself asks for error pages"
    );
}

#[test]
fn a_request_for_another_protocol_is_checked_like_any_other() {
    let dir = site();
    let upstream =
        Upstream::answering("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n");
    let paths =
        format!("/: {{deny: all, proxy.connect: ['+*'], proxy.reverse.url: 'http://{}'}}", upstream.address);
    let server = server(&dir, "", &paths);
    let mut client = server.connect();
    let upgrade = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";
    assert_eq!(client.send(upgrade).answer().status, 403);
    assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().status, 403, "the connection stays");
    let connect = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", upstream.address);
    assert_eq!(server.connect().send(connect).answer().status, 403);
    assert_eq!(upstream.connections(), 0);
}
