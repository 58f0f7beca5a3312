//! The content of an answer on its way from an upstream, whose place it holds.

use super::shared::Permit;
use hayami_http::{Content, FieldSection, Source, SourceError};
use std::task::{Context, Poll};

struct Download<R> {
    source: Box<dyn Source>,
    report: Option<R>,
    _permit: Option<Permit>,
}

/// Content that comes holds `permit` until it is there or given up; if it breaks off, `report` is told.
pub(in crate::modules) fn follow(
    content: Content,
    permit: Option<Permit>,
    report: Option<impl Fn(&SourceError) + 'static>,
) -> Content {
    match content {
        Content::Stream(source) if report.is_some() || permit.is_some() => {
            Content::Stream(Box::new(Download { source, report, _permit: permit }))
        }
        content => content,
    }
}

impl<R: Fn(&SourceError)> Source for Download<R> {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let filled = self.source.fill(cx, room, out);
        if let (Poll::Ready(Err(error)), Some(report)) = (&filled, &self.report) {
            report(error);
        }
        filled
    }

    fn length(&self) -> Option<u64> {
        self.source.length()
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.source.trailers()
    }
}
