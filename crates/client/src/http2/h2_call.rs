//! A call over HTTP/2 from its beginning to its response's head: on which session, and what if that fails.

use super::super::backend::{Backend, InFlight};
use super::super::call::{Call, Cause, Failure, Phase, Reply, Timing};
use super::super::calling::announced_by;
use super::body::Body;
use super::session::Session;
use super::stream::{Ending, Reach, Stream};
use super::upload::{Sending, Upload};
use hayami_h2::{ErrorCode, Key, Request, ResponseContent};
use hayami_http::{Content, Known, ResponseHead};
use hayami_net::clock::Instant;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// How often a request is asked again that the upstream did not look at: who refuses three times means it.
const REPEATS: u8 = 2;

/// A request under way.
pub(crate) struct H2Call {
    backend: InFlight,
    call: Call,
    upload: Upload,
    asked: Option<SentRequest>,
    /// Index of the address for a new session.
    at: usize,
    /// Why the one before could not be made.
    before: Option<Cause>,
    repeats: u8,
    began: Instant,
    timing: Timing,
}

/// A request on a session. Dropped, it is given up.
pub(super) struct SentRequest {
    pub(super) session: Rc<Session>,
    pub(super) key: Key,
    pub(super) stream: Rc<Stream>,
    /// The session has served others.
    reused: bool,
    /// What is waited for.
    waits: Waits,
    /// Nobody waits for the rest, and it may come all the same.
    detached: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Connection,
    Room,
    Client,
    Response,
}

/// Why there is no response.
pub(crate) enum Failed {
    /// The upstream speaks HTTP/1.1 only.
    Protocol,
    /// Something went wrong.
    Response(Unanswered),
}

/// How far a request had come, what was wrong, and whether the upstream cannot have acted on it.
pub(crate) type Unanswered = (Phase, Cause, bool);

impl H2Call {
    pub(crate) fn new(backend: &Rc<Backend>, mut call: Call) -> Self {
        let upload = Upload::new(call.content.take());
        call.upgrade = None;
        call.note_protocol(true);
        Self {
            backend: InFlight::new(backend),
            call,
            upload,
            asked: None,
            at: 0,
            before: None,
            repeats: 0,
            began: backend.outbound.clock().now(),
            timing: Timing::default(),
        }
    }

