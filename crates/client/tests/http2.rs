//! Calls over HTTP/2 to scripted upstreams, good and bad.

mod calls;

use calls::http2::*;
use calls::{Server, impatient, origin, read_until, server};
use hayami_client::{Origin, Protocol};
use hayami_h2::{Config, ErrorCode};
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn over_http2(address: SocketAddr) -> Origin {
    Origin { protocol: Protocol::Http2, ..origin(&[address]) }
}

fn hurried(address: SocketAddr) -> Origin {
    Origin { protocol: Protocol::Http2, ..impatient(&[address]) }
}

/// Sends a request whose response may be read later.
fn begin(server: &Server, method: &str, path: &str) -> TcpStream {
    let mut stream = server.connect();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("sent");
    stream
}

fn rest(mut stream: TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("read");
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn calls_one_after_the_other_and_all_at_once_share_a_connection() {
    let (address, opened) = always();
    let server = server(over_http2(address));
    for _ in 0..5 {
        let got = server.ask("GET", "/a");
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("connection 0"), "{got}");
    }
    let many: Vec<_> = (0..50).map(|_| begin(&server, "GET", "/a")).collect();
    for stream in many {
        assert!(rest(stream).ends_with("connection 0"));
    }
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    let counters = server.ask("GET", "/counters");
    let want = "Counters { opened: 1, reused: 54, failed: 0, resumed: 0 } idle 1 in flight 0";
    assert!(counters.contains(want), "{counters}");
    server.stop();
}

#[test]
fn the_upstream_is_told_everything_in_the_words_of_http_2() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let (address, _) = upstream(Config::default(), move |_, conn| {
        while let Some((key, line)) = conn.request() {
            tell.lock().expect("no panic").send((line, conn.authority())).expect("somebody listens");
            conn.answer(key, "");
        }
    });
    let server = server(over_http2(address));
    server.ask("DELETE", "/a?b=c");
    let (line, authority) = told.recv().expect("told");
    assert_eq!((&line[..], authority), ("DELETE /a?b=c", "upstream".to_owned()));
    server.stop();
}

#[test]
fn more_calls_than_a_session_may_have_open_another_one() {
    // The upstream's limit and ours.
    for (theirs, ours) in [(2, 100), (100, 2)] {
        let (address, opened) =
            upstream(Config { max_concurrent_streams: theirs, ..Config::default() }, |_, conn| {
                let mut waiting = Vec::new();
                while let Some((key, line)) = conn.request() {
                    match &line[..] {
                        "GET /wait" => waiting.push(key),
                        _ => waiting.drain(..).chain([key]).for_each(|key| conn.answer(key, "done")),
                    }
                }
            });
        let server = server(Origin { streams: ours, ..over_http2(address) });
        server.ask("GET", "/warm");
        let waiting: Vec<_> = (0..3).map(|_| begin(&server, "GET", "/wait")).collect();
        server.await_counters("in flight 3");
        // The fourth uses the session of the third.
        assert!(server.ask("GET", "/end").ends_with("done"));
        assert_eq!(opened.load(Ordering::SeqCst), 2, "{theirs} {ours}");
        drop(waiting);
        server.await_counters("in flight 0");
        server.stop();
    }
}

#[test]
fn responses_of_every_kind_arrive_whole() {
    let (address, _) = upstream(Config::default(), |_, conn| {
        while let Some((key, line)) = conn.request() {
            match line.split_once(' ').expect("a target").1 {
                "/length" => conn.answer(key, "hello"),
                "/empty" => {
                    conn.head(key, 200, None, &[]);
                    conn.data(key, b"", true);
                }
                "/unknown" => {
                    conn.head(key, 200, None, &[]);
                    conn.data(key, b"hello", false);
                    conn.data(key, b"", true);
                }
                "/trailers" => {
                    conn.interim(key, 103);
                    conn.head(key, 200, None, &[]);
                    conn.data(key, b"hello", false);
                    conn.trailers(key, "sum", "5");
                }
                "/trailers-only" => {
                    conn.head(key, 200, None, &[("grpc-status", "5")]);
                    conn.trailers(key, "sum", "5");
                }
                "/head" => {
                    conn.head(key, 200, Some(5), &[]);
                }
                "/204" => {
                    conn.head(key, 204, None, &[]);
                }
                "/304" => {
                    conn.head(key, 304, Some(5), &[("etag", "\"a\"")]);
                }
                other => panic!("{other}"),
            }
            conn.flush();
        }
    });
    let server = server(over_http2(address));
    let cases = [
        ("GET", "/length", "content-length: 5\r\n", "\r\n\r\nhello"),
        ("GET", "/empty", "content-length: 0\r\n", "\r\n\r\n"),
        ("GET", "/unknown", "HTTP/1.1 200 OK\r\n", "hello"),
        ("GET", "/trailers", "interim: 103\r\n", "5\r\nhello\r\n0\r\nsum: 5\r\n\r\n"),
        ("GET", "/trailers-only", "grpc-status: 5\r\n", "0\r\nsum: 5\r\n\r\n"),
        ("HEAD", "/head", "content-length: 5\r\n", "\r\n\r\n"),
        ("GET", "/204", "HTTP/1.1 204 ", "\r\n\r\n"),
        ("GET", "/304", "etag: \"a\"\r\n", "\r\n\r\n"),
    ];
    for _ in 0..2 {
        for (method, path, head, end) in cases {
            let got = server.ask(method, path);
            assert!(got.contains(head) && got.contains(end), "{method} {path}: {got}");
        }
    }
    server.await_counters("idle 1 in flight 0");
    server.stop();
}

