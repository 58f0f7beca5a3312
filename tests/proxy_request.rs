//! How the configuration changes a request for an upstream: `proxy.header.*` and the forwarding fields.

use crate::support::certificates::Authority;
use crate::support::tls::{last, listen, s_client};
use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// The upstream at `/`, with these lines at the path and those at the top.
#[track_caller]
fn before(dir: &Scratch, upstream: &Upstream, lines: &str, top: &str) -> Server {
    let lines = lines.replace('\n', "\n        ");
    let paths = format!("        {lines}\n        proxy.reverse.url: http://{}", upstream.address);
    Server::config(dir, &format!("{top}\nhosts:\n  default:\n    paths:\n      /:\n{paths}\n"))
}

#[test]
fn header_directives_change_the_fields_of_requests() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(OK));
    // The directives, the client's fields, and the fields the upstream receives.
    let cases: [(&str, &str, &[&str]); 12] = [
        ("proxy.header.add: \"X-A: 1\"", "", &["1"]),
        ("proxy.header.add: [\"X-A: 1\", \"x-a: 2\"]", "X-A: 0\r\n", &["0", "1", "2"]),
        ("proxy.header.append: \"X-A: 2\"", "", &["2"]),
        ("proxy.header.append: \"X-A: 2\"", "X-A: 1\r\n", &["1, 2"]),
        ("proxy.header.merge: \"X-A: 2\"", "X-A: 1, 2\r\n", &["1, 2"]),
        ("proxy.header.merge: \"X-A: 3\"", "X-A: 1, 2\r\n", &["1, 2, 3"]),
        ("proxy.header.set: \"X-A: 2\"", "X-A: 0\r\nX-A: 1\r\n", &["2"]),
        ("proxy.header.setifempty: \"X-A: 2\"", "", &["2"]),
        ("proxy.header.setifempty: \"X-A: 2\"", "X-A: 1\r\n", &["1"]),
        ("proxy.header.unset: [x-a, x-b]", "X-A: 1\r\nX-a: 2\r\n", &[]),
        ("proxy.header.unsetunless: x-b", "X-A: 1\r\n", &[]),
        ("proxy.header.unsetunless: x-a", "X-A: 1\r\n", &["1"]),
    ];
    for (lines, fields, wanted) in cases {
        let server = before(&dir, &upstream, lines, "");
        let answer = server.get_with("/", fields);
        assert_eq!((answer.status, answer.field("x-a")), (200, None), "{lines}");
        assert_eq!(upstream.last().all("x-a"), wanted, "{lines}");
        assert_eq!(upstream.last().all("host"), [upstream.address.as_str()], "{lines}");
    }
}

#[test]
fn a_host_that_is_set_is_the_upstreams_host() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(OK));
    let server = before(&dir, &upstream, "proxy.header.set: \"Host: own.example\"", "");
    assert_eq!(server.get("/").status, 200);
    assert_eq!(upstream.last().all("host"), ["own.example"]);
}

#[test]
fn cookies_are_taken_out_by_name() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(OK));
    let cases: [(&str, &str, &[&str]); 5] = [
        ("proxy.header.cookie.unset: b", "Cookie: a=1; b=2; c=3\r\n", &["a=1; c=3"]),
        ("proxy.header.cookie.unset: [a, b]", "Cookie: a=1\r\nCookie: b=2; c=3\r\n", &["c=3"]),
        ("proxy.header.cookie.unset: b", "Cookie: b=2\r\n", &[]),
        ("proxy.header.cookie.unsetunless: b", "Cookie: a=1; b=2; bb=3\r\n", &["b=2"]),
        ("proxy.header.cookie.unsetunless: [a, c]", "Cookie: a=1; b=2; c=3\r\n", &["a=1; c=3"]),
    ];
    for (lines, fields, wanted) in cases {
        let server = before(&dir, &upstream, lines, "");
        assert_eq!(server.get_with("/", fields).status, 200, "{lines}");
        assert_eq!(upstream.last().all("cookie"), wanted, "{lines}");
    }
}

#[test]
fn header_directives_of_all_levels_add_up() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(OK));
    let text = format!(
        "proxy.header.add: \"X-A: global\"\nhosts:\n  default:\n    proxy.header.add: \"X-A: host\"\n    paths:\n      \
         /: {{proxy.header.add: \"X-A: path\", proxy.reverse.url: 'http://{0}'}}\n      \
         /other: {{proxy.reverse.url: 'http://{0}'}}\n",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    for (target, wanted) in [("/", &["global", "host", "path"][..]), ("/other", &["global", "host"])] {
        assert_eq!(server.get(target).status, 200);
        assert_eq!(upstream.last().all("x-a"), wanted, "{target}");
    }
}

#[test]
fn the_forwarded_field_names_client_host_and_protocol() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(OK));
    Authority::new(&dir).issue_leaf();
    let server = before(&dir, &upstream, "", "proxy.emit-forwarded-header: ON");
    let own = "for=127.0.0.1;host=site;proto=http";
    let cases = [
        ("", own.to_owned()),
        ("Forwarded: for=192.0.2.7\r\n", format!("for=192.0.2.7, {own}")),
        (
            "Forwarded: for=a\r\nForwarded: for=\"[2001:db8::1]\"\r\n",
            format!("for=a, for=\"[2001:db8::1]\", {own}"),
        ),
        // Its open quote could absorb what follows.
        ("Forwarded: for=\"a\r\n", own.to_owned()),
    ];
    for (fields, wanted) in cases {
        assert_eq!(server.get_with("/", &format!("Host: site\r\n{fields}")).status, 200);
        assert_eq!(upstream.last().all("forwarded"), [wanted], "{fields}");
    }
    let server = before(&dir, &upstream, "", &format!("{}proxy.emit-forwarded-header: ON", listen("")));
    assert!(s_client(&server.address, &[], &last("/")).has("200 OK"));
    assert_eq!(upstream.last().all("forwarded"), ["for=127.0.0.1;host=localhost;proto=https"]);
    let silent = before(&dir, &upstream, "", "");
    assert_eq!(silent.get_with("/", "Forwarded: for=a\r\n").status, 200);
    assert_eq!(upstream.last().all("forwarded"), ["for=a"], "off by default: what a client says passes");
}