    /// Asks, and waits for the response's head.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answered, Failed>> {
        loop {
            let mut asked = match self.asked.take() {
                Some(asked) => asked,
                None => match self.ask() {
                    Ok(asked) => asked,
                    Err(cause) => {
                        return Poll::Ready(Err(Failed::Response((Phase::Connect, cause, true))));
                    }
                },
            };
            match self.go_on(cx, &mut asked) {
                Poll::Pending => {
                    self.asked = Some(asked);
                    return Poll::Pending;
                }
                Poll::Ready(Ok((head, content))) => {
                    self.upload.forget();
                    return Poll::Ready(Ok(Answered { asked, head, content }));
                }
                Poll::Ready(Err(ending)) => self.consider(ending, &asked)?,
            }
        }
    }

    fn elapsed(&self) -> Duration {
        self.backend.outbound.clock().refresh_if_exact().saturating_duration_since(self.began)
    }

    /// Writes the request on a session that takes it.
    fn ask(&mut self) -> Result<SentRequest, Cause> {
        loop {
            let session = self.find_session()?;
            let reused = session.served() > 0 && !session.is_connecting();
            let tells = self.call.interim.is_some();
            let authority = self.call.fields.get(Known::Host).unwrap_or_default();
            let request = Request {
                method: &self.call.method,
                scheme: self.backend.scheme(),
                authority,
                path: &self.call.target,
                protocol: None,
                content: self.upload.announced(),
            };
            let Some((key, stream)) = session.ask(&request, &self.call.fields, tells) else { continue };
            if reused {
                self.backend.count(|counters| counters.reused += 1);
            }
            self.upload.rewind();
            let waits = Waits::Connection;
            return Ok(SentRequest { session, key, stream, reused, waits, detached: false });
        }
    }

    /// A session with room for one more; a new one if there is none.
    fn find_session(&mut self) -> Result<Rc<Session>, Cause> {
        let careless = self.call.repeatable && self.upload.taken() == 0;
        loop {
            match self.backend.http2.find(self.at) {
                Some(session) if careless || session.is_sound() => return Ok(session),
                Some(_) => continue,
                None => {}
            }
            match self.backend.begin_session(self.at) {
                None => return Err(self.before.take().unwrap_or(Cause::NoPeers)),
                Some(Ok(session)) => return Ok(session),
                Some(Err(error)) => {
                    self.backend.count(|counters| counters.failed += 1);
                    (self.at, self.before) = (self.at + 1, Some(Cause::Io(error)));
                }
            }
        }
    }

    /// Sends what can be sent, and looks for the response's head.
    fn go_on(
        &mut self,
        cx: &mut Context<'_>,
        asked: &mut SentRequest,
    ) -> Poll<Result<(ResponseHead, ResponseContent), Ending>> {
        asked.stream.wakes(cx.waker());
        if let Some(tell) = &mut self.call.interim {
            asked.stream.take_interim().iter().for_each(tell);
        }
        if let Some(answer) = asked.stream.take_head() {
            asked.stream.clear_deadline();
            return Poll::Ready(Ok(answer));
        }
        if let Some(ending) = asked.stream.take_ending() {
            return Poll::Ready(Err(ending));
        }
        if asked.session.is_connecting() {
            return Poll::Pending;
        }
        if asked.waits == Waits::Connection && !asked.reused {
            self.timing.connected = Some(self.elapsed());
        }
        if let Err(cause) = asked.send(cx, &self.backend, &mut self.upload) {
            return Poll::Ready(Err(Ending { cause, reach: Reach::Seen }));
        }
        if self.upload.is_complete() && self.timing.sent.is_zero() {
            self.timing.sent = self.elapsed();
        }
        Poll::Pending
    }

    /// Something went wrong: on with another session, if that is allowed.
    #[cold]
    fn consider(&mut self, ending: Ending, asked: &SentRequest) -> Result<(), Failed> {
        let Ending { cause, reach } = ending;
        if reach == Reach::Unconnected {
            self.at = self.at.max(asked.session.at + 1);
            self.before = Some(cause);
            return Ok(());
        }
        let again = match reach {
            Reach::Unseen => true,
            Reach::Lost => asked.reused && self.call.repeatable,
            Reach::OtherProtocol => return Err(Failed::Protocol),
            Reach::Unconnected | Reach::Seen => false,
        };
        if again && self.upload.can_repeat() && self.repeats < REPEATS {
            self.repeats += 1;
            return Ok(());
        }
        let phase = if self.upload.is_complete() { Phase::FirstByte } else { Phase::Send };
        Err(Failed::Response((phase, cause, reach == Reach::Unseen)))
    }

    #[cold]
    pub(crate) fn fail(mut self, (phase, cause, unseen): Unanswered) -> Failure {
        let elapsed = self.elapsed();
        let again = self.upload.can_repeat() && (unseen || self.call.repeatable);
        self.call.content = self.upload.into_content();
        Failure { phase, cause, elapsed, call: again.then_some(self.call) }
    }

    /// The call, of which nothing was sent.
    pub(crate) fn into_call(mut self) -> (Rc<Backend>, Call) {
        self.call.content = self.upload.into_content();
        (Rc::clone(&self.backend), self.call)
    }

    pub(crate) fn reply(mut self, answered: Answered) -> Reply {
        self.timing.head = self.elapsed();
        if self.timing.sent.is_zero() {
            self.timing.sent = self.timing.head;
        }
        let Answered { mut asked, head, content } = answered;
        let (timing, whole) = (self.timing, self.upload.is_complete());
        let is_head = self.call.method == b"HEAD" && !head.status().forbids_content();
        let content = match content {
            _ if is_head => {
                asked.detach(&self.backend, whole);
                announced_by(&head)
            }
            ResponseContent::None | ResponseContent::Length(0) => {
                asked.detach(&self.backend, whole);
                Content::Empty
            }
            content => {
                let share = |bytes: &[u8]| self.backend.outbound.share(bytes);
                let all = if whole { asked.stream.take_whole(share) } else { None };
                match all {
                    Some(shared) => Content::Shared(shared),
                    None => Content::Stream(Box::new(Body::new(self.backend, asked, self.upload, content))),
                }
            }
        };
        Reply { head, content, tunnel: None, closes: false, timing }
    }
}

/// A request whose response's head is there.
pub(crate) struct Answered {
    asked: SentRequest,
    head: ResponseHead,
    content: ResponseContent,
}

impl SentRequest {
    /// Sends content as far as there is some and the upstream takes it.
    ///
    /// # Errors
    /// The content could not be had.
    pub(super) fn send(
        &mut self,
        cx: &mut Context<'_>,
        backend: &Backend,
        upload: &mut Upload,
    ) -> Result<(), Cause> {
        let before = upload.taken();
        let sending = upload.poll(cx, backend.outbound.pool(), &self.session, self.key)?;
        let waits = match sending {
            Sending::Done => Waits::Response,
            Sending::Blocked => Waits::Room,
            Sending::Hungry => Waits::Client,
        };
        if waits != self.waits || upload.taken() > before {
            self.waits = waits;
            match waits {
                Waits::Response => self.session.expect(&self.stream, backend.timeouts.first_byte),
                Waits::Room => self.session.expect(&self.stream, backend.timeouts.io),
                // Its connection knows how long.
                Waits::Client | Waits::Connection => self.stream.clear_deadline(),
            }
        }
        Ok(())
    }

    /// Whether only the client is waited for, as far as the request goes.
    pub(super) fn is_hungry(&self) -> bool {
        self.waits == Waits::Client
    }

    /// Nothing of the response matters any more; its end may still come, unless the request goes on for nobody.
    fn detach(&mut self, backend: &Backend, whole: bool) {
        self.detached = whole;
        self.session.expect(&self.stream, backend.timeouts.io);
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        if !self.detached {
            self.session.reset(self.key, ErrorCode::CANCEL);
        }
    }
}
