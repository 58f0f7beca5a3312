//! Content that passes through an observer, which can change only how it ends.

use crate::content::{Source, SourceError};
use crate::field::FieldSection;
use std::task::{Context, Poll};

/// The result of [`Source::fill`].
pub type Filled = Poll<Result<bool, SourceError>>;

/// A source that reports every `fill` with the number of bytes that it produced; the return value of the
/// report is the result. Length and trailers are those of the source.
///
/// ```
/// use hayami_http::{PassThrough, Source, SourceError, pass_through::Filled};
/// use std::{cell::Cell, rc::Rc, task::{Context, Poll, Waker}};
///
/// struct Hello;
/// impl Source for Hello {
///     fn fill(&mut self, _: &mut Context<'_>, _: usize, out: &mut Vec<u8>) -> Filled {
///         out.extend_from_slice(b"hello");
///         Poll::Ready(Ok(true))
///     }
/// }
///
/// let total = Rc::new(Cell::new(0));
/// let count = Rc::clone(&total);
/// let mut counted = PassThrough::new(Box::new(Hello), move |_: &mut Context<'_>, bytes, filled| {
///     count.set(count.get() + bytes);
///     filled
/// });
/// let mut cx = Context::from_waker(Waker::noop());
/// assert!(counted.fill(&mut cx, 100, &mut Vec::new()).is_ready());
/// assert_eq!(total.get(), 5);
/// ```
pub struct PassThrough<R> {
    source: Box<dyn Source>,
    report: R,
}

impl<R: FnMut(&mut Context<'_>, usize, Filled) -> Filled> PassThrough<R> {
    /// Wraps `source`; every `fill` is passed to `report`.
    pub fn new(source: Box<dyn Source>, report: R) -> Self {
        Self { source, report }
    }
}

impl<R: FnMut(&mut Context<'_>, usize, Filled) -> Filled> Source for PassThrough<R> {
    fn fill(&mut self, cx: &mut Context<'_>, room: usize, out: &mut Vec<u8>) -> Filled {
        let before = out.len();
        let filled = self.source.fill(cx, room, out);
        (self.report)(cx, out.len() - before, filled)
    }

    fn length(&self) -> Option<u64> {
        self.source.length()
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.source.trailers()
    }
}
