//! Slow clients: those that trickle to hold resources are cut off, over every protocol and in both
//! directions; those that are slow but honest are not.

use crate::support::h2::{PREFACE, code, flag, frame, kind, request};
use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server, Wire, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long a client that trickles may hold on: several times the timeouts of the tests.
const AT_MOST: Duration = Duration::from_secs(12);
/// Between two bytes of a trickle.
const PAUSE: Duration = Duration::from_millis(20);
/// A response that fits into no buffer of the kernel's.
const LARGE: usize = 32_000_000;

/// Short timeouts, `/` from the folder, and `/app` from an upstream that answers with the number of bytes that it got;
/// `/app/silence` after longer than the timeouts.
struct Site {
    dir: Scratch,
    _upstream: Upstream,
}

impl Site {
    fn new() -> Self {
        let dir = Scratch::new();
        dir.write("site/ten", "0123456789").write("site/large", vec![b'x'; LARGE]);
        let upstream = Upstream::scripted(|conn| {
            while let Some(asked) = conn.request() {
                if asked.line().contains("silence") {
                    std::thread::sleep(Duration::from_millis(2500));
                }
                let text = asked.content.len().to_string();
                conn.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()));
            }
        });
        dir.write("upstream", &upstream.address);
        Self { dir, _upstream: upstream }
    }

    fn serve(&self, lines: &str) -> Server {
        let url = std::fs::read_to_string(self.dir.path("upstream")).expect("written before");
        let hosts = format!(
            "hosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}, /app: {{proxy.reverse.url: \
             'http://{url}/'}}}}}}}}\n"
        );
        Server::config(&self.dir, &format!("num-threads: 1\n{lines}{hosts}"))
    }
}

/// How long a client may make no progress. The honest clients of these tests are never idle for as long, even
/// if the machine is busy.
const TIMEOUT: Duration = Duration::from_millis(1500);
const HASTY: &str = "http1-request-io-timeout: 1.5\nhttp1-response-io-timeout: 1.5\nmin-rate: 2000\n";

/// Bytes that a client moves at 5,000 a second, more than `min-rate`, for twice as long as the timeout.
const STEADY: usize = 15_000;

/// Makes `step` move a number of bytes repeatedly, [`STEADY`] in all. A delay caused by a busy machine is
/// caught up with at the next step.
fn steadily(mut step: impl FnMut(usize)) {
    let begun = Instant::now();
    let mut moved = 0;
    while moved < STEADY {
        std::thread::sleep(PAUSE);
        let due = usize::try_from(begun.elapsed().as_millis() * 5).map_or(STEADY, |due| due.min(STEADY));
        step(due - moved);
        moved = due;
    }
}

/// Sends `piece` repeatedly while reading; returns the received bytes and the duration.
#[track_caller]
fn trickle(mut stream: TcpStream, mut piece: impl FnMut() -> Vec<u8> + Send) -> (Vec<u8>, Duration) {
    let begun = Instant::now();
    stream.set_read_timeout(Some(AT_MOST)).expect("a timeout");
    let mut reading = stream.try_clone().expect("a second handle");
    let mut received = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while begun.elapsed() < AT_MOST && stream.write_all(&piece()).is_ok() {
                std::thread::sleep(PAUSE);
            }
        });
        // Bytes that the server did not read make a reset of its close.
        let _ = reading.read_to_end(&mut received);
        let _ = reading.shutdown(std::net::Shutdown::Both);
    });
    (received, begun.elapsed())
}

fn connected(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).expect("connected");
    stream.set_nodelay(true).expect("set");
    stream.write_all(bytes).expect("sent");
    stream
}

/// Sends `piece` again and again and reads nothing, until the server has closed.
#[track_caller]
fn deaf_trickle(server: &Server, bytes: &[u8], piece: &[u8]) {
    let before = server.sockets();
    let mut stream = connected(server, bytes);
    until("it is accepted", || server.sockets() > before);
    let begun = Instant::now();
    while begun.elapsed() < AT_MOST && stream.write_all(piece).is_ok() && server.sockets() > before {
        std::thread::sleep(PAUSE);
    }
    assert!(begun.elapsed() < AT_MOST, "it holds its connection");
}

#[test]
fn a_client_that_sends_but_does_not_read_is_cut_off() {
    let site = Site::new();
    let server = site.serve(HASTY);
    deaf_trickle(&server, b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n", b"G");
    let window = 0x7fff_0000_u32.to_be_bytes();
    let settings = frame(kind::SETTINGS, 0, 0, [&[0, 4][..], &window].concat());
    let credit = frame(kind::WINDOW_UPDATE, 0, 0, (0x7fff_0000_u32 - 65_536).to_be_bytes());
    let get = frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, request("GET", "/large", &[]));
    let ping = frame(kind::PING, 0, 0, [0; 8]);
    deaf_trickle(&server, &[PREFACE, &settings, &credit, &get].concat(), &ping);
    assert_eq!(server.get("/ten").status, 200);
}

