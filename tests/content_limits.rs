//! What content of requests may take of the machine, all requests together: memory, and the disk.

use crate::support::h2::{flag, frame, kind};
use crate::support::upstream::Upstream;
use crate::support::{Client, Launch, Scratch, Server, Wire, until};
use std::io::{Read, Write};
use std::net::TcpListener;

/// A FastCGI application that answers `done` to every complete request.
fn application() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let (mut tail, mut piece) = (Vec::new(), [0; 64 * 1024]);
                while let Ok(count @ 1..) = stream.read(&mut piece) {
                    tail.extend_from_slice(&piece[..count]);
                    // An empty record of FCGI_STDIN ends the content.
                    if tail.ends_with(&[1, 5, 0, 1, 0, 0, 0, 0]) {
                        let content = b"Status: 200\r\n\r\ndone";
                        let stdout = [&[1, 6, 0, 1, 0, content.len() as u8, 0, 0][..], content].concat();
                        let end = [1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                        let _ = stream.write_all(&[&stdout[..], &end].concat());
                        return;
                    }
                    tail.drain(..tail.len().saturating_sub(16));
                }
            });
        }
    });
    port
}

/// Begins an upload without a length, and sends this many pieces of 100 kB.
fn upload(server: &Server, pieces: usize) -> Client {
    start_upload(server.connect(), pieces)
}

/// The same on this connection.
fn start_upload(mut client: Client, pieces: usize) -> Client {
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let piece = [format!("{:x}\r\n", 100_000).as_bytes(), &vec![b'x'; 100_000], b"\r\n"].concat();
    (0..pieces).for_each(|_| _ = client.send(&piece));
    client
}

#[test]
fn temporary_files_of_all_requests_have_no_more_bytes_than_was_configured() {
    let dir = Scratch::new();
    let port = application();
    let server = Server::config(
        &dir,
        &format!(
            "num-threads: 2\nlimit-request-spool: 1m\nhttp1-request-io-timeout: 60\n\
             hosts: {{default: {{paths: {{/: {{fastcgi.connect: {port}}}}}}}}}\n"
        ),
    );
    let mut first = upload(&server, 7);
    until("the first upload is on disk", || server.nameless_bytes() > 600_000);
    let mut second = upload(&server, 7);
    let answer = second.answer();
    assert_eq!((answer.status, answer.field("retry-after")), (503, Some("1")));
    server.until_stderr(
        "the request's content: the temporary files for request content are full (limit-request-spool)",
    );
    assert!(server.nameless_bytes() <= 1 << 20);
    // Requests that need no file go through at the same time, and so does the first one.
    let mut small = server.connect();
    small.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    assert_eq!(small.answer().text(), "done");
    assert_eq!(first.send("0\r\n\r\n").answer().text(), "done");
    until("its file is gone", || server.nameless_bytes() == 0);
    assert_eq!(upload(&server, 7).send("0\r\n\r\n").answer().text(), "done");
}

/// A server with 1 MiB for temporary files, and these lines at the top.
fn small_spool(dir: &Scratch, lines: &str) -> Server {
    let port = application();
    Server::config(
        dir,
        &format!(
            "num-threads: 2\nlimit-request-spool: 1m\nhttp1-request-io-timeout: 60\n{lines}\
             hosts: {{default: {{paths: {{/: {{fastcgi.connect: {port}}}}}}}}}\n"
        ),
    )
}

#[test]
fn a_large_upload_that_fills_all_temporary_files_is_ended_for_a_small_one() {
    let dir = Scratch::new();
    let server = small_spool(&dir, "limit-request-memory: 256m\n");
    // Of the server's workers, any two may have the two uploads.
    for _ in 0..6 {
        let mut large = upload(&server, 11);
        until("the large upload has all room", || server.nameless_bytes() == 1 << 20);
        assert_eq!(upload(&server, 1).send("0\r\n\r\n").answer().text(), "done");
        let answer = large.answer();
        assert_eq!((answer.status, answer.field("retry-after")), (503, Some("1")));
        until("its file is gone", || server.nameless_bytes() == 0);
    }
    server.until_stderr("and smaller uploads need room (limit-request-spool)");
    // As the only request, it has all of the budget.
    assert_eq!(upload(&server, 11).send("0\r\n\r\n").answer().text(), "done");
}

#[test]
fn a_client_that_fills_all_temporary_files_with_small_uploads_does_not_lock_others_out() {
    let dir = Scratch::new();
    let server = small_spool(&dir, "listen: {host: 127.0.0.1, port: 0, proxy-protocol: ON}\n");
    let upload = |client: &str| {
        let mut connection = server.connect();
        connection.send(format!("PROXY TCP4 {client} 198.51.100.7 56324 80\r\n"));
        start_upload(connection, 1)
    };
    let many: Vec<_> = (0..16).map(|_| upload("192.0.2.1")).collect();
    until("they have all room", || server.nameless_bytes() == 1 << 20);
    assert_eq!(upload("192.0.2.1").answer().status, 503);
    assert_eq!(upload("192.0.2.2").send("0\r\n\r\n").answer().text(), "done");
    until("one of them has ended", || server.nameless_bytes() == 15 << 16);
    drop(many);
}