#[test]
fn uploads_wait_for_windows_and_end_with_their_trailers() {
    let config = Config { max_stream_window: 65_536, ..Config::default() };
    let (address, opened) = upstream(config, |_, conn| {
        while let Some((key, _)) = conn.request() {
            let (bytes, trailer) = conn.content(key);
            conn.answer(key, &format!("{bytes} {trailer:?}"));
        }
    });
    let server = server(over_http2(address));
    let cases = [
        ("/length/300000", "300000 Some(\"sum: 1\")"),
        ("/chunked/300000", "300000 Some(\"sum: 1\")"),
        ("/chunked/5", "5 Some(\"sum: 1\")"),
        ("/chunked/0", "0 Some(\"sum: 1\")"),
    ];
    for (path, want) in cases {
        let got = server.ask("POST", path);
        assert!(got.ends_with(want), "{path}: {got}");
    }
    let many: Vec<_> = (0..20).map(|_| begin(&server, "POST", "/length/3000000")).collect();
    // This upstream handles one after the other, so the windows of the others are closed.
    drop(many);
    server.await_counters("in flight 0");
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    server.stop();
}

#[test]
fn content_goes_both_ways_at_once() {
    let (address, _) = upstream(Config::default(), |_, conn| {
        let Some((key, _)) = conn.request() else { return };
        conn.head(key, 200, None, &[]);
        loop {
            match conn.next() {
                Came::Content(key, bytes, _) => {
                    conn.release_stream_window(key, bytes.len());
                    // Less than the initial window: there is always room.
                    conn.data(key, &bytes[..bytes.len() / 10], false);
                }
                Came::End(key, trailer) => {
                    conn.trailers(key, "got", &trailer.unwrap_or_default());
                }
                Came::Closed => return,
                _ => {}
            }
        }
    });
    let server = server(over_http2(address));
    let got = server.ask("POST", "/chunked/1000000");
    assert!(got.matches('u').count() > 90_000);
    assert!(got.ends_with("got: sum: 1\r\n\r\n"));
    server.stop();
}

#[test]
fn what_an_upstream_did_not_look_at_is_asked_again_whatever_it_is() {
    for way in ["goaway", "refused"] {
        let (address, opened) = upstream(Config::default(), move |number, conn| match number {
            0 => {
                let Some((key, _)) = conn.request() else { return };
                conn.answer(key, "first");
                while let Some((key, _)) = conn.request() {
                    match way {
                        "goaway" => conn.go_away(1, 0),
                        _ => conn.reset(key, ErrorCode::REFUSED_STREAM),
                    }
                }
            }
            _ => {
                while let Some((key, _)) = conn.request() {
                    conn.content(key);
                    conn.answer(key, "again");
                }
            }
        });
        let server = server(over_http2(address));
        assert!(server.ask("GET", "/a").ends_with("first"));
        let got = server.ask("POST", "/length/20000");
        match way {
            "goaway" => {
                assert!(got.ends_with("again"), "{got}");
                assert_eq!(opened.load(Ordering::SeqCst), 2);
            }
            // After a refusal on every attempt, the request may be sent elsewhere.
            _ => {
                let words = got.contains("the upstream reset the stream (REFUSED_STREAM)");
                assert!(words && got.ends_with("again true"), "{got}");
            }
        }
        server.stop();
    }
}

