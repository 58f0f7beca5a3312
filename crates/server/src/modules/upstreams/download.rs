//! Response content from an upstream, holding the upstream's permit.

use super::shared::Permit;
use hayami_http::{Content, PassThrough, SourceError};
use std::task::{Context, Poll};

/// Streamed content holds `permit` until its end or until it is dropped; if it breaks off, `report` is called.
pub(in crate::modules) fn follow(
    content: Content,
    permit: Option<Permit>,
    report: Option<impl Fn(&SourceError) + 'static>,
) -> Content {
    match content {
        Content::Stream(source) if report.is_some() || permit.is_some() => {
            Content::Stream(Box::new(PassThrough::new(source, move |_: &mut Context<'_>, _, filled| {
                let _held = &permit;
                if let (Poll::Ready(Err(error)), Some(report)) = (&filled, &report) {
                    report(error);
                }
                filled
            })))
        }
        content => content,
    }
}
