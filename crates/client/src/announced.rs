//! The content of a response to HEAD: a length without bytes.

use hayami_http::{Content, Known, ResponseHead, Source, SourceError};
use std::task::{Context, Poll};

/// Content length announced by a response to HEAD, if any.
struct Announced(Option<u64>);

/// The content that GET would have returned (RFC 9110 §9.3.2).
pub(super) fn announced_by(head: &ResponseHead) -> Content {
    let digits = head.get(Known::ContentLength).filter(|value| value.iter().all(u8::is_ascii_digit));
    let length = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    Content::Stream(Box::new(Announced(length)))
}

impl Source for Announced {
    fn fill(&mut self, _: &mut Context<'_>, _: usize, _: &mut Vec<u8>) -> Poll<Result<bool, SourceError>> {
        Poll::Ready(Err(SourceError("the upstream was asked for the head only".to_owned())))
    }

    fn length(&self) -> Option<u64> {
        self.0
    }
}
