//! A worker whose service takes content in various ways, by path.

use hayami_h1::Limits;
use hayami_http::{Content, FieldSection, Response, ResponseHead, Source, Status};
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::{
    Address, Answer, Ended, Interim, Observer, Outcome, Refusal, Request, RequestBody, Service,
};
use hayami_net::{Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use std::future::{pending, poll_fn};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// Maximum request content, in bytes.
pub(crate) const LIMIT: u64 = 4 << 20;

/// What the service reports to the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A request has arrived.
    Asked,
    /// Its response was dropped.
    Dropped,
    /// The sending of a response has ended like this.
    Ended(Option<&'static str>),
}

struct Site {
    gate: watch::Receiver<bool>,
    tell: Sender<News>,
}

/// Reports when it is dropped.
struct Held(Sender<News>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.send(News::Dropped);
    }
}

impl Observer for Held {
    fn ended(self: Box<Self>, end: &Ended) {
        let _ = self.0.send(News::Ended(end.aborted));
    }
}

/// A pattern that reveals missing or misplaced bytes.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

/// What the service answers about content that it has read.
pub(crate) fn summary(content: &[u8]) -> String {
    let sum = content.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    format!("{} bytes, sum {sum}", content.len())
}

async fn fill(incoming: &mut RequestBody, room: usize, all: &mut Vec<u8>) -> Result<bool, String> {
    poll_fn(|cx| incoming.fill(cx, room, all)).await.map_err(|error| error.to_string())
}

/// Reads everything and answers with a summary.
async fn sum(mut incoming: RequestBody, room: usize) -> Response {
    let mut all = Vec::new();
    loop {
        match fill(&mut incoming, room, &mut all).await {
            Ok(false) => {}
            Ok(true) => break,
            Err(error) => {
                let refused = incoming.refusal().map_or(Status::INTERNAL_SERVER_ERROR, |r| r.status());
                return Response::text(refused, format!("{}: {error}", refused.code()));
            }
        }
    }
    let trailers: FieldSection = incoming.trailers().unwrap_or_default();
    let named: Vec<_> = trailers.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
    Response::text(Status::OK, format!("{}{}", summary(&all), named.concat()))
}

fn stream(incoming: RequestBody) -> Response {
    Response { head: ResponseHead::new(Status::OK), content: Content::Stream(Box::new(incoming)) }
}

/// Answers as selected by the path.
async fn answer(
    path: Vec<u8>,
    incoming: RequestBody,
    mut gate: watch::Receiver<bool>,
    tell: Sender<News>,
) -> Response {
    let mut opened = async || gate.wait_for(|open| *open).await.is_ok();
    match &path[..] {
        b"/sum" => sum(incoming, 1 << 20).await,
        b"/sum-by-7" => sum(incoming, 7).await,
        b"/gate" => {
            opened().await;
            sum(incoming, 1 << 20).await
        }
        b"/patient" => {
            incoming.disable_read_timeout();
            sum(incoming, 1 << 20).await
        }
        // Reads a little, drops the rest, and answers later.
        b"/half" => {
            let mut incoming = incoming;
            let mut some = Vec::new();
            let _ = fill(&mut incoming, 1000, &mut some).await;
            drop(incoming);
            opened().await;
            Response::text(Status::OK, "half")
        }
        b"/elsewhere" => match tokio::task::spawn_local(sum(incoming, 5000)).await {
            Ok(response) => response,
            Err(error) => Response::text(Status::INTERNAL_SERVER_ERROR, error.to_string()),
        },
        b"/hold" | b"/hold-canceled" => {
            let _held = Held(tell);
            let _incoming = incoming;
            pending().await
        }
        b"/read-canceled" => {
            let _held = Held(tell);
            sum(incoming, 1 << 20).await
        }
        path => Response::text(Status::NOT_FOUND, path),
    }
}