#[test]
fn a_refused_stream_goes_to_another_session_while_the_first_is_busy() {
    let (address, opened) = upstream(Config::default(), |number, conn| {
        while let Some((key, line)) = conn.request() {
            match (&line[..], number) {
                ("GET /wait", _) => {}
                (_, 0) => conn.reset(key, ErrorCode::REFUSED_STREAM),
                _ => conn.answer(key, "elsewhere"),
            }
        }
    });
    let server = server(over_http2(address));
    let waiting = begin(&server, "GET", "/wait");
    server.await_counters("opened: 1");
    let got = server.ask("POST", "/length/5");
    assert!(got.ends_with("elsewhere"), "{got}");
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    drop(waiting);
    server.await_counters("in flight 0");
    server.stop();
}

#[test]
fn streams_that_an_upstream_still_deals_with_end_well_after_its_goodbye() {
    let (address, opened) = upstream(Config::default(), |number, conn| {
        while let Some((key, line)) = conn.request() {
            if line == "GET /slow" {
                conn.head(key, 200, None, &[]);
                conn.data(key, b"begun ", false);
                conn.go_away(1, 0);
                conn.data(key, b"ended", true);
            } else {
                conn.answer(key, &format!("connection {number}"));
            }
        }
    });
    let server = server(over_http2(address));
    let got = server.ask("GET", "/slow");
    assert!(got.contains("begun ") && got.contains("ended"), "{got}");
    assert!(server.ask("GET", "/a").ends_with("connection 1"));
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    server.stop();
}

#[test]
fn a_connection_that_dies_costs_only_what_must_not_be_repeated() {
    for (method, want) in [("GET", "connection 1"), ("POST", "the upstream closed the connection")] {
        let (address, _) = upstream(Config::default(), |number, conn| {
            while let Some((key, line)) = conn.request() {
                if line.ends_with("/die") && number == 0 {
                    return;
                }
                conn.answer(key, &format!("connection {number}"));
            }
        });
        let server = server(over_http2(address));
        assert!(server.ask("GET", "/a").ends_with("connection 0"));
        let got = server.ask(method, "/die");
        assert!(got.contains(want), "{method}: {got}");
        server.stop();
    }
}

#[test]
fn failures_say_what_was_wrong() {
    type Act = fn(&mut Conn);
    let cases: [(Act, &str); 12] = [
        (
            |conn| {
                conn.request();
                conn.stream.shutdown(Shutdown::Write).expect("open");
                conn.next();
            },
            "waiting for the response: the upstream closed the connection",
        ),
        (
            |conn| {
                let (key, _) = conn.request().expect("a request");
                conn.reset(key, ErrorCode::INTERNAL_ERROR);
                conn.next();
            },
            "the upstream reset the stream (INTERNAL_ERROR)",
        ),
        (
            |conn| {
                conn.request();
                conn.go_away(1, 11);
            },
            "the upstream sent GOAWAY (ENHANCE_YOUR_CALM)",
        ),
        (
            |conn| {
                conn.request();
                conn.frame(DATA, 0, 1, b"x");
                conn.next();
            },
            "the content comes before the response's head",
        ),
        (
            |conn| {
                conn.request();
                conn.frame(5, 4, 1, &[0, 0, 0, 2, 0x88]);
                conn.next();
            },
            "the peer sent PUSH_PROMISE, which is not allowed",
        ),
        (
            |conn| {
                conn.request();
                // `:status: 200`, without END_HEADERS
                conn.frame(HEADERS, 0, 1, &[0x88]);
                (0..100).for_each(|_| conn.frame(CONTINUATION, 0, 1, &[0x88]));
                conn.next();
            },
            "the field block has too many frames or bytes",
        ),
        (
            |conn| {
                conn.request();
                (0..1000).for_each(|_| conn.frame(SETTINGS, 0, 0, b""));
                conn.next();
            },
            "the peer sends too many SETTINGS frames",
        ),
        (
            |conn| {
                conn.request();
                (0..1000).for_each(|_| conn.frame(6, 0, 0, b"12345678"));
                conn.next();
            },
            "the peer sends too many PING frames",
        ),
        (
            |conn| {
                let (key, _) = conn.request().expect("a request");
                (0..100).for_each(|_| conn.interim(key, 103));
                conn.flush();
                conn.next();
            },
            "the server sent more interim responses than the limit",
        ),
        (
            |conn| {
                conn.request();
                conn.frame(HEADERS, 4, 1, &[0xff, 0xff, 0x7f]);
                conn.next();
            },
            "the field block can't be decoded",
        ),
        (
            |conn| {
                conn.request();
                conn.frame(RST_STREAM, 0, 1, b"");
                conn.next();
            },
            "the frame's length doesn't fit its type",
        ),
        (
            |conn| {
                conn.request();
                conn.frame(HEADERS, 4, 99, &[0x88]);
                conn.next();
            },
            "the stream's number is not one that the peer may open",
        ),
    ];
    for (act, want) in cases {
        let (address, _) = upstream(Config::default(), move |_, conn| act(conn));
        let server = server(over_http2(address));
        let got = server.ask("POST", "/a");
        assert!(got.starts_with("HTTP/1.1 502 ") && got.contains(want), "{want}: {got}");
        server.stop();
    }
}

