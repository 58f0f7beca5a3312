//! Which site and which part of it answers: hosts, listeners, paths.

use crate::support::certificates::Authority;
use crate::support::tls::{self, s_client};
use crate::support::{Client, Launch, Scratch, Server, needs_root, run};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

/// Folders `one`, `two` and so on, each with an index that contains its name.
fn sites() -> Scratch {
    let dir = Scratch::new();
    for name in ["one", "two", "three", "four"] {
        dir.write(&format!("{name}/index.html"), name);
    }
    dir
}

/// A host with this name, these lines, and this folder at `/`.
fn host(name: &str, lines: &str, folder: &str) -> String {
    format!("  \"{name}\":\n    {lines}\n    paths: {{/: {{file.dir: DIR/{folder}}}}}\n")
}

/// The host that answers for this `Host`.
fn who(server: &Server, host: &str) -> String {
    server.get_with("/", &format!("Host: {host}\r\n")).text()
}

#[test]
fn the_host_field_chooses_the_site() {
    let dir = sites();
    let hosts = [
        host("one.example", "", "one"),
        host("*.two.example", "", "two"),
        host("exact.two.example", "", "three"),
        host("four.example:8443", "", "four"),
    ]
    .concat();
    let server = Server::config(&dir, &format!("hosts:\n{hosts}"));
    let cases = [
        ("one.example", "one"),
        ("ONE.Example", "one"),
        ("one.example:80", "one"),
        ("a.two.example", "two"),
        ("a.b.two.example", "two"),
        ("exact.two.example", "three"),
        ("four.example:8443", "four"),
        ("four.example", "one"),
        ("two.example", "one"),
        ("unknown.example", "one"),
        ("", "one"),
        ("127.0.0.1", "one"),
    ];
    for (name, text) in cases {
        assert_eq!(who(&server, name), text, "{name}");
    }
    let answers = server.ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(answers[0].text(), "one", "the first site answers for no name");
    let answers =
        server.ask("GET http://a.two.example/ HTTP/1.1\r\nHost: one.example\r\nConnection: close\r\n\r\n");
    assert_eq!(answers[0].text(), "two", "the target goes before Host (RFC 9112 §3.2.2)");
}

#[test]
fn a_host_without_a_port_answers_on_every_port_that_leads_to_it() {
    let dir = sites();
    let (first, second) = (free_port(), free_port());
    let (global, own) = (&format!("127.0.0.1:{first}"), &format!("127.0.0.1:{second}"));
    let hosts = [
        host("one.example", "", "one"),
        host("two.example", "", "two"),
        host("two.example:8080", "", "three"),
        host("own.example", &format!("listen: {own}"), "four"),
    ]
    .concat();
    let _server = Server::config(&dir, &format!("listen: {global}\nhosts:\n{hosts}"));
    let cases = [
        (global, format!("two.example:{first}"), "two"),
        (global, "two.example".to_owned(), "two"),
        (global, "two.example:80".to_owned(), "two"),
        (global, "two.example:8080".to_owned(), "three"),
        (global, "TWO.example:8080".to_owned(), "three"),
        (global, format!("own.example:{first}"), "four"),
        (global, format!("unknown.example:{first}"), "one"),
        (own, format!("own.example:{second}"), "four"),
        (own, "own.example".to_owned(), "four"),
        // The only host there.
        (own, format!("two.example:{second}"), "four"),
    ];
    for (address, name, text) in cases {
        let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
        let answer = Client::connect(address).send(request).answers().remove(0);
        assert_eq!(answer.text(), text, "{name} at {address}");
    }
}

#[test]
fn over_tls_a_request_without_a_port_means_443() {
    let dir = sites();
    Authority::new(&dir).issue_leaf();
    let hosts = [
        host("one.example", "", "one"),
        host("two.example", "", "two"),
        host("three.example:443", "", "three"),
        host("four.example:80", "", "four"),
    ];
    let server = Server::config(&dir, &format!("{}hosts:\n{}", tls::listen(""), hosts.concat()));
    let port = server.port();
    for (name, text) in [
        ("two.example", "two"),
        ("two.example:443", "two"),
        (&format!("two.example:{port}"), "two"),
        ("two.example:80", "two"),
        ("three.example", "three"),
        ("three.example:443", "three"),
        (&format!("three.example:{port}"), "one"),
        ("four.example", "one"),
        ("four.example:80", "four"),
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
        let said = s_client(&server.address, &["-quiet"], &request);
        assert!(said.has(&format!("\r\n\r\n{text}")), "{name}: {said:?}");
    }
}

#[test]
fn internal_redirects_reach_a_host_without_a_port_by_the_ports_of_its_listeners() {
    let dir = sites();
    dir.write("one/here.html", "here");
    let port = free_port();
    let target = |port: u16| format!("{{url: 'http://two.example:{port}/', internal: YES, status: 302}}");
    let (at, elsewhere) = (target(port), target(if port == 9 { 10 } else { 9 }));
    let text = format!(
        "listen: 127.0.0.1:{port}\nhosts:\n  one.example:\n    paths:\n      /: {{file.dir: DIR/one}}\n      \
         /at: {{redirect: {at}}}\n      /elsewhere: {{redirect: {elsewhere}}}\n{}",
        host("two.example", "", "two")
    );
    let server = Launch::config(&dir, &text).serve();
    assert_eq!(server.get("/at").text(), "two");
    assert_eq!(server.get("/elsewhere").status, 404);
}

