//! An attempt on a shared session: it selects the session and takes content that arrived with the head.

use super::super::announced::announced_by;
use super::super::attempt::{Attempt, CallContext, Loss};
use super::super::call::Call;
use super::super::cause::{Cause, Phase};
use super::super::reply::Reply;
use super::super::retry::{Left, Reach};
use super::super::upstream::{InFlight, Upstream};
use super::Sessions;
use super::body::Body;
use super::sent_request::SentRequest;
use super::session::Session;
use super::stream::Ending;
use super::upload::Upload;
use hayami_h2::{Request, ResponseContent};
use hayami_http::{Content, Known, ResponseHead, Source};
use std::rc::Rc;
use std::task::{Context, Poll};

/// An attempt on a shared session.
pub(crate) struct Shared {
    sessions: Rc<Sessions>,
    upload: Upload,
    /// `None` while it has no session.
    sent: Option<SentRequest>,
}

impl Shared {
    pub(crate) fn new(sessions: &Rc<Sessions>, call: &mut Call) -> Self {
        let upload = Upload::new(call.content.take());
        call.upgrade = None;
        call.note_protocol(true);
        Self { sessions: Rc::clone(sessions), upload, sent: None }
    }

    /// Writes the request on a session that accepts it.
    fn send(&mut self, context: &mut CallContext) -> Result<SentRequest, Cause> {
        loop {
            let session = self.find_session(context)?;
            let reused = session.served() > 0 && !session.is_connecting();
            let call = &context.call;
            let request = Request {
                method: &call.method,
                scheme: context.upstream.scheme(),
                authority: call.fields.get(Known::Host).unwrap_or_default(),
                path: &call.target,
                protocol: None,
                content: self.upload.announced(),
            };
            let asked = session.ask(&request, &call.fields, call.interim.is_some());
            let Some((key, stream)) = asked else { continue };
            if reused {
                context.upstream.count(|counters| counters.reused += 1);
            }
            self.upload.rewind();
            return Ok(SentRequest::new(session, key, stream, reused));
        }
    }

    /// A session with room for one more call, or a new one.
    fn find_session(&self, context: &mut CallContext) -> Result<Rc<Session>, Cause> {
        let careless = context.call.repeatable && self.upload.taken() == 0;
        loop {
            match self.sessions.find(context.at) {
                Some(session) if careless || session.is_sound() => return Ok(session),
                Some(_) => continue,
                None => {}
            }
            match self.sessions.begin(&context.upstream, context.at) {
                None => return Err(context.no_address()),
                Some(Ok(session)) => return Ok(session),
                Some(Err(error)) => {
                    context.upstream.count(|counters| counters.failed += 1);
                    (context.at, context.before) = (context.at + 1, Some(Cause::Io(error)));
                }
            }
        }
    }
}

impl Attempt for Shared {
    type Answer = (ResponseHead, ResponseContent);

    fn poll_begin(&mut self, _: &mut Context<'_>, context: &mut CallContext) -> Poll<Result<(), Cause>> {
        if self.sent.is_none() {
            self.sent = Some(self.send(context)?);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        context: &mut CallContext,
    ) -> Poll<Result<Self::Answer, Loss>> {
        let Some(sent) = &mut self.sent else { return Poll::Pending };
        sent.stream.wakes(cx.waker());
        if let Some(tell) = &mut context.call.interim {
            sent.stream.take_interim().iter().for_each(tell);
        }
        if let Some(answer) = sent.stream.take_head() {
            sent.stream.clear_deadline();
            self.upload.forget();
            return Poll::Ready(Ok(answer));
        }
        if let Some(Ending { cause, reach }) = sent.stream.take_ending() {
            sent.phase = if self.upload.is_complete() { Phase::FirstByte } else { Phase::Send };
            return Poll::Ready(Err(Loss { cause, reach }));
        }
        if sent.session.is_connecting() {
            return Poll::Pending;
        }
        if let Err(cause) = sent.send(cx, &context.upstream, &mut self.upload) {
            sent.phase = Phase::Send;
            return Poll::Ready(Err(Loss { cause, reach: Reach::Seen }));
        }
        sent.phase = if self.upload.is_complete() { Phase::FirstByte } else { Phase::Send };
        Poll::Pending
    }

    fn phase(&self) -> Phase {
        self.sent.as_ref().map_or(Phase::Connect, |sent| sent.phase)
    }

    fn is_reused(&self) -> bool {
        self.sent.as_ref().is_some_and(|sent| sent.reused)
    }

    fn left(&self) -> Left {
        if self.upload.can_repeat() { Left::Whole } else { Left::Part }
    }

    #[cold]
    fn leave(&mut self, cause: Cause, next: bool, context: &mut CallContext) {
        let Some(sent) = self.sent.take().filter(|_| next) else { return };
        (context.at, context.before) = (context.at.max(sent.session.at + 1), Some(cause));
    }

    #[cold]
    fn into_content(self, _: &Upstream) -> Option<Box<dyn Source>> {
        self.upload.into_content()
    }

    fn reply(&mut self, (head, content): Self::Answer, context: &mut CallContext) -> Reply {
        let upstream = &context.upstream;
        let Some(mut sent) = self.sent.take() else { unreachable!("it has answered") };
        let whole = self.upload.is_complete();
        let content = match content {
            _ if context.is_announced(&head) => {
                sent.detach(upstream, whole);
                announced_by(&head)
            }
            ResponseContent::None | ResponseContent::Length(0) => {
                sent.detach(upstream, whole);
                Content::Empty
            }
            content => {
                let share = |bytes: &[u8]| upstream.outbound.share(bytes);
                match if whole { sent.stream.take_whole(share) } else { None } {
                    Some(shared) => Content::Shared(shared),
                    None => {
                        let upload = std::mem::replace(&mut self.upload, Upload::new(None));
                        let body = Body::new(InFlight::new(upstream), sent, upload, content);
                        Content::Stream(Box::new(body))
                    }
                }
            }
        };
        Reply { head, content, tunnel: None, closes: false, timing: context.timing }
    }
}
