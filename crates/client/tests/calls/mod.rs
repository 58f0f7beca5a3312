//! A worker that makes calls for clients over real sockets, and scripted upstreams.
#![allow(dead_code, reason = "each test binary uses its part of it")]

pub(crate) mod http2;
pub(crate) mod lines;

use hayami_client as upstream;
use hayami_client::{Backend, Call, Origin, Timeouts as Patience};
use hayami_h1::Limits;
use hayami_http::{FieldSection, Response, Source, SourceError, Status};
use hayami_net::dial::Peer;
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::{Address, Answer, Outcome, Refusal, Request, Service};
use hayami_net::upstream_io::UpstreamIo;
use hayami_net::{Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Content that arrives in pieces, with a pause before each.
pub(crate) struct Pieces {
    left: usize,
    length: Option<u64>,
    paused: bool,
}

impl Source for Pieces {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        self.paused = !self.paused;
        if self.paused {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let bytes = self.left.min(room).min(10_000);
        out.extend(std::iter::repeat_n(b'u', bytes));
        self.left -= bytes;
        Poll::Ready(Ok(self.left == 0))
    }

    fn length(&self) -> Option<u64> {
        self.length
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        let mut trailers = FieldSection::default();
        trailers.append(b"sum", b"1");
        Some(trailers)
    }
}

/// Content that never arrives.
pub(crate) struct Silence;

impl Source for Silence {
    fn fill(&mut self, _: &mut Context<'_>, _: usize, _: &mut Vec<u8>) -> Poll<Result<bool, SourceError>> {
        Poll::Pending
    }
}

/// Forwards everything, with content by path: `/length/N`, `/chunked/N`, `/silence`.
pub(crate) struct Forward(Rc<Backend>);

pub(crate) fn content(path: &str) -> Option<Box<dyn Source>> {
    let (kind, count) = path[1..].split_once('/').unwrap_or((&path[1..], "0"));
    let left: usize = count.parse().unwrap_or(0);
    let length = (kind == "length").then_some(left as u64);
    match kind {
        "length" | "chunked" => Some(Box::new(Pieces { left, length, paused: false })),
        "silence" => Some(Box::new(Silence)),
        _ => None,
    }
}

impl Forward {
    fn call(&self, request: &Request<'_>, told: &Rc<RefCell<String>>) -> Call {
        let path = String::from_utf8_lossy(request.head.path()).into_owned();
        let told = Rc::clone(told);
        let mut fields = FieldSection::default();
        fields.append(b"host", b"upstream");
        Call {
            content: content(&path),
            repeatable: request.head.method_name() != b"POST",
            interim: Some(Box::new(move |head| {
                told.borrow_mut().push_str(&head.status().code().to_string())
            })),
            ..Call::new(request.head.method_name(), request.head.target().to_vec(), fields)
        }
    }
}

/// A waker that panics.
struct Broken;

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        panic!("this is what the test wants");
    }
}

impl Service for Forward {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        if request.head.path() == b"/counters" {
            let (counters, idle) = (self.0.counters(), self.0.idle());
            let text = format!("{counters:?} idle {idle} in flight {}", self.0.in_flight());
            return Outcome::Ready(Answer::from(Response::text(Status::OK, text)));
        }
        request.connection.cancel_on_close.set(true);
        let told = Rc::default();
        let panics = request.head.path() == b"/panics";
        let mut reply = Box::pin(upstream::call(&self.0, self.call(request, &told)));
        Outcome::Later(Box::pin(async move {
            // Simulates a bug, for lack of a real one: the waker that the event loop wakes panics.
            let broken = poll_fn(|_| reply.as_mut().poll(&mut Context::from_waker(&Arc::new(Broken).into())));
            let reply = if panics { broken.await } else { reply.await };
            Answer::from(match reply {
                Ok(mut reply) => {
                    reply.head.append(b"interim", told.borrow().as_bytes());
                    reply.head.append(b"closes", reply.closes.to_string().as_bytes());
                    Response { head: reply.head, content: reply.content }
                }
                Err(failure) => {
                    let again = failure.call.is_some();
                    Response::text(Status::BAD_GATEWAY, format!("{failure:?} again {again}"))
                }
            })
        }))
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        Answer::from(Response::text(refusal.status(), format!("{refusal}\n")))
    }

    fn server_name(&self) -> Option<&[u8]> {
        None
    }
}

