//! Counts the allocations of a proxied request with a counting allocator, over real sockets.

mod counting;

use hayami_http::{Content, Response, Status};
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::{Address, Answer, Outcome, Refusal, Request, Service};
use hayami_net::{Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use hayami_server::Generation;
use hayami_server::features::load_text;
use hayami_server::service::{Site, objects};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Requests to count.
const REQUESTS: usize = 500;

/// A site that reports the number of its worker's allocations at `/allocations`.
struct Counted<S>(S);

impl<S: Service> Service for Counted<S> {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        match request.head.path() {
            b"/allocations" => {
                let made = counting::allocations().to_string();
                Outcome::Ready(Response::text(Status::OK, made).into())
            }
            _ => self.0.respond(request),
        }
    }

    fn refuse(&self, _: &Refusal, _: &mut Request<'_>) -> Answer {
        Answer::from(Response { content: Content::Empty, ..Response::empty(Status::BAD_REQUEST) })
    }

    fn server_name(&self) -> Option<&[u8]> {
        self.0.server_name()
    }
}

/// Answers every request on one connection.
fn upstream() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        let (mut bytes, mut read) = ([0; 4096], 1);
        while read > 0 {
            read = stream.read(&mut bytes).expect("read");
            if bytes[..read].ends_with(b"\r\n\r\n") {
                let head = "HTTP/1.1 200 OK\r\nServer: u\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n";
                stream.write_all(&[head.as_bytes(), &[b'x'; 1024]].concat()).expect("sent");
            }
        }
    });
    (address, thread)
}

/// A worker that proxies everything.
fn proxy(upstream: SocketAddr) -> (SocketAddr, watch::Sender<Phase>, JoinHandle<()>) {
    let fd = bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), &Options::default()).expect("bound");
    let address = bound_address(&fd);
    let Address::Ip(ip) = address else { panic!("an IP address") };
    let (phase, phases) = watch::channel(Phase::Run);
    let thread = std::thread::spawn(move || {
        let config = Config {
            cpu: None,
            listeners: vec![Listener { fd, index: 0, queue: 0, address, tls: None, proxy_protocol: None }],
            limits: Default::default(),
            http2: Http2Config::default(),
            timeouts: Timeouts::default(),
            upstreams: Default::default(),
            content: Arc::new(hayami_net::ByteBudget::new(1 << 30)),
            quota: Arc::new(Quota::new(100, None)),
            ready: Box::new(|| ()),
        };
        let text = format!(
            "listen: 80\nhosts: {{a: {{paths: {{/: {{proxy.reverse.url: 'http://{upstream}/'}}}}}}}}"
        );
        let settings = load_text("test", &text).unwrap_or_else(|errors| panic!("{errors}")).settings;
        let mut generation = Generation::new(Arc::clone(&settings)).expect("a generation");
        generation.open_logs().expect("logs");
        generation.open_upstreams(Default::default());
        let generation = Arc::new(generation);
        let made = run(config, phases, |clock, outbound| {
            let worker = objects::first(&generation, clock, Some(outbound.clone()), 1);
            Ok(Counted(Site::new(&generation, worker)))
        });
        made.expect("ran");
    });
    (ip, phase, thread)
}

/// Sends a request, and reads a response with content of known length.
fn ask(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nuser-agent: test\r\naccept: */*\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let (mut bytes, mut got) = ([0; 4096], String::new());
    loop {
        let read = stream.read(&mut bytes).expect("read");
        assert!(read > 0, "{got}");
        got.push_str(str::from_utf8(&bytes[..read]).expect("text"));
        let Some((head, content)) = got.split_once("\r\n\r\n") else { continue };
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if content.len() >= length.and_then(|length| length.parse().ok()).expect("a length") {
            return content.to_owned();
        }
    }
}

#[test]
fn a_request_that_is_passed_on_costs_few_allocations() {
    let (upstream, answering) = upstream();
    let (address, phase, worker) = proxy(upstream);
    let mut stream = TcpStream::connect(address).expect("connected");
    let mut made = || {
        for _ in 0..REQUESTS {
            assert_eq!(ask(&mut stream, "/").len(), 1024);
        }
        ask(&mut stream, "/allocations").parse::<usize>().expect("a number")
    };
    let before = made();
    let each = (made() - before) / REQUESTS;
    assert!(each <= 7, "{each} allocations for each request");
    drop(stream);
    phase.send(Phase::Drain).expect("running");
    worker.join().expect("ended well");
    answering.join().expect("ended well");
}
