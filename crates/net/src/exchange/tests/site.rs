//! A service whose behaviour a test selects by path.

use crate::byte_budget::ByteBudget;
use crate::quota::Quota;
use crate::service::{Answer, Ended, Interim, Observer, Outcome, Refusal, Request, RequestBody, Service};
use crate::timeouts::Timeouts;
use crate::waker::Woken;
use crate::worker::{Http2Config, Worker};
use hayami_h1::Limits;
use hayami_http::{Content, FieldSection, Response, ResponseHead, Source, SourceError, Status};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Maximum request content, in bytes.
pub(super) const LIMIT: u64 = 200_000;
/// Bytes of the large response.
pub(super) const LARGE: usize = 8 << 20;

/// State shared by test and service.
#[derive(Default)]
pub(super) struct Stage {
    open: Cell<bool>,
    waiter: RefCell<Option<Waker>>,
    news: RefCell<Vec<String>>,
    /// Bytes that the source of the large response has produced.
    pub(super) pulled: Cell<usize>,
    /// Data from a tunnel's client, if the source does not take it.
    pub(super) heard: RefCell<Option<RequestBody>>,
}

impl Stage {
    /// Opens the gate that handlers wait for.
    pub(super) fn open(&self) {
        self.open.set(true);
        self.waiter.take().into_iter().for_each(Waker::wake);
    }

    /// Events since the last call.
    pub(super) fn news(&self) -> Vec<String> {
        self.news.take()
    }

    fn tell(&self, news: impl Into<String>) {
        self.news.borrow_mut().push(news.into());
    }

    fn poll_open(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.open.get() {
            return Poll::Ready(());
        }
        self.waiter.replace(Some(cx.waker().clone()));
        Poll::Pending
    }
}

/// Records when it is dropped, and how a response ended.
struct Told(Rc<Stage>, &'static str);

impl Drop for Told {
    fn drop(&mut self) {
        if !self.1.is_empty() {
            self.0.tell(self.1);
        }
    }
}

impl Observer for Told {
    fn ended(self: Box<Self>, end: &Ended) {
        let how = if end.aborted.is_some() { "broken off" } else { "complete" };
        self.0.tell(format!("{how} after {}", end.content_bytes));
    }
}

pub(super) struct Site(pub(super) Rc<Stage>);

impl Service for Site {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        let stage = Rc::clone(&self.0);
        let path = request.head.path().to_vec();
        if let Some(upgrade) = request.upgrade.take() {
            return Outcome::Ready(answer(&stage, tunnel(&stage, request.head.authority(), upgrade.bytes)));
        }
        let content = request.content.take();
        let source: Box<dyn Source> = match &path[..] {
            b"/now" => return Outcome::Ready(answer(&stage, Response::text(Status::OK, "now"))),
            b"/late" | b"/given-up" => {
                request.connection.cancel_on_close.set(path == b"/given-up");
                let held = Told(Rc::clone(&stage), "dropped");
                return later(async move {
                    let _held = held;
                    poll_fn(|cx| stage.poll_open(cx)).await;
                    drop(content);
                    answer(&stage, Response::text(Status::OK, "late"))
                });
            }
            b"/hint" => {
                let interim = Interim::default();
                request.interim = Some(interim.clone());
                return later(async move {
                    interim.send(ResponseHead::new(Status::new(103).expect("a status")));
                    poll_fn(|cx| stage.poll_open(cx)).await;
                    answer(&stage, Response::text(Status::OK, "hinted"))
                });
            }
            b"/sum" => {
                let Some(content) = content else {
                    return Outcome::Ready(answer(&stage, Response::text(Status::OK, "none")));
                };
                return later(async move { answer(&stage, sum(content).await) });
            }
            b"/half" => {
                return later(async move {
                    let mut content = content;
                    let mut some = Vec::new();
                    if let Some(content) = &mut content {
                        let _ = poll_fn(|cx| content.fill(cx, 3, &mut some)).await;
                    }
                    drop(content);
                    poll_fn(|cx| stage.poll_open(cx)).await;
                    answer(&stage, Response::text(Status::OK, some))
                });
            }
            b"/echo" => Box::new(content.expect("content")),
            b"/large" => Box::new(Large(Rc::clone(&stage))),
            b"/broken" => Box::new(Pieces(vec![b"abc"], End::Fails)),
            b"/trailed" => Box::new(Pieces(vec![b"abc", b"def"], End::Trailers)),
            _ => return Outcome::Ready(answer(&stage, Response::text(Status::NOT_FOUND, "what?"))),
        };
        let response = Response { head: ResponseHead::new(Status::OK), content: Content::Stream(source) };
        Outcome::Ready(answer(&stage, response))
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        answer(&self.0, Response::text(refusal.status(), "refused"))
    }

    fn server_name(&self) -> Option<&[u8]> {
        None
    }
}

