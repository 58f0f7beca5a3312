//! Tunnels through the proxy and by CONNECT: bytes of another protocol, both ways, between a scripted client
//! and a scripted server.

use crate::support::h2::{Wire, flag, frame, kind, request};
use crate::support::hpack::literals;
use crate::support::upstream::{Upstream, unused_address};
use crate::support::{Client, PATIENCE, Scratch, Server, until};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

const UPGRADE: &str =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: Chat\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: chat\r\nX-Own: 1\r\n\r\n";

/// A server whose first connection follows the script; the script's result arrives through the channel.
fn peer<T: Send + 'static>(script: impl FnOnce(TcpStream) -> T + Send + 'static) -> (String, Receiver<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    let (tell, told) = channel();
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let _ = tell.send(script(stream));
    });
    (address, told)
}

/// A head, without the bytes after it.
fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("ASCII")
}

fn exactly(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut read = vec![0; bytes];
    stream.read_exact(&mut read).expect("so many bytes");
    read
}

/// Everything until the other side has ended; an error if it is reset.
fn rest(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).map(|_| rest)
}

fn to(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// hayami in front of that server.
fn before(dir: &Scratch, upstream: &str, lines: &str) -> Server {
    let text = format!(
        "num-threads: 1\n{lines}\naccess-log: {{path: DIR/log, format: '%r %s %b'}}\nhosts: {{default: {{paths: {{/: \
         {{proxy.reverse.url: 'http://{upstream}'}}}}}}}}\n"
    );
    Server::config(dir, &text)
}

/// hayami as a proxy for CONNECT, with these rules.
fn connecting(dir: &Scratch, rules: &str, lines: &str) -> Server {
    let text = format!(
        "num-threads: 1\n{lines}\naccess-log: {{path: DIR/log, format: '%r %s %b'}}\nhosts: {{default: {{paths: {{/: \
         {{proxy.connect: {rules}}}}}}}}}\n"
    );
    Server::config(dir, &text)
}

/// Waits for a line of the access log.
fn logged(dir: &Scratch, line: &str) {
    until(&format!("the log has {line:?}"), || {
        std::fs::read_to_string(dir.path("log")).unwrap_or_default().lines().any(|own| own == line)
    });
}

/// A client whose request for another protocol was granted, with the head of the answer.
fn upgraded(server: &Server) -> (TcpStream, String) {
    let mut client = to(&server.address);
    client.write_all(UPGRADE.as_bytes()).expect("sent");
    let head = head(&mut client);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    (client, head)
}

/// The head of a request that was answered with 101.
fn switch(stream: &mut TcpStream) -> String {
    let asked = head(stream);
    stream.write_all(SWITCH.as_bytes()).expect("sent");
    asked
}

#[test]
fn bytes_pass_both_ways_and_the_client_may_end_first() {
    let (address, told) = peer(|mut stream| {
        let asked = head(&mut stream);
        stream.write_all(&[SWITCH.as_bytes(), b"early\0"].concat()).expect("sent");
        let heard = exactly(&mut stream, 7);
        stream.write_all(&heard).expect("sent");
        let heard = rest(&mut stream).expect("an end, and no reset");
        stream.write_all(b"last words").expect("the other direction is open");
        (asked, heard)
    });
    let dir = Scratch::new();
    let server = before(&dir, &address, "");
    let (mut client, answer) = upgraded(&server);
    let fields = answer.to_ascii_lowercase();
    assert!(fields.contains("connection: upgrade\r\n") && fields.contains("upgrade: chat\r\n"), "{answer}");
    assert!(fields.contains("x-own: 1\r\n") && !fields.contains("transfer-encoding"), "{answer}");
    assert_eq!(exactly(&mut client, 6), b"early\0");
    client.write_all(b"GET / H").expect("sent");
    assert_eq!(exactly(&mut client, 7), b"GET / H");
    client.write_all(b"the end").and_then(|()| client.shutdown(Shutdown::Write)).expect("sent");
    assert_eq!(rest(&mut client).expect("an end"), b"last words");
    let (asked, heard) = told.recv().expect("the script ends");
    assert_eq!(heard, b"the end");
    let asked = asked.to_ascii_lowercase();
    assert!(asked.contains("connection: upgrade\r\nupgrade: chat\r\n"), "{asked}");
    logged(&dir, "GET /chat HTTP/1.1 101 23");
}

#[test]
fn the_server_may_end_first_and_hears_the_client_out() {
    let (address, told) = peer(|mut stream| {
        switch(&mut stream);
        stream.write_all(b"bye").and_then(|()| stream.shutdown(Shutdown::Write)).expect("sent");
        rest(&mut stream).expect("an end, and no reset")
    });
    let dir = Scratch::new();
    let server = before(&dir, &address, "");
    let (mut client, _) = upgraded(&server);
    assert_eq!(rest(&mut client).expect("an end"), b"bye");
    let much = vec![7; 1 << 20];
    client.write_all(&much).expect("sent");
    drop(client);
    assert!(told.recv().expect("the script ends") == much);
    logged(&dir, "GET /chat HTTP/1.1 101 3");
}

#[test]
fn a_reset_of_one_side_is_a_reset_of_the_other() {
    let reset =
        |stream: &TcpStream| rustix::net::sockopt::set_socket_linger(stream, Some(Default::default()));
    let (address, _told) = peer(move |mut stream| {
        switch(&mut stream);
        exactly(&mut stream, 1);
        reset(&stream).expect("set");
    });
    let dir = Scratch::new();
    let server = before(&dir, &address, "");
    let (mut client, _) = upgraded(&server);
    client.write_all(b"x").expect("sent");
    assert!(rest(&mut client).is_err(), "the client is reset");
    let (address, told) = peer(|mut stream| {
        switch(&mut stream);
        rest(&mut stream).is_err()
    });
    let server = before(&dir, &address, "");
    let (client, _) = upgraded(&server);
    reset(&client).expect("set");
    drop(client);
    assert!(told.recv().expect("the script ends"), "the server is reset");
}

#[test]
fn what_is_asked_for_is_passed_on_without_what_concerns_this_connection_only() {
    // Fields of the request, the configuration, and the upgrade field that the upstream sees.
    let cases = [
        ("Connection: upgrade\r\nUpgrade: websocket, h2c\r\n", "", Some("websocket")),
        ("Connection: Upgrade\r\nUpgrade: a/1\r\nUpgrade: TLS/1.0, b\r\n", "", Some("a/1, b")),
        ("Connection: upgrade, x\r\nX: 1\r\nUpgrade: a\r\n", "proxy.websocket: ON", Some("a")),
        ("Connection: upgrade\r\nUpgrade: h2c\r\n", "", None),
        ("Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: !\r\n", "", None),
        ("Connection: upgrade\r\nUpgrade: HTTP/2.0, tls\r\n", "", None),
        ("Upgrade: websocket\r\n", "", None),
        ("Connection: close\r\nUpgrade: websocket\r\n", "", None),
        ("Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n", "", None),
        ("Connection: upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n", "", None),
        ("Connection: upgrade\r\nUpgrade: websocket\r\n", "proxy.tunnel: OFF", None),
        ("Connection: upgrade\r\nUpgrade: websocket\r\n", "proxy.websocket: OFF", None),
    ];
    let upstream = Upstream::answering("HTTP/1.1 204 x\r\n\r\n");
    for (fields, lines, want) in cases {
        let dir = Scratch::new();
        let server = before(&dir, &upstream.address, lines);
        let content = if fields.contains("chunked") { "1\r\nx\r\n0\r\n\r\n" } else { "x" };
        let content =
            if fields.contains("Content-Length") || fields.contains("chunked") { content } else { "" };
        let mut client = Client::connect(&server.address);
        client.send(format!("PUT / HTTP/1.1\r\nHost: a\r\n{fields}\r\n{content}"));
        assert_eq!(client.answer().status, 204, "{fields}");
        let asked = upstream.last();
        assert_eq!(asked.all("upgrade"), want.into_iter().collect::<Vec<_>>(), "{fields}");
        assert_eq!(
            asked.all("connection"),
            want.map(|_| "upgrade").into_iter().collect::<Vec<_>>(),
            "{fields}"
        );
        assert_eq!(asked.all("http2-settings"), [""; 0], "{fields}");
    }
}

#[test]
fn an_answer_that_does_not_switch_leaves_http_and_what_comes_early_is_a_request() {
    let answer = "HTTP/1.1 200 OK\r\nUpgrade: chat\r\nConnection: upgrade\r\nContent-Length: 4\r\n\r\nbody";
    let upstream = Upstream::answering(answer);
    let dir = Scratch::new();
    let server = before(&dir, &upstream.address, "");
    let mut client = Client::connect(&server.address);
    client.send(format!("{UPGRADE}GET /next HTTP/1.1\r\nHost: a\r\n\r\n"));
    for _ in 0..2 {
        let answer = client.answer();
        assert_eq!((answer.status, answer.text()), (200, "body".into()));
        assert_eq!((answer.field("upgrade"), answer.field("connection")), (None, None));
    }
    let lines: Vec<String> = upstream.requests().iter().map(|asked| asked.line().to_owned()).collect();
    assert_eq!(lines, ["GET /chat HTTP/1.1", "GET /next HTTP/1.1"]);
    assert_eq!(upstream.connections(), 1, "the connection is used again");
}

#[test]
fn a_server_that_switches_to_an_unrequested_protocol_is_a_bad_gateway() {
    let plain = "GET /chat HTTP/1.1\r\nHost: a\r\n\r\n";
    let cases = [
        (UPGRADE, "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\nGET"),
        (UPGRADE, "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"),
        (UPGRADE, "HTTP/1.1 101 x\r\nConnection: upgrade\r\n\r\n"),
        (UPGRADE, "HTTP/1.1 101 x\r\nUpgrade: chat\r\n\r\n"),
        (UPGRADE, "HTTP/1.0 101 x\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n"),
        (plain, SWITCH),
        ("GET /chat HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", SWITCH),
    ];
    for (asked, answer) in cases {
        let upstream = Upstream::answering(answer);
        let dir = Scratch::new();
        let server = before(&dir, &upstream.address, "error-log.emit-request-errors: ON");
        let mut client = Client::connect(&server.address);
        client.send(asked);
        assert_eq!(client.answer().status, 502, "{answer:?}");
        server.until_stderr("the server sent 101 without being asked to");
    }
}

/// Floods a client through `server` until nothing more is accepted; whether the client was still read from,
/// and how much was sent.
#[test]
fn a_client_that_does_not_read_is_heard_and_fills_no_memory() {
    const MUCH: usize = 256 << 20;
    let (address, told) = peer(|mut stream| {
        switch(&mut stream);
        let mut flood = stream.try_clone().expect("a second handle");
        let flooding = thread::spawn(move || {
            let piece = vec![7; 1 << 16];
            (0..MUCH / piece.len()).all(|_| flood.write_all(&piece).is_ok())
        });
        let heard = exactly(&mut stream, 4 << 20).len();
        (heard, flooding)
    });
    let dir = Scratch::new();
    let server = before(&dir, &address, "");
    let (mut client, _) = upgraded(&server);
    client.write_all(&vec![1; 4 << 20]).expect("sent, though nothing is read");
    let (heard, flooding) = told.recv().expect("everything was heard");
    assert_eq!(heard, 4 << 20);
    let resident = resident(server.id());
    assert!(resident < 64 << 20, "{resident} bytes are resident");
    let mut left = MUCH;
    let mut piece = vec![0; 1 << 16];
    while left > 0 {
        let count = client.read(&mut piece).expect("more");
        assert!(count > 0, "{left} bytes are missing");
        left -= count;
    }
    assert!(flooding.join().expect("no panic"));
}

/// Memory of a process that is in the machine's.
fn resident(pid: u32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

#[test]
fn a_tunnel_in_which_nothing_moves_ends_after_its_own_timeout() {
    let (address, told) = peer(|mut stream| {
        switch(&mut stream);
        rest(&mut stream).is_err()
    });
    let dir = Scratch::new();
    // Others are shorter and do not count.
    let lines =
        "proxy.timeout.io: 100\nproxy.timeout.tunnel: 1000\nhttp1-request-timeout: 1\nlimit-request-body: 1";
    let server = before(&dir, &address, lines);
    let began = std::time::Instant::now();
    let (mut client, _) = upgraded(&server);
    assert!(rest(&mut client).is_err() && told.recv().expect("the script ends"), "both ends are reset");
    assert!(began.elapsed().as_millis() >= 1000);
    logged(&dir, "GET /chat HTTP/1.1 101 0");
}

#[test]
fn tunnels_end_with_the_server_when_their_time_is_over() {
    let (address, told) = peer(|mut stream| {
        switch(&mut stream);
        let _ = rest(&mut stream);
    });
    let dir = Scratch::new();
    let mut server = before(&dir, &address, "http2-graceful-shutdown-timeout: 1");
    let (mut client, _) = upgraded(&server);
    client.write_all(b"x").expect("sent");
    server.signal(Signal::TERM);
    assert_eq!(rest(&mut client).expect("an end, and no reset"), b"");
    told.recv().expect("the script ends");
    drop(client);
    assert!(server.wait().success());
}

/// The field block of a CONNECT for WebSocket.
fn websocket(protocol: &str) -> Vec<u8> {
    request("CONNECT", "/chat", &[(":protocol", protocol), ("sec-websocket-version", "13")])
}

#[test]
fn over_http_2_the_upstream_is_asked_over_http_1_and_has_to_prove_that_it_understood() {
    let switch = "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n";
    let wrong = format!("{switch}Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
    let cases = [
        ("websocket", wrong.as_str(), 502),
        ("websocket", &format!("{switch}\r\n"), 502),
        ("websocket", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", 502),
        ("websocket", "HTTP/1.1 204 x\r\n\r\n", 502),
        ("websocket", "HTTP/1.1 403 x\r\nContent-Length: 4\r\n\r\nbody", 403),
        ("connect-udp", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: connect-udp\r\n\r\n", 501),
        ("h2c", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", 501),
    ];
    for (protocol, answer, want) in cases {
        let upstream = Upstream::answering(answer);
        let dir = Scratch::new();
        let server = before(&dir, &upstream.address, "");
        let mut wire = Wire::open(&server.address);
        wire.frame(kind::HEADERS, flag::END_HEADERS, 1, websocket(protocol));
        assert_eq!(wire.answer(1).status, want, "{protocol} {answer:?}");
        if want == 501 {
            assert_eq!(upstream.connections(), 0);
            continue;
        }
        let asked = upstream.last();
        assert_eq!(asked.line(), "GET /chat HTTP/1.1");
        assert_eq!((asked.all("connection"), asked.all("upgrade")), (vec!["upgrade"], vec!["websocket"]));
        assert_eq!(asked.all("sec-websocket-version"), ["13"]);
        assert_eq!(asked.all("sec-websocket-key")[0].len(), 24);
        assert!(!asked.head.contains("protocol"), "{}", asked.head);
    }
}

#[test]
fn extended_connect_is_announced_only_where_something_comes_of_it() {
    let dir = Scratch::new();
    let nobody = unused_address();
    for (lines, want) in [("", true), ("proxy.tunnel: OFF", false)] {
        let server = before(&dir, &nobody, lines);
        let mut wire = Wire::open(&server.address);
        let settings = wire.next_of(kind::SETTINGS).payload;
        assert_eq!(settings.chunks(6).any(|setting| setting == [0, 8, 0, 0, 0, 1]), want, "{lines:?}");
    }
}

fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

#[test]
fn connect_makes_a_way_to_a_server_whatever_is_spoken_there() {
    let (address, told) = peer(|mut stream| {
        stream.write_all(b"220 hello\r\n").expect("sent");
        let heard = rest(&mut stream).expect("an end, and no reset");
        stream.write_all(b"221 bye\r\n").expect("sent");
        heard
    });
    let dir = Scratch::new();
    let server = connecting(&dir, "'+127.0.0.0/8'", "proxy.connect.emit-proxy-status: ON");
    let mut client = to(&server.address);
    // Early bytes belong to the tunnel.
    client.write_all(format!("{}HELO a\r\n", connect(&address)).as_bytes()).expect("sent");
    client.shutdown(Shutdown::Write).expect("shut down");
    let answer = head(&mut client).to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 200 "), "{answer}");
    assert!(answer.contains("proxy-status: \"hayami\"; next-hop=\"127.0.0.1\"\r\n"), "{answer}");
    assert!(!answer.contains("content-length") && !answer.contains("transfer-encoding"), "{answer}");
    assert_eq!(rest(&mut client).expect("an end"), b"220 hello\r\n221 bye\r\n");
    assert_eq!(told.recv().expect("the script ends"), b"HELO a\r\n");
    logged(&dir, &format!("CONNECT {address} HTTP/1.1 200 20"));
}

#[test]
fn connect_goes_only_where_a_rule_allows_it() {
    let nobody = unused_address();
    let port = nobody.rsplit(':').next().expect("a port");
    let refused = "refused (os error 111) while connecting".to_owned();
    let denied = "the rules of proxy.connect deny all of its addresses".to_owned();
    let cases = [
        ("'+*:1'", nobody.clone(), 403, &denied),
        ("'+*:1-1023'", nobody.clone(), 403, &denied),
        ("'+*:1024-65535'", nobody.clone(), 502, &refused),
        ("['-127.0.0.0/8', '+*']", nobody.clone(), 403, &denied),
        ("['-127.0.0.0/8', '+*']", format!("[::ffff:127.0.0.1]:{port}"), 403, &denied),
        ("['-127.0.0.0/8', '-::1', '+*']", format!("localhost:{port}"), 403, &denied),
        ("['-127.0.0.0/8', '+*']", format!("0.0.0.0:{port}"), 403, &denied),
        ("['+*']", nobody.clone(), 502, &refused),
        ("['-::/0', '+*']", format!("localhost:{port}"), 502, &refused),
        ("'+*'", "name.invalid:443".to_owned(), 502, &"cannot resolve the host name".to_owned()),
    ];
    for (rules, target, status, reason) in cases {
        let dir = Scratch::new();
        let server = connecting(&dir, rules, "error-log.emit-request-errors: ON");
        let mut client = Client::connect(&server.address);
        client.send(connect(&target));
        assert_eq!(client.answer().status, status, "{rules} {target}");
        assert!(client.is_closed(), "what follows could be meant for the tunnel");
        server.until_stderr(reason);
    }
}

#[test]
fn without_the_directive_connect_is_not_allowed() {
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\n\r\n");
    let dir = Scratch::new();
    let server = before(&dir, &upstream.address, "");
    let mut client = Client::connect(&server.address);
    client.send(connect(&upstream.address));
    assert_eq!(client.answer().status, 405);
    let mut wire = Wire::open(&server.address);
    let block = literals(&[(":method", "CONNECT"), (":authority", &upstream.address)]);
    wire.frame(kind::HEADERS, flag::END_HEADERS, 1, block);
    assert_eq!(wire.answer(1).status, 405);
    assert_eq!(upstream.connections(), 0);
    let server = connecting(&dir, "'+*'", "");
    assert_eq!(server.get("/").status, 404, "nothing else is there");
}

#[test]
fn connect_over_http_2_is_a_tunnel_of_one_stream() {
    let (address, told) = peer(|mut stream| {
        let heard = exactly(&mut stream, 3);
        stream.write_all(&heard).expect("sent");
        let heard = rest(&mut stream).expect("an end, and no reset");
        stream.write_all(b"bye").expect("sent");
        heard
    });
    let dir = Scratch::new();
    let server = connecting(&dir, "'+*'", "");
    let mut wire = Wire::open(&server.address);
    let block = |to: &str| literals(&[(":method", "CONNECT"), (":authority", to)]);
    wire.frame(kind::HEADERS, flag::END_HEADERS, 1, block(&address));
    wire.send(frame(kind::DATA, 0, 1, b"abc"));
    assert_eq!(wire.next_of(kind::DATA).payload, b"abc");
    assert_eq!(wire.status(1), Some(200));
    wire.send(frame(kind::DATA, flag::END_STREAM, 1, b"end"));
    let mut last = wire.next_of(kind::DATA);
    let mut said = last.payload.clone();
    while last.flags & flag::END_STREAM == 0 {
        last = wire.next_of(kind::DATA);
        said.extend_from_slice(&last.payload);
    }
    assert_eq!((said.as_slice(), told.recv().expect("the script ends")), (&b"bye"[..], b"end".to_vec()));
    // Resetting a stream resets the tunneled connection, and vice versa (RFC 9113 §8.5).
    let (address, told) = peer(|mut stream| rest(&mut stream).is_err());
    wire.frame(kind::HEADERS, flag::END_HEADERS, 3, block(&address));
    until("the tunnel is there", || wire.ping().status(3) == Some(200));
    wire.frame(kind::RST_STREAM, 0, 3, 8_u32.to_be_bytes());
    assert!(told.recv().expect("the script ends"), "the server is reset");
    let (address, _told) = peer(|mut stream| {
        exactly(&mut stream, 1);
        rustix::net::sockopt::set_socket_linger(&stream, Some(Default::default())).expect("set");
    });
    wire.frame(kind::HEADERS, flag::END_HEADERS, 5, block(&address));
    wire.send(frame(kind::DATA, 0, 5, b"x"));
    assert_eq!(wire.reset_of(5), Some(10), "CONNECT_ERROR");
    wire.get(7, "/");
    assert_eq!(wire.answer(7).status, 404, "the connection goes on");
}
