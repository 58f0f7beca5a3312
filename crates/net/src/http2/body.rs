//! What remains of a response's content, taken piece by piece as windows and the output have room.

use crate::blocking::{self, Lane, Task};
use crate::cold;
use hayami_http::{Content, FieldSection, FileSlice, Shared, Source};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::collections::VecDeque;
use std::future::Future;
use std::io::IoSliceMut;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Octets of a cold file that are brought into memory at once.
const WARM: u64 = 1024 * 1024;

/// Content that is being sent.
pub(crate) enum Body {
    Shared(Shared),
    File(FileSlice),
    /// What remains of a file, and the read that brings its next part into memory.
    Cold(FileSlice, Task<()>),
    Parts(VecDeque<Body>),
    Source(Box<dyn Source>),
}

/// What came of asking for octets.
pub(crate) enum Piece {
    /// Octets that are in memory already; with `last`, nothing follows.
    Shared { octets: Shared, last: bool },
    /// Octets were appended, maybe none.
    Copied { last: bool },
    /// There are none for now, beside those appended; the waker tells.
    Pending,
    /// There is less than was announced.
    Broken(&'static str),
}

impl Body {
    pub(crate) fn new(content: Content) -> Self {
        match content {
            Content::Empty => Self::Parts(VecDeque::new()),
            Content::Shared(shared) => Self::Shared(shared),
            Content::File(slice) => Self::File(slice),
            Content::Parts(parts) => Self::Parts(parts.into_iter().map(Self::new).collect()),
            Content::Stream(source) => Self::Source(source),
        }
    }

    /// The trailer section, asked for when the content is complete.
    pub(crate) fn trailers(&mut self, complete: bool) -> Option<FieldSection> {
        match self {
            Self::Source(source) if complete => source.trailers(),
            _ => None,
        }
    }

    /// Takes at most `room` octets, which is more than none; those that have to be copied are appended
    /// to `out`. `wake` makes the waker that tells when a pending one can go on.
    pub(crate) fn take(&mut self, wake: &dyn Fn() -> Waker, room: usize, out: &mut Vec<u8>) -> Piece {
        match self {
            Self::Shared(shared) => {
                let octets = shared.slice(0, room.min(shared.len()));
                *shared = shared.slice(octets.len(), shared.len() - octets.len());
                Piece::Shared { octets, last: shared.is_empty() }
            }
            Self::File(slice) => match read(slice, room, ReadWriteFlags::NOWAIT, out) {
                Err(Errno::AGAIN) => self.warm(wake),
                Err(_) => Piece::Broken("the file could not be read"),
                Ok(0) if slice.len > 0 => Piece::Broken("the file became shorter while it was sent"),
                Ok(_) => Piece::Copied { last: slice.len == 0 },
            },
            Self::Cold(slice, task) => match Pin::new(task).poll(&mut Context::from_waker(&wake())) {
                Poll::Pending => Piece::Pending,
                Poll::Ready(_) => {
                    // Memory may be short, so that it is gone again already: this time it is waited for.
                    let sent = read(slice, room, ReadWriteFlags::empty(), out);
                    let last = slice.len == 0;
                    *self = Self::File(slice.clone());
                    match sent {
                        Ok(0) | Err(_) if !last => Piece::Broken("the file became shorter while it was sent"),
                        _ => Piece::Copied { last },
                    }
                }
            },
            Self::Parts(parts) => take_part(parts, wake, room, out),
            Self::Source(source) => match source.fill(&mut Context::from_waker(&wake()), room, out) {
                Poll::Pending => Piece::Pending,
                Poll::Ready(Ok(last)) => Piece::Copied { last },
                Poll::Ready(Err(_)) => Piece::Broken("the content ended early"),
            },
        }
    }

    /// Has the blocking pool read what comes next.
    #[cold]
    fn warm(&mut self, wake: &dyn Fn() -> Waker) -> Piece {
        let Self::File(slice) = self else { return Piece::Pending };
        let next = FileSlice { len: slice.len.min(WARM), ..slice.clone() };
        let mut task = blocking::run(Lane::Files, move || cold::read_through(&next));
        match Pin::new(&mut task).poll(&mut Context::from_waker(&wake())) {
            Poll::Ready(Err(error)) if blocking::is_refused(&error) => {
                return Piece::Broken("too many files wait for the disk");
            }
            Poll::Ready(_) => return Piece::Copied { last: false },
            Poll::Pending => {}
        }
        *self = Self::Cold(slice.clone(), task);
        Piece::Pending
    }
}

/// Takes from the first part.
fn take_part(parts: &mut VecDeque<Body>, wake: &dyn Fn() -> Waker, room: usize, out: &mut Vec<u8>) -> Piece {
    let Some(part) = parts.front_mut() else { return Piece::Copied { last: true } };
    let taken = part.take(wake, room, out);
    if matches!(taken, Piece::Shared { last: true, .. } | Piece::Copied { last: true }) {
        parts.pop_front();
    }
    match taken {
        Piece::Shared { octets, .. } => Piece::Shared { octets, last: parts.is_empty() },
        Piece::Copied { .. } => Piece::Copied { last: parts.is_empty() },
        other => other,
    }
}

/// Reads the next octets of a file, at most `room` and what is left of it.
fn read(
    slice: &mut FileSlice,
    room: usize,
    flags: ReadWriteFlags,
    out: &mut Vec<u8>,
) -> rustix::io::Result<usize> {
    let len = slice.len.min(room as u64) as usize;
    let start = out.len();
    out.resize(start + len, 0);
    let octets = preadv2(&*slice.file, &mut [IoSliceMut::new(&mut out[start..])], slice.offset, flags);
    let got = *octets.as_ref().unwrap_or(&0);
    out.truncate(start + got);
    slice.offset += got as u64;
    slice.len -= got as u64;
    octets
}
