//! A response's content over HTTP/2; the flow-control window opens as the client takes content.

use super::super::cause::Cause;
use super::super::upstream::InFlight;
use super::sent_request::SentRequest;
use super::upload::Upload;
use hayami_h2::ResponseContent;
use hayami_http::{FieldSection, Source, SourceError};
use hayami_net::clock::Millis;
use std::task::{Context, Poll};

/// Content being received.
pub(super) struct Body {
    upstream: InFlight,
    /// `None` once it is complete or has failed.
    sent: Option<SentRequest>,
    /// The request's content, which may still be sent while the response arrives.
    upload: Upload,
    /// The content length, if known.
    length: Option<u64>,
    trailers: Option<FieldSection>,
}

impl Body {
    pub(super) fn new(
        upstream: InFlight,
        sent: SentRequest,
        upload: Upload,
        content: ResponseContent,
    ) -> Self {
        let length = match content {
            ResponseContent::Length(length) => Some(length),
            ResponseContent::None | ResponseContent::Unknown => None,
        };
        Self { upstream, sent: Some(sent), upload, length, trailers: None }
    }

    /// Continues to send the request's content.
    fn send_on(&mut self, cx: &mut Context<'_>) -> Result<(), SourceError> {
        let Some(sent) = &mut self.sent else { return Ok(()) };
        if self.upload.is_complete() || sent.stream.is_complete() {
            return Ok(());
        }
        sent.send(cx, &self.upstream, &mut self.upload).map_err(|cause| match cause {
            Cause::Content(error) => error,
            cause => error(&cause),
        })
    }

    /// Sets the deadline for more content. While the request waits for the client's content, there is none.
    fn wait(&self, sent: &SentRequest) {
        if sent.is_hungry() {
            sent.stream.clear_deadline();
        } else if sent.stream.deadline() == Millis::NEVER {
            sent.session.expect(&sent.stream, self.upstream.timeouts.io);
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
        if let Some(sent) = &self.sent {
            sent.stream.wakes(cx.waker());
        }
        self.send_on(cx)?;
        let Some(sent) = &self.sent else { return Poll::Ready(Ok(true)) };
        let (bytes, last) = sent.stream.take(room, out);
        if last {
            self.trailers = sent.stream.take_trailers();
            self.sent = None;
            return Poll::Ready(Ok(true));
        }
        if bytes > 0 {
            sent.stream.clear_deadline();
            sent.session.release_stream_window(sent.key, bytes);
            return Poll::Ready(Ok(false));
        }
        if let Some(ending) = sent.stream.take_ending() {
            self.sent = None;
            let slow = matches!(ending.cause, Cause::Timeout);
            return Poll::Ready(Err(match slow {
                true => SourceError("the upstream sent nothing for too long".to_owned()),
                false => error(&ending.cause),
            }));
        }
        self.wait(sent);
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
