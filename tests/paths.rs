//! Which file a path names, and that none outside the root is ever served.

use crate::support::{Scratch, Server};
use std::os::unix::fs::symlink;

/// What no request may ever bring to light.
const SECRET: &str = "the secret";

#[test]
fn a_folder_without_its_slash_is_redirected_within_the_site() {
    let dir = Scratch::new();
    dir.write("site/a b/index.html", "x")
        .write("site/ü/index.html", "x")
        .write("site/evil.example/index.html", "x");
    let server = Server::site(&dir, "");
    let cases = [
        ("/a%20b", "/a%20b/"),
        ("/a%20b?q=1&r", "/a%20b/?q=1&r"),
        ("/%c3%bc", "/%C3%BC/"),
        ("//evil.example", "/evil.example/"),
        ("/%2Fevil.example", "/evil.example/"),
    ];
    for (target, location) in cases {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.field("location")), (301, Some(location)), "{target}");
    }
}

#[test]
fn no_path_leaves_the_root() {
    let dir = Scratch::new();
    dir.write("secret", SECRET)
        .write("site/index.html", "x")
        .write("site/sub/a", "a")
        .write("sitesecret", SECRET);
    let server = Server::site(&dir, "");
    let paths = [
        "/../secret",
        "/sub/../../secret",
        "/./../secret",
        "/%2e%2e/secret",
        "/%2E%2e%2fsecret",
        "/..%2fsecret",
        "/sub%2f..%2f..%2fsecret",
        "/%252e%252e/secret",
        "/%25%32%65%25%32%65/secret",
        "/..%5csecret",
        "/..\\secret",
        "/%c0%ae%c0%ae/secret",
        "/%e0%80%ae%e0%80%ae/secret",
        "/..%c0%afsecret",
        "/..%00/secret",
        "/%2e%2e%00/secret",
        "/...//secret",
        "/....//secret",
        "/..;/secret",
        "/.%2e/secret",
        "//../secret",
        "/sub/..//../secret",
        "/..secret",
        "/../sitesecret",
        "/../site/../secret",
        "http://a/../secret",
        "http://a/%2e%2e/secret",
    ];
    for path in paths {
        let answer = server.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.text().contains(SECRET), "{path}");
    }
    let absolute = server.get(&format!("/{}", dir.text("secret")));
    assert_eq!(absolute.status, 404);
}

#[test]
fn paths_are_decoded_once_and_malformed_ones_refused() {
    let dir = Scratch::new();
    dir.write("site/a b", "space")
        .write("site/100%", "percent")
        .write("site/%41", "coded")
        .write("site/日本", "kanji");
    dir.write("site/a?b#c", "marks").write("site/x+y", "plus");
    let server = Server::site(&dir, "");
    let cases = [
        ("/a%20b", "space"),
        ("/100%25", "percent"),
        ("/%2541", "coded"),
        ("/%E6%97%A5%e6%9c%ac", "kanji"),
        ("/a%3Fb%23c", "marks"),
        ("/日本", "kanji"),
        ("/x+y", "plus"),
        ("/./x/..//%61%20b", "space"),
        ("/a%20b?a=%zz%00", "space"),
    ];
    for (target, text) in cases {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().as_str()), (200, text), "{target}");
    }
    for target in ["/%", "/%4", "/%zz", "/%00", "/a%00b", "/%u0041"] {
        assert_eq!(server.get(target).status, 400, "{target}");
    }
    let long = format!("/{}", "x/".repeat(3000));
    assert_eq!(server.get(&long).status, 404, "longer than any path");
    assert_eq!(server.get(&format!("/{}", "x".repeat(300))).status, 404, "longer than any name");
}

#[test]
fn symbolic_links_follow_the_policy() {
    let dir = Scratch::new();
    dir.write("secret", SECRET).write("site/a", "a").write("outside/b", "b");
    dir.link("a", "site/inner").link("../secret", "site/outer").link("../outside", "site/folder");
    dir.link("loop", "site/loop").link("nowhere", "site/broken");
    symlink("/proc/self/environ", dir.path("site/proc")).expect("a link");
    let cases = [
        ("follow", [("inner", 200), ("outer", 200), ("folder/b", 200), ("loop", 403), ("broken", 404)]),
        ("within", [("inner", 200), ("outer", 403), ("folder/b", 403), ("loop", 403), ("broken", 404)]),
        ("never", [("inner", 403), ("outer", 403), ("folder/b", 403), ("loop", 403), ("broken", 403)]),
    ];
    for (policy, wanted) in cases {
        let server = Server::site(&dir, &format!("file.symlinks: {policy}"));
        for (name, status) in wanted {
            assert_eq!(server.get(&format!("/{name}")).status, status, "{policy}: {name}");
        }
        assert_eq!(server.get("/a").status, 200, "{policy}");
    }
}

#[test]
fn what_is_no_file_is_not_served_and_delays_no_request() {
    let dir = Scratch::new();
    dir.write("site/a", "a");
    let made = std::process::Command::new("mkfifo").arg(dir.path("site/fifo")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let _socket = std::os::unix::net::UnixListener::bind(dir.path("site/socket")).expect("a socket");
    symlink("/dev/zero", dir.path("site/device")).expect("a link");
    let server = Server::site(&dir, "");
    for name in ["fifo", "socket", "device"] {
        assert_eq!(server.get(&format!("/{name}")).status, 403, "{name}");
    }
    assert_eq!(server.get("/a").text(), "a");
}

#[test]
fn what_may_not_be_read_is_403() {
    let dir = Scratch::new();
    dir.write("site/a", "a").write("site/closed/b", "b");
    dir.permit("site/a", 0);
    dir.permit("site/closed", 0);
    // Started by root, the program becomes `nobody`, which may not read either.
    let server = Server::site(&dir, "");
    assert_eq!(server.get("/a").status, 403);
    assert_eq!(server.get("/closed/b").status, 403);
    dir.permit("site/closed", 0o755);
    dir.permit("site/a", 0o644);
    let server = Server::site(&dir, "");
    assert_eq!(server.get("/a").status, 200);
}
