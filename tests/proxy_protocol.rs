//! The PROXY protocol: the client's address as given by a load balancer in front.

use crate::support::h2::get;
use crate::support::peers::Peer;
use crate::support::tls::{last, s_client};
use crate::support::{Launch, Scratch, Server, Wire, missing, output, until};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const LOG: &str = "access-log: {path: DIR/log, format: '%h %{remote}p %A %{local}p %s'}\n";
const V1: &[u8] = b"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n";

/// The same in version 2, with additional data after the addresses.
fn v2() -> Vec<u8> {
    let addresses = [192, 0, 2, 1, 198, 51, 100, 7, 0xdc, 4, 1, 0xbb];
    [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0f"[..], &addresses, &[4, 0, 0]].concat()
}

/// A folder served to balancers, with these lines at the top.
#[track_caller]
fn site(dir: &Scratch, lines: &str) -> Server {
    dir.write("site/index.html", "front").write("site/ten", "0123456789");
    let listen = "listen: {host: 127.0.0.1, port: 0, proxy-protocol: ON}\n";
    Server::config(
        dir,
        &format!("{listen}{LOG}{lines}hosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}}}}}}}\n"),
    )
}

/// The lines of the log, once there are this many.
#[track_caller]
fn log(dir: &Scratch, lines: usize) -> Vec<String> {
    until("the lines are on disk", || dir.path("log").exists() && dir.read("log").lines().count() >= lines);
    dir.read("log").lines().map(str::to_owned).collect()
}

/// A load balancer that sends `header` before its clients' bytes; its address.
fn balancer(to: &str, header: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, to) = (listener.local_addr().expect("bound").to_string(), to.to_owned());
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let mut server = TcpStream::connect(&to).expect("it listens");
            server.write_all(&header).expect("taken");
            let (other, back) =
                (server.try_clone().expect("a handle"), client.try_clone().expect("a handle"));
            std::thread::spawn(move || copy(client, server));
            std::thread::spawn(move || copy(other, back));
        }
    });
    address
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = [0; 16 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn the_balancer_names_the_client() {
    let dir = Scratch::new();
    let server = site(&dir, "");
    let v6 = b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n";
    let cases: [(&[u8], &str); 5] = [
        (V1, "192.0.2.1 56324 198.51.100.7 443 200"),
        (&v2(), "192.0.2.1 56324 198.51.100.7 443 200"),
        (v6, "2001:db8::1 1 ::1 2 200"),
        (b"PROXY UNKNOWN\r\n", "127.0.0.1 "),
        (b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", "127.0.0.1 "),
    ];
    for (number, (header, want)) in cases.iter().enumerate() {
        let request = last("/ten");
        let answers = server.ask([header, request.as_bytes()].concat());
        assert_eq!((answers.len(), answers[0].text()), (1, "0123456789".into()), "{want}");
        let line = log(&dir, number + 1).remove(number);
        assert!(line.starts_with(want), "{line} is not {want}");
    }
}

#[test]
fn a_header_may_come_byte_by_byte_and_http2_behind_it() {
    let dir = Scratch::new();
    let server = site(&dir, "");
    let mut client = server.connect();
    for byte in [V1, last("/ten").as_bytes()].concat() {
        client.send([byte]);
    }
    assert_eq!(client.answer().text(), "0123456789");
    let mut wire = Wire::open(&balancer(&server.address, v2()));
    wire.send(get(1, "/ten"));
    assert_eq!(wire.answer(1).text(), "0123456789");
    assert!(log(&dir, 2).iter().all(|line| line.starts_with("192.0.2.1 56324 ")), "{:?}", dir.read("log"));
}

#[test]
fn what_is_no_header_closes_the_connection_and_the_log_says_why() {
    let dir = Scratch::new();
    let server = site(&dir, "");
    let absent = "the PROXY protocol header is missing";
    let cases: [(&[u8], &str); 4] = [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", absent),
        (b"PROXY TCP4 192.0.2.1 198.51.100.7 56324\r\nGET / HTTP/1.1\r\n\r\n", "line is malformed"),
        (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", "header is too long"),
        (b"\r\n\r\n\0\r\nQUIT\n\x41\x11\0\x0c", "unsupported PROXY protocol version"),
    ];
    for (bytes, words) in cases {
        assert!(server.connect().send(bytes).is_closed(), "{words}");
        server.until_stderr(words);
    }
    let cut = server.connect().send(&V1[..20]).finish().is_closed();
    assert!(cut);
    server.until_stderr(
        "warn connection: from 127.0.0.1: the connection ended within the PROXY protocol header",
    );
    // A check that only connects is no fault.
    assert!(server.connect().finish().is_closed());
    assert_eq!(server.stderr().matches("connection: from").count(), cases.len() + 1);
}

#[test]
fn a_header_that_does_not_come_closes_the_connection() {
    let dir = Scratch::new();
    let server = site(&dir, "handshake-timeout: 1\n");
    assert!(server.connect().send(&V1[..20]).is_closed());
    server.until_stderr("connection: from 127.0.0.1: the PROXY protocol header did not arrive in time");
}

/// The site for the clients selected by `proxy-protocol: {WHOM}`.
#[track_caller]
fn site_for(dir: &Scratch, whom: &str, lines: &str) -> Server {
    dir.write("site/ten", "0123456789");
    let listen = format!("listen: {{host: 127.0.0.1, port: 0, proxy-protocol: {{{whom}}}}}\n");
    let hosts = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    Server::config(dir, &format!("num-threads: 1\n{listen}{LOG}{lines}{hosts}"))
}

#[test]
fn where_a_header_is_optional_the_listed_peers_may_send_one_or_not() {
    let dir = Scratch::new();
    let server = site_for(&dir, "from: [127.0.0.0/8, '::1'], optional: ON", "handshake-timeout: 1\n");
    let request = last("/ten");
    for header in [V1, &v2(), b"", b"\r\n"] {
        let answers = server.ask([header, request.as_bytes()].concat());
        assert_eq!((answers.len(), answers[0].text()), (1, "0123456789".into()), "{header:?}");
    }
    let lines = log(&dir, 4);
    let begins = ["192.0.2.1 56324 ", "192.0.2.1 56324 ", "127.0.0.1 ", "127.0.0.1 "];
    assert!(lines.iter().zip(begins).all(|(line, want)| line.starts_with(want)), "{lines:?}");
    // Byte by byte `P` may be the beginning of either.
    let mut client = server.connect();
    for byte in b"PUT /ten HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" {
        client.send([*byte]);
    }
    assert_eq!(client.answer().status, 405);
    let mut wire = Wire::open(&server.address);
    assert_eq!(wire.get(1, "/ten").answer(1).text(), "0123456789");
    assert!(server.connect().send(b"PROXY TCP4 x\r\n").is_closed(), "a header that is wrong is no request");
    server.until_stderr("line is malformed");
    // A connection that sends nothing is not a fault, as on every port.
    assert!(server.connect().is_closed());
    assert!(!server.stderr().contains("did not arrive in time"), "{}", server.stderr());
}

#[test]
fn where_a_header_is_optional_other_peers_may_not_send_one() {
    let dir = Scratch::new();
    let server = site_for(&dir, "from: 192.0.2.7, optional: ON", "");
    let request = last("/ten");
    assert_eq!(server.ask(&request)[0].text(), "0123456789");
    let answers = server.ask([V1, request.as_bytes()].concat());
    assert!(answers.is_empty(), "this is not HTTP: {answers:?}");
    assert!(log(&dir, 1)[0].starts_with("127.0.0.1 "));
}

#[test]
fn where_a_header_is_required_of_some_all_others_are_turned_away() {
    let dir = Scratch::new();
    let server = site_for(&dir, "from: [192.0.2.7, 10.0.0.0/8]", "");
    for bytes in [V1.to_vec(), last("/ten").into_bytes(), [V1, last("/ten").as_bytes()].concat()] {
        assert!(server.connect().send(bytes).is_closed());
    }
    server.until_stderr(
        "connection: from 127.0.0.1: this address is not in `from` of `proxy-protocol`, and only those may connect here",
    );
    let dir = Scratch::new();
    let server = site_for(&dir, "from: 127.0.0.1", "");
    assert_eq!(server.ask([V1, last("/ten").as_bytes()].concat())[0].text(), "0123456789");
    assert!(server.connect().send(last("/ten")).is_closed());
    server.until_stderr("the PROXY protocol header is missing");
}

#[test]
fn a_unix_socket_may_have_an_optional_header_too() {
    let dir = Scratch::new();
    dir.write("site/ten", "0123456789");
    let listen = "listen: {type: unix, port: DIR/socket, permission: 666, proxy-protocol: {optional: ON}}\n";
    let hosts = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let _server = Server::config(&dir, &format!("num-threads: 1\n{listen}{LOG}{hosts}"));
    for header in [V1, b""] {
        let mut client = crate::support::Client::connect_unix(&dir.path("socket"));
        client.send([header, last("/ten").as_bytes()].concat());
        assert_eq!(client.answer().text(), "0123456789");
    }
    let lines = log(&dir, 2);
    assert!(lines[0].starts_with("192.0.2.1 56324 ") && lines[1].starts_with("- "), "{lines:?}");
}

#[test]
fn what_is_wrong_with_the_directive_is_said() {
    let dir = Scratch::new();
    let cases = [
        ("host: 127.0.0.1, port: 0, proxy-protocol: {optional: ON}", "`optional: ON` requires `from`"),
        ("host: 127.0.0.1, port: 0, proxy-protocol: {from: []}", "an address or a network, such as 10.0.0.2"),
        ("host: 127.0.0.1, port: 0, proxy-protocol: {from: 10.0.0.0/33}", "found `10.0.0.0/33`"),
        (
            "host: 127.0.0.1, port: 0, proxy-protocol: {to: 10.0.0.1}",
            "expected one of from, optional, found `to`",
        ),
        (
            "host: 127.0.0.1, port: 0, proxy-protocol: yes",
            "expected ON, OFF, or {from, optional}, found `yes`",
        ),
        (
            "type: unix, port: DIR/s, proxy-protocol: {from: 10.0.0.1}",
            "`from` is not supported for unix sockets",
        ),
    ];
    for (listen, want) in cases {
        let said = Launch::config(&dir, &format!("listen: {{{listen}}}\nhosts: {{a: {{paths: {{}}}}}}\n"))
            .finish_test(&[]);
        assert!(said.code != 0 && said.stderr.contains(want), "{listen}: {}", said.stderr);
    }
}

#[test]
fn a_port_without_it_never_listens_to_a_header() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    let server = Server::site(&dir, "");
    let answers = server.ask([V1, last("/").as_bytes()].concat());
    assert!(answers.is_empty(), "this is not HTTP: {answers:?}");
}

#[test]
fn a_header_comes_before_tls() {
    let dir = Scratch::new();
    crate::support::certificates::Authority::new(&dir).issue_leaf();
    dir.write("site/ten", "0123456789");
    let listen = crate::support::tls::listen("").replace("  port: 0\n", "  port: 0\n  proxy-protocol: ON\n");
    let server = Server::config(&dir, &format!("{listen}\n{LOG}{}", crate::support::tls::HOSTS));
    for (number, header) in [V1.to_vec(), v2()].into_iter().enumerate() {
        let said = s_client(&balancer(&server.address, header), &["-tls1_3"], &last("/ten"));
        assert!(said.has("0123456789"), "{said:?}");
        assert_eq!(log(&dir, number + 1)[number], "192.0.2.1 56324 198.51.100.7 443 200");
    }
    let bare = s_client(&server.address, &["-tls1_3"], &last("/ten"));
    assert!(!bare.has("0123456789"), "{bare:?}");
    server.until_stderr("the PROXY protocol header is missing");
}

#[test]
fn haproxy_and_curl_name_the_client() {
    if missing("haproxy") || missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let server = site(&dir, "");
    for (number, options) in ["send-proxy", "send-proxy-v2"].into_iter().enumerate() {
        let balancer = Peer::haproxy(&dir, &server.address, options);
        let url = format!("http://127.0.0.1:{}/ten", balancer.port);
        let (code, content) = output("curl", ["-s", "--local-port", "20000-60000", &url]);
        assert_eq!((code, content.as_slice()), (0, &b"0123456789"[..]), "{options}");
        let line = log(&dir, number + 1).remove(number);
        assert!(line.ends_with(&format!(" 127.0.0.1 {} 200", balancer.port)), "{options}: {line}");
    }
    let (code, content) =
        output("curl", ["-s", "--haproxy-protocol", &format!("http://{}/ten", server.address)]);
    assert_eq!((code, content.as_slice()), (0, &b"0123456789"[..]));
}

#[test]
fn the_directive_is_checked() {
    let dir = Scratch::new();
    let both = "listen: {port: 8001, proxy-protocol: ON}\nlisten: 8001\nhosts: {a: {paths: {}}}\n";
    let finished = Launch::config(&dir, both).finish_test(&[]);
    assert_eq!(finished.code, 78);
    assert!(
        finished.stderr.contains("has `proxy-protocol: ON` in one place and not in another"),
        "{finished:?}"
    );
}