#[test]
fn collected_content_beyond_16_kib_counts_as_memory_and_goes_to_disk_when_that_is_spent() {
    let (dir, port) = (Scratch::new(), application());
    let server = Server::config(
        &dir,
        &format!(
            "num-threads: 2\nlimit-request-memory: 256k\nhttp1-request-io-timeout: 60\n\
             hosts: {{default: {{paths: {{/: {{fastcgi.connect: {port}}}}}}}}}\n"
        ),
    );
    let upload = || {
        let mut client = upload(&server, 0);
        client.send([&b"9c40\r\n"[..], &[b'x'; 40_000], b"\r\n"].concat());
        client
    };
    // 256 KiB and 16 KiB for each may be in memory.
    let mut many: Vec<_> = (0..40).map(|_| upload()).collect();
    until("the rest is on disk", || server.nameless_bytes() >= 40 * (40_000 - 16_384) - (256 << 10));
    for client in &mut many {
        assert_eq!(client.send("0\r\n\r\n").answer().text(), "done");
    }
    until("the files are gone", || server.nameless_bytes() == 0);
    // The memory was released: a single request needs no file.
    assert_eq!(upload().send("0\r\n\r\n").answer().text(), "done");
}

#[test]
fn an_upload_that_the_disk_does_not_take_is_answered_with_507() {
    let dir = Scratch::new();
    let port = application();
    let text = format!("hosts: {{default: {{paths: {{/: {{fastcgi.connect: {port}}}}}}}}}\n");
    // No file may have more than 100 KiB: to write more is an error as on a full disk, with the signal ignored.
    let server = Launch::config(&dir, &text).after("trap '' XFSZ; ulimit -f 200").serve();
    let answer = upload(&server, 7).answer();
    assert_eq!(answer.status, 507);
    server.until_stderr("the request's content: it cannot be written to disk: File too large");
    assert_eq!(upload(&server, 0).send("0\r\n\r\n").answer().text(), "done");
}

/// An HTTP/2 upstream that never opens a window: it accepts 64 KiB of content in total.
fn slow() -> Upstream {
    Upstream::scripted(|conn| {
        conn.bytes(24);
        conn.send(frame(kind::SETTINGS, 0, 0, ""));
        while let Some(head) = conn.bytes(9) {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            conn.bytes(length as usize);
            if head[3] == kind::SETTINGS && head[4] & flag::ACK == 0 {
                conn.send(frame(kind::SETTINGS, flag::ACK, 0, ""));
            }
        }
    })
}

#[test]
fn content_that_waits_for_slow_upstreams_takes_no_more_memory_than_was_configured() {
    let (dir, slow, echo) = (Scratch::new(), slow(), Upstream::echo());
    let paths = format!(
        "/: {{proxy.http2.force-cleartext: ON, proxy.reverse.url: 'http://{}'}}, /echo: {{proxy.reverse.url: 'http://{}'}}",
        slow.address, echo.address
    );
    let lines = "num-threads: 1\nlimit-request-memory: 1m\nproxy.timeout.io: 60000\nmin-rate: 0";
    let server = Server::config(&dir, &format!("{lines}\nhosts: {{default: {{paths: {{{paths}}}}}}}\n"));
    let mut wire = Wire::open(&server.address);
    let streams = || (0..90).map(|number| 2 * number + 1);
    for stream in streams() {
        wire.ask(stream, "POST", "/", &[], false);
        for _ in 0..4 {
            wire.frame(kind::DATA, 0, stream, vec![b'x'; 15_000]);
        }
        wire.ping();
    }
    // Of each stream some 44 KB count, and 64 KB of all are at the upstream: there is memory for 23 or 24 of them.
    let refused = |wire: &Wire| streams().filter(|stream| wire.status(*stream) == Some(503)).count();
    until("what there is no memory for is refused", || refused(wire.ping()) > 60);
    assert!(refused(wire.ping()) < 70, "{} of 90 were refused", refused(&wire));
    server.until_stderr("the memory for request content is exhausted (limit-request-memory)");
    // A request whose content is taken as it comes is none of them, nor is one over HTTP/1.1.
    wire.ask(201, "POST", "/echo", &[], false);
    for _ in 0..10 {
        wire.frame(kind::DATA, 0, 201, vec![b'y'; 10_000]).ping();
    }
    wire.frame(kind::DATA, flag::END_STREAM, 201, "");
    assert_eq!(wire.answer(201).content.len(), 100_000);
    let mut client = server.connect();
    client.send(format!(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n{}",
        "z".repeat(200_000)
    ));
    assert_eq!(client.answer().content.len(), 200_000);
    // The memory of an aborted request is available to others.
    drop(wire);
    until("the memory is given back", || {
        let mut wire = Wire::open(&server.address);
        wire.ask(1, "POST", "/", &[], false);
        for _ in 0..4 {
            wire.frame(kind::DATA, 0, 1, vec![b'x'; 15_000]);
        }
        wire.ping().status(1).is_none()
    });
}