#[test]
fn a_host_that_h2o_would_not_choose_is_warned_of() {
    let dir = sites();
    let port = free_port();
    let check = |second: &str| {
        let hosts = [host("one.example", "", "one"), host(second, "", "two")].concat();
        let text = format!("listen: 127.0.0.1:{port}\nhosts:\n{hosts}");
        Launch::config(&dir, &text).finish_test(&[])
    };
    let ended = check("two.example");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for part in [
        "warning: the host `two.example` answers on every port; a host of h2o answers on port 80 only",
        "hayami.conf:6:3",
        &format!(
            "h2o would answer requests for `two.example:{port}` with `one.example`: ignore this unless h2o reads the file, too"
        ),
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let ended = check(&format!("two.example:{port}"));
    assert!(ended.code == 0 && !ended.stderr.contains("warning"), "{}", ended.stderr);
}

#[test]
fn a_star_alone_goes_before_the_first_host() {
    let dir = sites();
    let hosts = [host("one.example", "", "one"), host("*", "", "two")].concat();
    let server = Server::config(&dir, &format!("hosts:\n{hosts}"));
    assert_eq!(who(&server, "one.example"), "one");
    assert_eq!(who(&server, "other.example"), "two");
}

#[test]
fn strict_hosts_answer_for_their_names_only() {
    let dir = sites();
    let hosts = [host("one.example", "strict-match: ON", "one"), host("two.example", "", "two")].concat();
    let server = Server::config(&dir, &format!("hosts:\n{hosts}"));
    assert_eq!(who(&server, "one.example"), "one");
    assert_eq!(who(&server, "other.example"), "two");
    let hosts = host("one.example", "strict-match: ON", "one");
    let server = Server::config(&dir, &format!("hosts:\n{hosts}"));
    assert_eq!(who(&server, "one.example"), "one");
    assert_eq!(server.get_with("/", "Host: other.example\r\n").status, 404);
}

#[test]
fn listeners_of_a_host_serve_that_host_only() {
    let dir = sites();
    let hosts = [
        host("one.example", "listen: 127.0.0.1:0", "one"),
        host("two.example", "listen: {host: 127.0.0.1, port: 0, type: tcp, sndbuf: 64k}", "two"),
    ]
    .concat();
    // The same address twice, port 0, is one listener; a second loopback address keeps them apart.
    let text = format!("hosts:\n{}", hosts.replacen("host: 127.0.0.1", "host: 127.0.0.2", 1));
    let server = Server::config(&dir, &text);
    let addresses = server.addresses();
    assert_eq!(addresses.len(), 2, "{}", server.stderr());
    for (address, text) in addresses.iter().zip(["one", "two"]) {
        for name in ["one.example", "two.example"] {
            let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
            assert_eq!(Client::connect(address).send(request).answer().text(), text, "{name} at {address}");
        }
    }
}

#[test]
fn every_form_of_listen_is_served() {
    let dir = sites();
    let listen = "listen: 127.0.0.1:0\nlisten: {port: 0, host: 127.0.0.2}\nlisten:\n  - 127.0.0.3:0\n  - localhost:0\n  \
                  - {type: unix, port: DIR/socket}\n";
    let server = Server::config(&dir, &format!("{listen}hosts:\n{}", host("default", "", "one")));
    assert_eq!(server.addresses().len(), 4, "{}", server.stderr());
    for address in server.addresses() {
        let mut client = Client::connect(&address);
        assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().text(), "one", "{address}");
    }
}

#[test]
fn a_port_alone_means_every_address_of_both_families() {
    let dir = sites();
    let server = Server::config(&dir, &format!("listen: 0\nhosts:\n{}", host("default", "", "one")));
    assert_eq!(server.addresses().len(), 2, "{}", server.stderr());
    for address in server.addresses() {
        let address = address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]");
        let mut client = Client::connect(&address);
        assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().text(), "one", "{address}");
    }
}

#[test]
fn a_unix_socket_has_its_permission_and_may_be_left_over() {
    let dir = sites();
    let text = unix("permission: 0640");
    for _ in 0..2 {
        let server = Server::config(&dir, &text);
        let file = std::fs::metadata(dir.path("socket")).expect("a socket");
        assert!(file.file_type().is_socket());
        assert_eq!(file.permissions().mode() & 0o777, 0o640);
        let mut client = Client::connect_unix(&dir.path("socket"));
        for _ in 0..3 {
            assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().text(), "one");
        }
        // The next one finds the socket file left by a killed server.
        drop(server);
    }
    let _first = Server::config(&dir, &text);
    let second = Launch::config(&dir, &text).finish();
    assert_eq!(second.code, 69, "a socket in use is not taken away: {}", second.stderr);
}

