//! A worker over real sockets, with a test service: behaviour of connections whatever is served.

use hayami_h1::Limits;
use hayami_http::{Content, Method, Response, Shared, Source, SourceError, Status};
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::{Answer, Ended, Observer, Outcome, Refusal, Request, Service};
use hayami_net::{Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Answers by path; reports how each response ended.
struct Site(Sender<(u64, Option<&'static str>)>);

struct Told(Sender<(u64, Option<&'static str>)>);

impl Observer for Told {
    fn ended(self: Box<Self>, end: &Ended) {
        let _ = self.0.send((end.content_bytes, end.aborted));
    }
}

/// Three pieces, with a pause before each.
struct Pieces(u8, bool);

impl Source for Pieces {
    fn fill(&mut self, cx: &mut Context<'_>, _: usize, out: &mut Vec<u8>) -> Poll<Result<bool, SourceError>> {
        self.1 = !self.1;
        if self.1 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.0 += 1;
        out.extend_from_slice(b"piece");
        Poll::Ready(if self.0 == 9 { Err(SourceError("broken".into())) } else { Ok(self.0 == 3) })
    }
}

fn response(request: &Request<'_>) -> Response {
    let path = request.head.path();
    let mut response = Response::text(Status::OK, path);
    match path {
        b"/large" => response.content = Content::Shared(Shared::from(vec![b'x'; 32 << 20])),
        b"/stream" => response.content = Content::Stream(Box::new(Pieces(0, false))),
        b"/panic" => panic!("as the test wants"),
        b"/broken" => response.content = Content::Stream(Box::new(Pieces(7, false))),
        _ if request.head.method() == Method::Post => response.head.set_status(Status::METHOD_NOT_ALLOWED),
        _ => {}
    }
    response
}

impl Service for Site {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        let answer = Answer { response: response(request), observer: Some(Box::new(Told(self.0.clone()))) };
        if request.head.path() != b"/later" {
            return Outcome::Ready(answer);
        }
        Outcome::Later(Box::pin(async {
            tokio::task::yield_now().await;
            answer
        }))
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        Answer::from(Response::text(refusal.status(), format!("{refusal}\n")))
    }

    fn server_name(&self) -> Option<&[u8]> {
        None
    }
}

struct Server {
    address: SocketAddr,
    phase: watch::Sender<Phase>,
    ended: Receiver<(u64, Option<&'static str>)>,
    thread: JoinHandle<()>,
}

fn server(timeouts: Timeouts, most: usize) -> Server {
    let fd = bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), &Options::default()).expect("bound");
    let address = bound_address(&fd);
    let hayami_net::service::Address::Ip(ip) = address else { panic!("an IP address") };
    let (phase, phases) = watch::channel(Phase::Run);
    let (tell, ended) = channel();
    let thread = std::thread::spawn(move || {
        let quota = Arc::new(Quota::new(most, None));
        let listeners = vec![Listener { fd, index: 0, queue: 0, address, tls: None, proxy_protocol: None }];
        let config = Config {
            cpu: None,
            listeners,
            limits: Limits::default(),
            http2: Http2Config::default(),
            timeouts,
            upstreams: Default::default(),
            content: Arc::new(hayami_net::ByteBudget::new(1 << 30)),
            quota,
            ready: Box::new(|| ()),
        };
        run(config, phases, |_, _| Ok(Site(tell))).expect("ran");
    });
    Server { address: ip, phase, ended, thread }
}

impl Server {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        stream
    }

    /// Sends `bytes` and reads until the server closes.
    fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("sent");
        read_all(&mut stream)
    }

    fn stop(self) {
        self.phase.send(Phase::Drain).expect("running");
        self.thread.join().expect("ended well");
    }
}

fn read_all(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("read");
    String::from_utf8(all).expect("text")
}

fn short() -> Timeouts {
    let short = Duration::from_millis(300);
    Timeouts { request: short, receive: short, send: short, linger: short, ..Timeouts::default() }
}

const CLOSE: &str = " HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
const KEEP: &str = " HTTP/1.1\r\nhost: x\r\n\r\n";

#[test]
fn pipelined_requests_are_answered_in_order_whatever_each_takes() {
    let server = server(Timeouts::default(), 10);
    let input = ["/one", "/later", "/stream", "/two", "/later", "/three"]
        .map(|path| format!("GET {path}{KEEP}"))
        .concat();
    let got = server.exchange(format!("{input}GET /last{CLOSE}").as_bytes());
    let order: Vec<usize> = ["/one", "/later", "000005\r\npiece", "/two", "/three", "/last"]
        .iter()
        .map(|part| got.find(*part).unwrap_or_else(|| panic!("{part} in {got}")))
        .collect();
    assert!(order.is_sorted(), "{got}");
    assert_eq!(got.matches("HTTP/1.1 200").count(), 7);
    server.stop();
}

#[test]
fn a_request_that_comes_byte_by_byte_is_answered() {
    let server = server(Timeouts::default(), 10);
    let mut stream = server.connect();
    stream.set_nodelay(true).expect("set");
    for byte in format!("GET /slowly{CLOSE}").bytes() {
        stream.write_all(&[byte]).expect("sent");
    }
    assert!(read_all(&mut stream).ends_with("/slowly"));
    server.stop();
}

#[test]
fn large_content_arrives_whole_and_its_end_is_reported() {
    let server = server(Timeouts::default(), 10);
    let got = server.exchange(format!("GET /large{CLOSE}").as_bytes());
    assert_eq!(got.len() - got.find("\r\n\r\n").expect("a head") - 4, 32 << 20);
    assert_eq!(server.ended.recv(), Ok((32 << 20, None)));
    server.stop();
}

#[test]
fn content_that_fails_midway_does_not_look_complete() {
    let server = server(Timeouts::default(), 10);
    let got = server.exchange(format!("GET /broken{KEEP}").as_bytes());
    assert!(!got.ends_with("0\r\n\r\n"), "{got}");
    server.stop();
}

#[test]
fn a_panic_costs_one_connection_and_no_other() {
    let server = server(Timeouts::default(), 10);
    let mut other = server.connect();
    other.write_all(format!("GET /one{KEEP}").as_bytes()).expect("sent");
    other.read_exact(&mut [0; 20]).expect("answered");
    assert_eq!(server.exchange(format!("GET /panic{KEEP}").as_bytes()), "");
    other.write_all(format!("GET /two{CLOSE}").as_bytes()).expect("sent");
    assert!(read_all(&mut other).ends_with("/two"));
    server.stop();
}

#[test]
fn a_slow_head_gets_408_and_an_idle_connection_is_closed_in_silence() {
    let server = server(short(), 10);
    assert!(server.exchange(b"GET / HTT").starts_with("HTTP/1.1 408 "));
    assert_eq!(server.exchange(b""), "");
    let got = server.exchange(format!("GET /{KEEP}").as_bytes());
    assert!(got.starts_with("HTTP/1.1 200 ") && got.ends_with('/'), "{got}");
    server.stop();
}

#[test]
fn a_client_that_does_not_read_is_cut_off_and_reported() {
    let server = server(short(), 10);
    let mut stream = server.connect();
    stream.write_all(format!("GET /large{KEEP}").as_bytes()).expect("sent");
    let (bytes, aborted) = server.ended.recv().expect("told");
    assert_eq!(aborted, Some("the client did not read in time"));
    assert!(bytes < 32 << 20);
    server.stop();
}

#[test]
fn a_client_that_goes_away_is_reported() {
    let server = server(Timeouts::default(), 10);
    let mut stream = server.connect();
    stream.write_all(format!("GET /large{KEEP}").as_bytes()).expect("sent");
    stream.read_exact(&mut [0; 100]).expect("begun");
    drop(stream);
    let (_, aborted) = server.ended.recv().expect("told");
    assert_eq!(aborted, Some("the client closed the connection"));
    server.stop();
}

#[test]
fn content_nobody_wants_is_thrown_away_and_the_connection_kept() {
    let server = server(Timeouts::default(), 10);
    let content = "c".repeat(100_000);
    let post = format!("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{content}", content.len());
    let got = server.exchange(format!("{post}{post}GET /after{CLOSE}").as_bytes());
    assert_eq!(got.matches("HTTP/1.1 405").count(), 2, "{got}");
    assert!(got.ends_with("/after"), "{got}");
    server.stop();
}

#[test]
fn a_client_that_sends_too_much_can_still_read_why_it_is_refused() {
    let server = server(Timeouts::default(), 10);
    let mut stream = server.connect();
    let head = "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 900000\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(&vec![b'c'; 900_000]).expect("sent although nobody wants it");
    let got = read_all(&mut stream);
    assert!(got.starts_with("HTTP/1.1 405") && got.contains("connection: close"), "{got}");
    server.stop();
}

#[test]
fn connections_above_the_quota_wait_until_there_is_room() {
    let server = server(Timeouts::default(), 1);
    let mut first = server.connect();
    first.write_all(format!("GET /large{KEEP}").as_bytes()).expect("sent");
    first.read_exact(&mut [0; 20]).expect("begun");
    let mut second = server.connect();
    second.write_all(format!("GET /second{CLOSE}").as_bytes()).expect("sent");
    second.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
    second.read_exact(&mut [0; 1]).expect_err("no room yet");
    drop(first);
    second.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    assert!(read_all(&mut second).ends_with("/second"));
    server.stop();
}

#[test]
fn the_connection_that_is_idle_longest_makes_room_for_a_new_one() {
    let server = server(Timeouts::default(), 1);
    let mut idle = server.connect();
    idle.write_all(format!("GET /idle{KEEP}").as_bytes()).expect("sent");
    idle.read_exact(&mut [0; 20]).expect("answered");
    let begun = Instant::now();
    assert!(server.exchange(format!("GET /new{CLOSE}").as_bytes()).ends_with("/new"));
    assert!(begun.elapsed() < Duration::from_secs(5), "it does not wait for the other's timeout");
    read_all(&mut idle);
    server.stop();
}

#[test]
fn draining_closes_idle_connections_and_finishes_what_runs() {
    let server = server(Timeouts::default(), 10);
    let mut idle = server.connect();
    idle.write_all(format!("GET /idle{KEEP}").as_bytes()).expect("sent");
    idle.read_exact(&mut [0; 20]).expect("answered");
    let mut busy = server.connect();
    busy.write_all(format!("GET /large{KEEP}").as_bytes()).expect("sent");
    busy.read_exact(&mut [0; 20]).expect("begun");
    server.phase.send(Phase::Drain).expect("running");
    let begun = Instant::now();
    read_all(&mut idle);
    assert!(begun.elapsed() < Duration::from_secs(5), "idle connections do not wait for their timeout");
    assert!(read_all(&mut busy).len() > 32 << 20);
    server.thread.join().expect("ended well");
}