impl Service for Site {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        let path = request.head.path().to_vec();
        let _ = self.tell.send(News::Asked);
        request.connection.cancel_on_close.set(path.ends_with(b"canceled"));
        let observer: Option<Box<dyn Observer>> = Some(Box::new(Held(self.tell.clone())));
        if path == b"/interim" {
            let interim = Interim::default();
            request.interim = Some(interim.clone());
            return Outcome::Later(Box::pin(hinted(interim)));
        }
        if path == b"/gate-canceled" || path == b"/gate-alone" {
            let (mut gate, held) = (self.gate.clone(), Held(self.tell.clone()));
            return Outcome::Later(Box::pin(async move {
                let _held = held;
                let _ = gate.wait_for(|open| *open).await;
                Answer::from(Response::text(Status::OK, "opened"))
            }));
        }
        match request.content.take() {
            None => Outcome::Ready(Response::text(Status::OK, "no content").into()),
            Some(_) if path == b"/early" => Outcome::Ready(Response::text(Status::OK, "early").into()),
            Some(incoming) if path.starts_with(b"/echo") => {
                Outcome::Ready(Answer { response: stream(incoming), observer })
            }
            Some(incoming) => {
                let answer = answer(path, incoming, self.gate.clone(), self.tell.clone());
                Outcome::Later(Box::pin(async { Answer::from(answer.await) }))
            }
        }
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        Answer::from(Response::text(refusal.status(), format!("refused: {refusal}\n")))
    }

    fn server_name(&self) -> Option<&[u8]> {
        None
    }
}

/// Sends two interim responses at different times, and some that are not allowed.
async fn hinted(interim: Interim) -> Answer {
    for code in [103, 100, 101, 200] {
        let mut head = ResponseHead::new(Status::new(code).expect("a status"));
        head.append(b"link", b"</a>; rel=preload");
        interim.send(head);
    }
    tokio::task::yield_now().await;
    interim.send(ResponseHead::new(Status::new(102).expect("a status")));
    tokio::task::yield_now().await;
    Response::text(Status::OK, "hinted").into()
}

pub(crate) struct Server {
    address: SocketAddr,
    phase: watch::Sender<Phase>,
    gate: watch::Sender<bool>,
    pub(crate) news: Receiver<News>,
    thread: JoinHandle<()>,
}

pub(crate) fn server(timeouts: Timeouts) -> Server {
    let fd = bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), &Options::default()).expect("bound");
    let address = bound_address(&fd);
    let Address::Ip(ip) = address else { panic!("an IP address") };
    let (phase, phases) = watch::channel(Phase::Run);
    let (open, gate) = watch::channel(false);
    let (tell, news) = channel();
    let thread = std::thread::spawn(move || {
        let config = Config {
            cpu: None,
            listeners: vec![Listener { fd, index: 0, queue: 0, address, tls: None, proxy_protocol: None }],
            limits: Limits { content: LIMIT, ..Limits::default() },
            http2: Http2Config::default(),
            timeouts,
            upstreams: Default::default(),
            content: Arc::new(hayami_net::ByteBudget::new(1 << 30)),
            quota: Arc::new(Quota::new(100, None)),
            ready: Box::new(|| ()),
        };
        run(config, phases, |_, _| Ok(Site { gate, tell })).expect("ran");
    });
    Server { address: ip, phase, gate: open, news, thread }
}

/// Timeouts that expire during a test.
pub(crate) fn short() -> Timeouts {
    let short = Duration::from_millis(300);
    Timeouts { request: short, receive: short, linger: short, ..Timeouts::default() }
}

impl Server {
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("set");
        stream.set_nodelay(true).expect("set");
        stream
    }

    /// Opens the gate that handlers wait for.
    pub(crate) fn open_gate(&self) {
        self.gate.send(true).expect("somebody waits");
    }

    /// Waits for this news.
    pub(crate) fn wait_for(&self, wanted: &News) {
        while self.news.recv_timeout(Duration::from_secs(20)).expect("news in time") != *wanted {}
    }

    /// Stops after dropping the client.
    pub(crate) fn stop_after<T>(self, client: T) {
        drop(client);
        self.stop();
    }

    pub(crate) fn stop(self) {
        self.phase.send(Phase::Drain).expect("running");
        self.thread.join().expect("ended well");
    }
}