#[test]
fn a_unix_socket_is_given_to_its_owner() {
    if !needs_root() {
        return;
    }
    let dir = sites();
    for (owner, id) in [("", "0"), (", owner: daemon", run("id", &["-u", "daemon"]).trim())] {
        let _server = Server::config(&dir, &unix(&format!("permission: 0660{owner}")));
        let file = std::fs::metadata(dir.path("socket")).expect("a socket");
        assert_eq!(file.uid().to_string(), id, "{owner}");
    }
}

/// A site on the unix socket `socket` with these options.
fn unix(options: &str) -> String {
    let hosts = host("default", "", "one");
    format!("listen: {{type: unix, port: DIR/socket, {options}}}\nhosts:\n{hosts}")
}

#[test]
fn a_port_for_http_3_is_bound_and_said_to_be_idle() {
    let dir = sites();
    let text = format!(
        "listen: 127.0.0.1:0\nlisten: {{type: quic, host: 127.0.0.1, port: 0}}\nhosts:\n{}",
        host("a", "", "one")
    );
    let server = Server::config(&dir, &text);
    assert_eq!(who(&server, "a"), "one");
    assert!(server.stderr().contains("HTTP/3 is not"), "{}", server.stderr());
}

#[test]
fn the_longest_prefix_wins_and_ends_at_a_segment() {
    let dir = sites();
    dir.write("one/deep/x", "shallow").write("two/x", "deep").write("three/x", "deeper");
    dir.write("one/deeper/x", "apart").write("one/deep.txt", "text");
    let text = "hosts:\n  default:\n    paths:\n      /: {file.dir: DIR/one}\n      /deep: {file.dir: DIR/two}\n      \
                /deep/er/: {file.dir: DIR/three}\n";
    let server = Server::config(&dir, text);
    let cases = [
        ("/", 200, "one"),
        ("/deep/x", 200, "deep"),
        ("/deep/er/x", 200, "deeper"),
        ("/deeper/x", 200, "apart"),
        ("/deep.txt", 200, "text"),
        ("/deep//x", 200, "deep"),
        ("/other/../deep/x", 200, "deep"),
        ("/%64eep/x", 200, "deep"),
        ("/DEEP/x", 404, ""),
    ];
    for (target, status, text) in cases {
        let answer = server.get(target);
        assert_eq!(answer.status, status, "{target}");
        assert!(text.is_empty() || answer.text() == text, "{target}: {}", answer.text());
    }
}

#[test]
fn handlers_are_asked_in_the_order_written() {
    let dir = sites();
    dir.write("one/a", "a of one").write("two/a", "a of two").write("two/b", "b of two");
    let forms = [
        "{file.dir: DIR/one, file.dir: DIR/two, redirect: /last}",
        "[{file.dir: DIR/one}, {file.dir: DIR/two}, {redirect: /last}]",
    ];
    for form in forms {
        let server = Server::config(&dir, &format!("hosts: {{default: {{paths: {{/: {form}}}}}}}\n"));
        assert_eq!(server.get("/a").text(), "a of one", "{form}");
        assert_eq!(server.get("/b").text(), "b of two", "{form}");
        assert_eq!(server.get("/c").status, 302, "{form}");
    }
}

#[test]
fn a_path_without_a_handler_and_a_site_without_that_path_are_404() {
    let dir = sites();
    let server = Server::config(&dir, "hosts: {default: {paths: {/empty: {}, /one: {file.dir: DIR/one}}}}\n");
    for target in ["/empty", "/empty/x", "/", "/other"] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    assert_eq!(server.get("/one/").text(), "one");
}

#[test]
fn one_port_with_and_without_an_address_is_one_listener() {
    let dir = sites();
    let port = free_port();
    let hosts = [
        host("one.example", "", "one"),
        host("two.example", &format!("listen: '0.0.0.0:{port}'"), "two"),
        host("three.example", &format!("listen: {{host: '::', port: {port}}}"), "three"),
    ]
    .concat();
    let server = Server::config(&dir, &format!("listen: {port}\nhosts:\n{hosts}"));
    for address in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        for (name, text) in [("one.example", "one"), ("two.example", "two"), ("three.example", "three")] {
            let request = format!("GET / HTTP/1.1\r\nHost: {name}:80\r\nConnection: close\r\n\r\n");
            assert_eq!(Client::connect(&address).send(request).answer().text(), text, "{address} {name}");
        }
    }
    drop(server);
    let text = format!("listen: {port}\nlisten: 127.0.0.1:{port}\nhosts:\n{}", host("a", "", "one"));
    let finished = Launch::config(&dir, &text).finish();
    assert_eq!(finished.code, 78, "{finished:?}");
    for part in ["overlaps with `listen` on 0.0.0.0:", "hayami.conf:2:9", "the other listener"] {
        assert!(finished.stderr.contains(part), "{part}: {}", finished.stderr);
    }
}

/// A port that is free on all addresses.
fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("[::]:0").expect("a free port");
    socket.local_addr().expect("an address").port()
}
