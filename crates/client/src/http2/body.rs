//! A response's content as it comes over HTTP/2: the upstream may send more of it as its client takes it.

use super::super::backend::InFlight;
use super::super::call::Cause;
use super::asking::Asked;
use super::upload::Upload;
use hayami_h2::ResponseContent;
use hayami_http::{FieldSection, Source, SourceError};
use hayami_net::clock::Millis;
use std::task::{Context, Poll};

/// Content that is being received.
pub(super) struct Body {
    backend: InFlight,
    /// None: it is complete, or failed.
    asked: Option<Asked>,
    /// The request's content, which may go on while the response's comes.
    upload: Upload,
    /// Its length, if that was said.
    length: Option<u64>,
    trailers: Option<FieldSection>,
}

impl Body {
    pub(super) fn new(backend: InFlight, asked: Asked, upload: Upload, content: ResponseContent) -> Self {
        let length = match content {
            ResponseContent::Length(length) => Some(length),
            ResponseContent::None | ResponseContent::Unknown => None,
        };
        Self { backend, asked: Some(asked), upload, length, trailers: None }
    }

    /// The request's content goes on.
    fn send_on(&mut self, cx: &mut Context<'_>) -> Result<(), SourceError> {
        let Some(asked) = &mut self.asked else { return Ok(()) };
        if self.upload.is_complete() || asked.stream.is_complete() {
            return Ok(());
        }
        asked.send(cx, &self.backend, &mut self.upload).map_err(|cause| match cause {
            Cause::Content(error) => error,
            cause => error(&cause),
        })
    }

    /// Nothing is there: how long that may last. While the request itself pauses, that is the client's affair.
    fn wait(&self, asked: &Asked) {
        if asked.is_hungry() {
            asked.stream.clear_deadline();
        } else if asked.stream.deadline() == Millis::NEVER {
            asked.session.expect(&asked.stream, self.backend.timeouts.io);
        }
    }
}

impl Source for Body {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        if let Some(asked) = &self.asked {
            asked.stream.wakes(cx.waker());
        }
        self.send_on(cx)?;
        let Some(asked) = &self.asked else { return Poll::Ready(Ok(true)) };
        let (octets, last) = asked.stream.take(room, out);
        if last {
            self.trailers = asked.stream.take_trailers();
            self.asked = None;
            return Poll::Ready(Ok(true));
        }
        if octets > 0 {
            asked.stream.clear_deadline();
            asked.session.grant(asked.key, octets);
            return Poll::Ready(Ok(false));
        }
        if let Some(ending) = asked.stream.take_ending() {
            self.asked = None;
            let slow = matches!(ending.cause, Cause::Timeout);
            return Poll::Ready(Err(match slow {
                true => SourceError("the upstream sent nothing for too long".to_owned()),
                false => error(&ending.cause),
            }));
        }
        self.wait(asked);
        Poll::Pending
    }

    fn length(&self) -> Option<u64> {
        self.length
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.trailers.take()
    }
}

#[cold]
fn error(why: &Cause) -> SourceError {
    SourceError(format!("from the upstream: {why}"))
}