pub(crate) struct Server {
    address: SocketAddr,
    phase: watch::Sender<Phase>,
    thread: JoinHandle<()>,
}

pub(crate) fn origin(peers: &[SocketAddr]) -> Origin {
    let long = Duration::from_secs(30);
    let timeouts = Patience { connect: long, first_byte: long, io: long, keep_alive: long };
    let peers = peers.iter().copied().map(Peer::Tcp).collect();
    let (protocol, tls, limits) = (Default::default(), None, Limits::default());
    Origin { peers, protocol, tls, limits, streams: 100, buffer: hayami_client::BUFFER, timeouts, idle: 1000 }
}

pub(crate) fn impatient(peers: &[SocketAddr]) -> Origin {
    let short = Duration::from_millis(200);
    let timeouts = Patience { connect: short, first_byte: short, io: short, keep_alive: short };
    Origin { timeouts, ..origin(peers) }
}

pub(crate) fn server(origin: Origin) -> Server {
    serve(|outbound| Forward(Backend::new(outbound, origin)))
}

/// A worker with the service that `make` creates.
pub(crate) fn serve<S: Service + 'static>(make: impl FnOnce(&UpstreamIo) -> S + Send + 'static) -> Server {
    let fd = bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), &Options::default()).expect("bound");
    let address = bound_address(&fd);
    let Address::Ip(ip) = address else { panic!("an IP address") };
    let (phase, phases) = watch::channel(Phase::Run);
    let thread = std::thread::spawn(move || {
        let config = Config {
            cpu: None,
            listeners: vec![Listener { fd, index: 0, queue: 0, address, tls: None, proxy_protocol: None }],
            limits: Limits::default(),
            http2: Http2Config::default(),
            timeouts: Timeouts::default(),
            upstreams: Default::default(),
            content: Arc::new(hayami_net::ByteBudget::new(1 << 30)),
            quota: Arc::new(Quota::new(1000, None)),
            ready: Box::new(|| ()),
        };
        run(config, phases, |_: &_, outbound: &UpstreamIo| Ok(make(outbound))).expect("ran");
    });
    Server { address: ip, phase, thread }
}

impl Server {
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        stream
    }

    /// The response to one request, on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str) -> String {
        let mut stream = self.connect();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("sent");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("read");
        String::from_utf8(all).expect("text")
    }

    /// Polls the counters until they contain `want`.
    pub(crate) fn await_counters(&self, want: &str) {
        let begun = Instant::now();
        loop {
            let last = self.ask("GET", "/counters");
            if last.contains(want) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{want} was wanted: {last}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn stop(self) {
        self.phase.send(Phase::Drain).expect("running");
        self.thread.join().expect("ended well");
    }
}

/// An upstream that runs `act` on each connection, with the connection's number.
pub(crate) fn upstream(
    act: impl Fn(usize, TcpStream) + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    let (act, opened) = (Arc::new(act), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&opened);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (act, number) = (Arc::clone(&act), count.fetch_add(1, Ordering::SeqCst));
            stream.set_nodelay(true).expect("set");
            std::thread::spawn(move || act(number, stream));
        }
    });
    (address, opened)
}

/// Reads up to the end of a head; `None` if the connection ends first.
pub(crate) fn read_head(stream: &mut TcpStream) -> Option<String> {
    read_until(stream, "\r\n\r\n")
}

pub(crate) fn read_until(stream: &mut TcpStream, end: &str) -> Option<String> {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(end.as_bytes()) {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return None;
        }
        all.push(byte[0]);
    }
    String::from_utf8(all).ok()
}

/// An upstream that answers every request on every connection with `bytes`.
pub(crate) fn always(bytes: &'static [u8]) -> (SocketAddr, Arc<AtomicUsize>) {
    upstream(
        move |_, mut stream| {
            while read_head(&mut stream).is_some() && stream.write_all(bytes).is_ok() {}
        },
    )
}

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: b\r\n\r\nhello";
