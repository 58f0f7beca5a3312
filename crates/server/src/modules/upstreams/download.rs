//! The content of an answer on its way from an upstream, whose place it holds.

use super::shared::Permit;
use hayami_http::{Content, PassThrough, SourceError};
use std::task::{Context, Poll};

/// Content that comes holds `permit` until it is there or given up; if it breaks off, `report` is told.
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