#[test]
fn who_does_not_speak_http_2_is_found_out_at_once() {
    let cases: [(&'static [u8], &str); 2] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the frame is longer than our settings allow"),
        (b"\0\0\x08\x06\0\0\0\0\x0012345678", "the first frame is not SETTINGS"),
    ];
    for (bytes, want) in cases {
        let (address, _) = calls::upstream(move |_, mut stream| {
            let _ = stream.write_all(bytes);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let server = server(over_http2(address));
        let got = server.ask("GET", "/a");
        assert!(got.contains(want), "{want}: {got}");
        server.stop();
    }
}

#[test]
fn content_that_breaks_off_does_not_look_complete() {
    let (address, _) = upstream(Config::default(), |_, conn| {
        while let Some((key, line)) = conn.request() {
            conn.head(key, 200, line.ends_with("/length").then_some(10), &[]);
            conn.data(key, b"hello", false);
            if line.ends_with("/closed") {
                return;
            }
            conn.reset(key, ErrorCode::CANCEL);
        }
    });
    let server = server(over_http2(address));
    for path in ["/length", "/reset", "/closed"] {
        let got = server.ask("GET", path);
        assert!(got.starts_with("HTTP/1.1 200 ") && !got.ends_with("0\r\n\r\n"), "{path}: {got}");
    }
    server.stop();
}

#[test]
fn a_late_stream_ends_alone() {
    let (address, opened) = upstream(Config::default(), |number, conn| {
        while let Some((key, line)) = conn.request() {
            if line == "GET /a" {
                conn.answer(key, &format!("connection {number}"));
            }
        }
    });
    let server = server(hurried(address));
    let late: Vec<_> = ["/late", "/later"].map(|path| begin(&server, "GET", path)).into();
    // Other calls succeed meanwhile, so the session is known to be alive.
    let mut asked = 0;
    while server.ask("GET", "/counters").contains("in flight 2") {
        assert!(server.ask("GET", "/a").ends_with("connection 0"));
        asked += 1;
    }
    assert!(asked > 0);
    for stream in late {
        let got = rest(stream);
        assert!(got.contains("waiting for the response: timed out") && got.ends_with("again true"), "{got}");
    }
    assert!(server.ask("GET", "/a").ends_with("connection 0"));
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    server.stop();
}

#[test]
fn a_session_on_which_nothing_comes_is_given_up() {
    // The first connection accepts everything and sends nothing; the next one responds.
    let (address, opened) = calls::upstream({
        move |number, mut stream| {
            if number > 0 {
                let _ = stream.write_all(b"\0\0\0\x04\0\0\0\0\0");
                // `:status: 204` on the first stream.
                let _ = stream.write_all(b"\0\0\x01\x01\x05\0\0\0\x01\x89");
            }
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let server = server(hurried(address));
    assert!(server.ask("GET", "/a").contains("timed out"));
    let got = server.ask("GET", "/a");
    assert!(got.starts_with("HTTP/1.1 204 "), "{got}");
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    server.stop();
}

#[test]
fn a_session_that_rests_for_too_long_says_goodbye() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let (address, _) = upstream(Config::default(), move |_, conn| {
        let (key, _) = conn.request().expect("a request");
        conn.answer(key, "hello");
        let last = [conn.next(), conn.next()].map(|came| format!("{came:?}"));
        tell.lock().expect("no panic").send(last).expect("somebody listens");
    });
    let server = server(hurried(address));
    assert!(server.ask("GET", "/a").ends_with("hello"));
    assert_eq!(told.recv().expect("told"), ["GoAway", "Closed"]);
    server.await_counters("idle 0 in flight 0");
    server.stop();
}

#[test]
fn without_keep_alive_each_call_has_its_connection() {
    let (address, opened) = always();
    let server = server(Origin { idle: 0, ..over_http2(address) });
    for number in 0..3 {
        assert!(server.ask("GET", "/a").ends_with(&format!("connection {number}")));
    }
    assert_eq!(opened.load(Ordering::SeqCst), 3);
    server.stop();
}

#[test]
fn a_slow_client_holds_up_neither_others_nor_memory() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let (address, opened) = upstream(Config::default(), move |_, conn| {
        while let Some((key, line)) = conn.request() {
            if line == "GET /large" {
                conn.head(key, 200, None, &[]);
                let mut room = 1;
                while room > 0 {
                    room = conn.data(key, &[b'x'; 65_536], false);
                    count.fetch_add(room, Ordering::SeqCst);
                }
            } else {
                conn.answer(key, &"y".repeat(10_000));
            }
        }
    });
    let server = server(over_http2(address));
    // These are not read, so each buffers as much as its window allows.
    let slow: Vec<_> = (0..14).map(|_| begin(&server, "GET", "/large")).collect();
    server.await_counters("in flight 14");
    for _ in 0..10 {
        assert_eq!(server.ask("GET", "/a").matches('y').count(), 10_000);
    }
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent <= 14 * 256 * 1024, "{sent} bytes are more than all first windows");
    drop(slow);
    server.await_counters("in flight 0");
    server.stop();
}

#[test]
fn what_nobody_waits_for_is_canceled_at_the_upstream() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let (address, _) = upstream(Config::default(), move |_, conn| {
        loop {
            match conn.next() {
                Came::Request(key, line, _) if line.ends_with("/body") => {
                    conn.head(key, 200, None, &[]);
                    conn.data(key, b"hello", false);
                }
                Came::Request(key, line, _) if line.ends_with("/a") => conn.answer(key, "hello"),
                Came::Reset(_, code) => {
                    tell.lock().expect("no panic").send(code).expect("somebody listens");
                }
                Came::Closed => return,
                _ => {}
            }
        }
    });
    let server = server(over_http2(address));
    let stream = begin(&server, "GET", "/head");
    server.await_counters("in flight 1");
    drop(stream);
    assert_eq!(told.recv(), Ok(ErrorCode::CANCEL));
    let mut stream = begin(&server, "GET", "/body");
    assert!(read_until(&mut stream, "hello").is_some());
    drop(stream);
    assert_eq!(told.recv(), Ok(ErrorCode::CANCEL));
    assert!(server.ask("GET", "/a").ends_with("hello"));
    server.await_counters("opened: 1");
    server.stop();
}

#[test]
fn an_answer_before_the_end_of_the_request_is_an_answer() {
    for code in [None, Some(ErrorCode::NO_ERROR)] {
        let (address, opened) = upstream(Config::default(), move |_, conn| {
            while let Some((key, line)) = conn.request() {
                conn.answer(key, "early");
                if line.starts_with("POST")
                    && let Some(code) = code
                {
                    conn.reset(key, code);
                }
            }
        });
        let server = server(over_http2(address));
        for path in ["/silence", "/length/10000000"] {
            let got = server.ask("POST", path);
            assert!(got.ends_with("early"), "{path}: {got}");
        }
        assert!(server.ask("GET", "/a").ends_with("early"));
        assert_eq!(opened.load(Ordering::SeqCst), 1);
        server.await_counters("idle 1 in flight 0");
        server.stop();
    }
}

/// An address that refuses connections. Its socket stays bound so that no other test gets the port.
fn refusing() -> SocketAddr {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("bound");
    let address = rustix::net::getsockname(&socket).expect("an address");
    std::mem::forget(socket);
    SocketAddr::try_from(address).expect("of IP")
}

#[test]
fn the_next_address_is_tried_until_somebody_is_there() {
    let (address, _) = always();
    let server_of = |peers: &[SocketAddr]| server(Origin { protocol: Protocol::Http2, ..origin(peers) });
    let server = server_of(&[refusing(), refusing(), address]);
    let many: Vec<_> = (0..10).map(|_| begin(&server, "POST", "/length/5")).collect();
    for stream in many {
        assert!(rest(stream).ends_with("connection 0"));
    }
    server.stop();
    let server = server_of(&[refusing()]);
    let got = server.ask("POST", "/length/5");
    assert!(got.contains("connecting: Connection refused") && got.ends_with("again true"), "{got}");
    server.stop();
}

#[test]
fn a_panic_behind_an_event_costs_its_session_and_no_other() {
    let (address, opened) = always();
    let server = server(over_http2(address));
    assert!(server.ask("GET", "/a").ends_with("connection 0"));
    let broken = begin(&server, "GET", "/panics");
    let begun = Instant::now();
    while !server.ask("GET", "/a").ends_with("connection 1") {
        assert!(begun.elapsed() < Duration::from_secs(20), "the session that panicked is still used");
    }
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    drop(broken);
    server.stop();
}