#[test]
fn an_upload_that_trickles_is_refused() {
    let site = Site::new();
    let server = site.serve(HASTY);
    for (head, piece) in [("Content-Length: 100000", "x"), ("Transfer-Encoding: chunked", "1\r\nx\r\n")] {
        let request = format!("POST /app HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n");
        let (answer, took) = trickle(connected(&server, request.as_bytes()), || piece.into());
        assert!(answer.starts_with(b"HTTP/1.1 408 "), "{head}: {}", String::from_utf8_lossy(&answer));
        assert!(took < AT_MOST, "{head}: {took:?}");
    }
}

#[test]
fn an_upload_that_is_discarded_and_trickles_is_cut_off() {
    let site = Site::new();
    let server = site.serve(HASTY);
    let request = b"POST /ten HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
    let (answer, took) = trickle(connected(&server, request), || b"x".into());
    assert!(answer.starts_with(b"HTTP/1.1 405 "), "{}", String::from_utf8_lossy(&answer));
    assert!(took < AT_MOST, "{took:?}");
}

#[test]
fn over_http_2_an_upload_that_trickles_costs_its_stream_alone() {
    let site = Site::new();
    let server = site.serve(HASTY);
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/app", &[], false);
    let begun = Instant::now();
    while wire.status(1).is_none() && begun.elapsed() < AT_MOST {
        wire.frame(kind::DATA, 0, 1, b"x").ping();
        std::thread::sleep(PAUSE);
    }
    assert_eq!(wire.answer(1).status, 408);
    assert_eq!(wire.get(3, "/ten").answer(3).status, 200);
}

#[test]
fn over_http_2_a_discarded_upload_that_trickles_ends_the_connection() {
    let site = Site::new();
    let server = site.serve(&format!("{HASTY}http2-idle-timeout: 0.5\n"));
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/ten", &[], false);
    assert_eq!(wire.answer(1).status, 405);
    let mut pushing = wire.pushing();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while begun.elapsed() < AT_MOST && pushing.write_all(&frame(kind::DATA, 0, 1, b"x")).is_ok() {
                std::thread::sleep(PAUSE);
            }
        });
        assert_eq!(wire.closed().code(), Some(code::NO_ERROR));
    });
    assert!(begun.elapsed() < AT_MOST);
}

/// The payload of a WINDOW_UPDATE for this many bytes.
fn credit(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("a small step").to_be_bytes()
}

/// A client with empty stream windows and a large connection window.
fn without_credit(server: &Server) -> Wire {
    let mut wire = Wire::bare(&server.address).without_credit();
    wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]).ping();
    wire
}

#[test]
fn over_http_2_a_download_that_trickles_is_given_up_whatever_else_goes_on() {
    let site = Site::new();
    let server = site.serve(&format!("{HASTY}http2-idle-timeout: 30\n"));
    let mut wire = without_credit(&server);
    wire.get(1, "/large");
    let begun = Instant::now();
    let mut stream = 1;
    // A byte now and then, and other requests, and uploads.
    while wire.end.resets.is_empty() && begun.elapsed() < AT_MOST {
        wire.frame(kind::WINDOW_UPDATE, 0, 1, 1_u32.to_be_bytes());
        stream += 2;
        wire.ask(stream, "HEAD", "/ten", &[], true).answer(stream);
        stream += 2;
        wire.ask(stream, "POST", "/app", &[], false).frame(kind::DATA, 0, stream, [0; 1000]);
        wire.frame(kind::WINDOW_UPDATE, 0, stream, 100_u32.to_be_bytes());
        assert_eq!(wire.frame(kind::DATA, flag::END_STREAM, stream, [0; 1000]).answer(stream).text(), "2000");
        std::thread::sleep(PAUSE);
    }
    assert_eq!(wire.end.resets, [(1, code::CANCEL)]);
    assert_eq!(wire.end.goaways, [], "the connection goes on");
}

#[test]
fn over_http_2_a_client_that_grants_nothing_to_any_stream_has_an_idle_connection_in_the_end() {
    let site = Site::new();
    let server = site.serve(&format!("{HASTY}http2-idle-timeout: 0.5\n"));
    let mut wire = without_credit(&server);
    wire.get(1, "/large").get(3, "/large");
    assert_eq!(wire.closed().code(), Some(code::NO_ERROR));
    wire.end.resets.sort();
    assert_eq!(wire.end.resets, [(1, code::CANCEL), (3, code::CANCEL)]);
}

