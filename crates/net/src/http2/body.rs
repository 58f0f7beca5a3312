//! What remains of a response's content, taken piece by piece as windows and the output have room.

use super::send::FRAME_HEADER;
use crate::blocking::{self, Lane, Task};
use crate::cold;
use hayami_http::{Content, FieldSection, FileSlice, Shared, Source};
use rustix::io::{ReadWriteFlags, preadv2};
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
    /// What remains of a file, and how much of that is known to be in memory.
    File(FileSlice, u64),
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
            Content::File(slice) => Self::File(slice, 0),
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

    /// Takes at most `room` bytes, which is more than none; those that have to be copied are appended to `out`. Of a
    /// file they may be more than one frame of `frame` bytes: then room for a header is between any two of them. `wake`
    /// makes the waker that tells when a pending one can go on.
    pub(crate) fn take(
        &mut self,
        wake: &dyn Fn() -> Waker,
        room: usize,
        frame: usize,
        out: &mut Vec<u8>,
    ) -> Piece {
        match self {
            Self::Shared(shared) => {
                let room = room.min(frame);
                let octets = shared.slice(0, room.min(shared.len()));
                *shared = shared.slice(octets.len(), shared.len() - octets.len());
                Piece::Shared { octets, last: shared.is_empty() }
            }
            Self::File(slice, warm) => match read_warm(slice, warm, room, frame, out) {
                Err(error) if *warm == 0 && cold::would_wait(error) => self.warm(wake),
                Err(_) => Piece::Broken("the file could not be read"),
                Ok(0) if slice.len > 0 => Piece::Broken("the file was truncated while it was being sent"),
                Ok(_) => Piece::Copied { last: slice.len == 0 },
            },
            Self::Cold(slice, task) => match Pin::new(task).poll(&mut Context::from_waker(&wake())) {
                Poll::Pending => Piece::Pending,
                Poll::Ready(_) => {
                    let warm = slice.len.min(WARM);
                    *self = Self::File(slice.clone(), warm);
                    self.take(wake, room, frame, out)
                }
            },
            Self::Parts(parts) => take_part(parts, wake, room, frame, out),
            Self::Source(source) => {
                match source.fill(&mut Context::from_waker(&wake()), room.min(frame), out) {
                    Poll::Pending => Piece::Pending,
                    Poll::Ready(Ok(last)) => Piece::Copied { last },
                    Poll::Ready(Err(_)) => Piece::Broken("the content ended early"),
                }
            }
        }
    }

    /// Has the blocking pool read what comes next.
    #[cold]
    fn warm(&mut self, wake: &dyn Fn() -> Waker) -> Piece {
        let Self::File(slice, _) = self else { return Piece::Pending };
        let next = FileSlice { len: slice.len.min(WARM), ..slice.clone() };
        let mut task = blocking::run(Lane::Files, move || cold::read_through(&next));
        match Pin::new(&mut task).poll(&mut Context::from_waker(&wake())) {
            Poll::Ready(Err(error)) if blocking::is_refused(&error) => {
                return Piece::Broken("too many file reads are queued");
            }
            Poll::Ready(_) => return Piece::Copied { last: false },
            Poll::Pending => {}
        }
        *self = Self::Cold(slice.clone(), task);
        Piece::Pending
    }
}

/// Takes from the first part.
fn take_part(
    parts: &mut VecDeque<Body>,
    wake: &dyn Fn() -> Waker,
    room: usize,
    frame: usize,
    out: &mut Vec<u8>,
) -> Piece {
    let Some(part) = parts.front_mut() else { return Piece::Copied { last: true } };
    let taken = part.take(wake, room, frame, out);
    if matches!(taken, Piece::Shared { last: true, .. } | Piece::Copied { last: true }) {
        parts.pop_front();
    }
    match taken {
        Piece::Shared { octets, .. } => Piece::Shared { octets, last: parts.is_empty() },
        Piece::Copied { .. } => Piece::Copied { last: parts.is_empty() },
        other => other,
    }
}

/// Reads as [`read`] does. What is known to be in memory is read whatever that takes: if memory is short, it may be gone
/// again, and this time it is waited for.
fn read_warm(
    slice: &mut FileSlice,
    warm: &mut u64,
    room: usize,
    frame: usize,
    out: &mut Vec<u8>,
) -> rustix::io::Result<usize> {
    if *warm == 0 {
        return read(slice, room, frame, ReadWriteFlags::NOWAIT, out);
    }
    let room = room.min(usize::try_from(*warm).unwrap_or(usize::MAX));
    let got = read(slice, room, frame, ReadWriteFlags::empty(), out)?;
    *warm -= got as u64;
    Ok(got)
}

/// Frames that one read fills.
const FRAMES: usize = 4;

/// Reads the next bytes of a file, at most `room` and what is left of it, into frames of `frame` bytes. How many.
fn read(
    slice: &mut FileSlice,
    room: usize,
    frame: usize,
    flags: ReadWriteFlags,
    out: &mut Vec<u8>,
) -> rustix::io::Result<usize> {
    let len = slice.len.min(room.min(FRAMES * frame) as u64) as usize;
    let start = out.len();
    out.resize(start + framed(len, frame), 0);
    let mut frames = out[start..].chunks_mut(frame + FRAME_HEADER);
    let mut pieces: [IoSliceMut<'_>; FRAMES] = std::array::from_fn(|_| {
        let piece = frames.next().unwrap_or_default();
        let len = piece.len().min(frame);
        IoSliceMut::new(&mut piece[..len])
    });
    let count = len.div_ceil(frame);
    let read = preadv2(&*slice.file, &mut pieces[..count], slice.offset, flags);
    let got = *read.as_ref().unwrap_or(&0);
    out.truncate(start + framed(got, frame));
    slice.offset += got as u64;
    slice.len -= got as u64;
    read
}

/// What `len` bytes in frames of `frame` bytes take, with the headers between them.
fn framed(len: usize, frame: usize) -> usize {
    len + len.div_ceil(frame).saturating_sub(1) * FRAME_HEADER
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::sync::Arc;

    #[test]
    fn a_file_is_read_into_frames_with_room_for_their_headers() {
        let content: Vec<u8> = (0..1000).map(|at| at as u8).collect();
        let path = std::env::temp_dir().join(format!("hayami-frames-{}", std::process::id()));
        File::create_new(&path).expect("made").write_all(&content).expect("written");
        let file = Arc::new(File::open(&path).expect("opened"));
        std::fs::remove_file(&path).expect("removed");
        for (len, room, want) in
            [(1000, 300, 300), (1000, 50, 50), (1000, 9999, 400), (250, 999, 250), (100, 999, 100)]
        {
            let mut slice = FileSlice { file: Arc::clone(&file), offset: 0, len };
            let mut out = vec![b'!'];
            let got = read(&mut slice, room, 100, ReadWriteFlags::empty(), &mut out).expect("read");
            assert_eq!((got, slice.offset, slice.len), (want, want as u64, len - want as u64));
            let frames: Vec<u8> =
                out[1..].chunks(109).flat_map(|frame| &frame[..frame.len().min(100)]).copied().collect();
            assert_eq!(frames, content[..want], "{len} {room}");
        }
        // What is not there any more is not made up.
        let mut slice = FileSlice { file, offset: 900, len: 1000 };
        let mut out = Vec::new();
        assert_eq!(read(&mut slice, 400, 90, ReadWriteFlags::empty(), &mut out), Ok(100));
        assert_eq!(out.len(), 100 + FRAME_HEADER);
    }
}