fn later(answer: impl Future<Output = Answer> + 'static) -> Outcome {
    Outcome::Later(Box::pin(answer))
}

fn answer(stage: &Rc<Stage>, response: Response) -> Answer {
    Answer { response, observer: Some(Box::new(Told(Rc::clone(stage), ""))) }
}

async fn sum(mut content: RequestBody) -> Response {
    let mut all = Vec::new();
    loop {
        match poll_fn(|cx| content.fill(cx, 1000, &mut all)).await {
            Ok(false) => {}
            Ok(true) => break,
            Err(_) => {
                let status = content.refusal().map_or(Status::INTERNAL_SERVER_ERROR, |own| own.status());
                return Response::text(status, "refused");
            }
        }
    }
    let trailers = content.trailers().unwrap_or_default();
    let names: Vec<u8> = trailers.iter().flat_map(|(name, _)| [b" ", name].concat()).collect();
    Response::text(Status::OK, [format!("{} bytes", all.len()).as_bytes(), &names].concat())
}

/// Selected by the authority: one echoes until its client has ended, one sends a word and then only receives, and one
/// fails.
fn tunnel(stage: &Stage, authority: &[u8], bytes: RequestBody) -> Response {
    let source: Box<dyn Source> = match authority.first() {
        Some(b'e') => Box::new(Echo(bytes, Vec::new())),
        Some(b'h') => {
            stage.heard.replace(Some(bytes));
            Box::new(Pieces(vec![b"word"], End::Plain))
        }
        _ => Box::new(Pieces(vec![b"abc"], End::Fails)),
    };
    Response { head: ResponseHead::new(Status::OK), content: Content::Stream(source) }
}

/// Echoes a tunnel's data, and takes it from the client even while the client does not read.
struct Echo(RequestBody, Vec<u8>);

impl Source for Echo {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let heard = self.0.fill(cx, 1 << 20, &mut self.1);
        let len = room.min(self.1.len());
        out.extend(self.1.drain(..len));
        match heard {
            Poll::Ready(Ok(true)) if self.1.is_empty() => Poll::Ready(Ok(true)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ if len > 0 => Poll::Ready(Ok(false)),
            _ => Poll::Pending,
        }
    }
}

/// Some pieces, and how they end.
struct Pieces(Vec<&'static [u8]>, End);

#[derive(PartialEq)]
enum End {
    Plain,
    Trailers,
    Fails,
}

impl Source for Pieces {
    fn fill(&mut self, _: &mut Context<'_>, _: usize, out: &mut Vec<u8>) -> Poll<Result<bool, SourceError>> {
        if self.0.is_empty() {
            return Poll::Ready(Err(SourceError("broken".to_owned())));
        }
        out.extend_from_slice(self.0.remove(0));
        Poll::Ready(Ok(self.0.is_empty() && self.1 != End::Fails))
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        let mut trailers = FieldSection::default();
        trailers.append(b"checksum", b"1");
        (self.1 == End::Trailers).then_some(trailers)
    }
}

/// A large response that counts the bytes pulled.
struct Large(Rc<Stage>);

impl Source for Large {
    fn fill(
        &mut self,
        _: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let pulled = self.0.pulled.get();
        let len = room.min(LARGE - pulled).min(10_000);
        out.resize(out.len() + len, b'x');
        self.0.pulled.set(pulled + len);
        Poll::Ready(Ok(pulled + len == LARGE))
    }
}

/// A worker without a loop.
pub(super) fn worker(stage: &Rc<Stage>) -> Worker<Site> {
    Worker {
        service: Site(Rc::clone(stage)),
        clock: Rc::default(),
        pool: Rc::default(),
        limits: Limits { content: LIMIT, ..Limits::default() },
        http2_engine: Rc::new(Http2Config::default().engine),
        http2: Http2Config::default(),
        timeouts: Timeouts::default(),
        quota: Arc::new(Quota::new(1, None)),
        content: Arc::new(ByteBudget::new(1 << 30)),
        draining: Cell::new(false),
        budget: Default::default(),
        woken: Woken::new().expect("an eventfd"),
        head: RefCell::default(),
        common: Default::default(),
        exchanges: Default::default(),
    }
}