#[test]
fn over_http_2_downloads_that_share_a_slow_connection_are_not_late() {
    let site = Site::new();
    let server = site.serve(HASTY);
    let mut wire = Wire::bare(&server.address).without_credit();
    let window = 0x7fff_0000_u32.to_be_bytes();
    wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [&[0, 4][..], &window].concat());
    wire.get(1, "/large").get(3, "/large");
    // The window of the connection is all that holds them up, and they go out one after the other.
    steadily(|bytes| {
        wire.frame(kind::WINDOW_UPDATE, 0, 0, credit(bytes));
        wire.next_of(kind::DATA);
    });
    assert_eq!((&wire.end.resets[..], &wire.end.goaways[..]), (&[][..], &[][..]));
    assert_eq!(wire.closed().code(), Some(code::NO_ERROR), "without credit it ends");
}

#[test]
fn over_http_2_uploads_that_share_a_slow_connection_are_not_late() {
    const STREAMS: u32 = 90;
    let site = Site::new();
    let server = site.serve(HASTY);
    let mut wire = Wire::open(&server.address);
    let streams: Vec<u32> = (0..STREAMS).map(|number| 2 * number + 1).collect();
    for stream in &streams {
        wire.ask(*stream, "POST", "/app", &[], false);
    }
    // Each waits for longer than the timeout for its next turn.
    let begun = Instant::now();
    let mut due = begun;
    for turn in 1..=3 {
        for stream in &streams {
            let end = if turn == 3 { flag::END_STREAM } else { 0 };
            wire.frame(kind::DATA, end, *stream, [0; 8000]);
            due += PAUSE;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }
    assert!(begun.elapsed() > 3 * TIMEOUT);
    for stream in &streams {
        assert_eq!(wire.answer(*stream).text(), "24000", "{stream}");
    }
}

#[test]
fn a_connection_whose_only_streams_wait_for_content_is_idle() {
    let site = Site::new();
    let server = site.serve("http2-idle-timeout: 0.5\nhttp1-request-io-timeout: 60\n");
    let begun = Instant::now();
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/app", &[], false).ask(3, "POST", "/app", &[], false);
    assert_eq!(wire.closed().code(), Some(code::NO_ERROR));
    assert!(
        begun.elapsed() < AT_MOST && begun.elapsed() > Duration::from_millis(300),
        "{:?}",
        begun.elapsed()
    );
    // While an upstream has the turn, it is not.
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/app", &[], false).get(3, "/app/silence");
    assert_eq!(wire.answer(3).status, 200);
}

#[test]
fn slow_clients_that_keep_to_the_rate_are_served() {
    let site = Site::new();
    let server = site.serve(HASTY);
    let request =
        format!("POST /app HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {STEADY}\r\n\r\n");
    let mut stream = connected(&server, request.as_bytes());
    let begun = Instant::now();
    steadily(|bytes| stream.write_all(&vec![b'x'; bytes]).expect("the server reads"));
    let mut answer = String::new();
    stream.set_read_timeout(Some(AT_MOST)).expect("a timeout");
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with(&format!("\r\n\r\n{STEADY}")), "{answer}");
    assert!(begun.elapsed() > TIMEOUT, "longer than the timeout: {:?}", begun.elapsed());
    let mut wire = without_credit(&server);
    wire.get(1, "/large");
    wire.next_of(kind::HEADERS);
    steadily(|bytes| {
        wire.frame(kind::WINDOW_UPDATE, 0, 1, credit(bytes));
        wire.next_of(kind::DATA);
    });
    assert_eq!((&wire.end.resets[..], &wire.end.goaways[..]), (&[][..], &[][..]));
}

#[test]
fn answers_that_are_awaited_cost_a_client_nothing() {
    let site = Site::new();
    let server = site.serve(HASTY);
    assert_eq!(server.get("/app/silence").text(), "0");
    let mut wire = Wire::open(&server.address);
    assert_eq!(wire.get(1, "/app/silence").answer(1).text(), "0");
}

#[test]
fn without_a_minimum_rate_any_byte_is_enough() {
    let site = Site::new();
    let server = site.serve(&HASTY.replace("2000", "0"));
    let request = b"POST /app HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 100\r\n\r\n";
    let (answer, took) = trickle(connected(&server, request), || b"x".into());
    assert!(answer.ends_with(b"\r\n\r\n100"), "{}", String::from_utf8_lossy(&answer));
    assert!(took > Duration::from_secs(1), "{took:?}");
}
