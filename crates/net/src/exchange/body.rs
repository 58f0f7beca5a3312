//! The remaining content of a response, taken piece by piece as there is room.

use super::protocol::{Piece, Protocol, Reset, Room};
use super::{Exchange, Progress, Work};
use crate::blocking::{self, Lane, Task};
use crate::cold;
use crate::worker::Worker;
use hayami_http::{Content, FieldSection, FileSlice, Shared, Source};
use rustix::io::{ReadWriteFlags, preadv2};
use std::collections::VecDeque;
use std::future::Future;
use std::io::IoSliceMut;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Bytes of an uncached file that are read into the page cache at once.
const WARM: u64 = 1024 * 1024;

/// Content that is being sent.
pub(super) enum Body {
    Shared(Shared),
    /// The rest of a file, and how many bytes of it are known to be in the page cache.
    File(FileSlice, u64),
    /// The rest of a file, and the read that brings its next part into the page cache.
    Cold(FileSlice, Task<()>),
    Parts(VecDeque<Body>),
    Source(Box<dyn Source>),
}

impl Exchange {
    /// Sends one piece of content, at most as much as there is room for.
    #[inline]
    pub(crate) fn send_content<P: Protocol, S>(&mut self, protocol: &mut P, worker: &Worker<S>) -> Progress {
        let Work::Body(body) = &mut self.work else { return Progress::Pending };
        let content = self.content.as_ref();
        let waker = match content {
            Some(feed) => Some(feed.waker()),
            None => body.may_wait().then(|| protocol.waker().into_owned()),
        };
        let waker = waker.as_ref().unwrap_or(Waker::noop());
        let room = protocol.room();
        let (mut progress, mut trailers, mut broken) = (Progress::More, None, None);
        let take = |out: &mut Vec<u8>| {
            let mut piece = match content {
                Some(feed) => feed.attend(|| body.take(waker, room, out)),
                None => body.take(waker, room, out),
            };
            match &mut piece {
                Piece::Pending => progress = Progress::Pending,
                Piece::Broken(why) => broken = Some(*why),
                piece => {
                    if let Some(last) = piece.last().filter(|last| **last) {
                        (progress, trailers) = (Progress::Complete, body.trailers());
                        *last = trailers.is_none();
                    }
                }
            }
            piece
        };
        let mut written = protocol.data(take);
        self.sent += *written.as_ref().unwrap_or(&0) as u64;
        if let (Ok(_), Some(trailers)) = (&written, &trailers) {
            written = protocol.trailers(trailers).map(|()| 0);
        }
        match broken.or(written.err()) {
            Some(why) => self.break_off(protocol, worker, why),
            None if progress == Progress::Complete && self.is_heard() => {
                self.work = Work::Receive;
                Progress::HalfClosed
            }
            None => progress,
        }
    }

    #[cold]
    fn break_off<P: Protocol, S>(
        &mut self,
        protocol: &mut P,
        worker: &Worker<S>,
        why: &'static str,
    ) -> Progress {
        let (reset, why) =
            if self.tunnel { (Reset::Tunnel, "the tunnel was reset") } else { (Reset::Response, why) };
        let unsent = protocol.unsent();
        protocol.reset(reset, why);
        self.abort(&worker.clock, unsent, why);
        Progress::Broken
    }
}

impl Body {
    pub(super) fn new(content: Content) -> Self {
        match content {
            Content::Empty => Self::Parts(VecDeque::new()),
            Content::Shared(shared) => Self::Shared(shared),
            Content::File(slice) => Self::File(slice, 0),
            Content::Parts(parts) => Self::Parts(parts.into_iter().map(Self::new).collect()),
            Content::Stream(source) => Self::Source(source),
        }
    }

    /// Whether taking content may have to wait.
    fn may_wait(&self) -> bool {
        !matches!(self, Self::Shared(_))
    }

    /// The trailer section, available when the content is complete.
    fn trailers(&mut self) -> Option<FieldSection> {
        if let Self::Source(source) = self { source.trailers() } else { None }
    }

    /// Takes content as there is room for; bytes that have to be copied are appended to `out`. File content may fill
    /// several frames, with space for a header between any two of them.
    fn take(&mut self, waker: &Waker, room: Room, out: &mut Vec<u8>) -> Piece {
        match self {
            Self::Shared(shared) => {
                let len = room.bytes.min(room.frame).min(shared.len());
                let bytes = shared.slice(0, len);
                *shared = shared.slice(len, shared.len() - len);
                Piece::Shared { bytes, last: shared.is_empty() }
            }
            Self::File(slice, warm) => match read_warm(slice, warm, room, out) {
                Err(error) if *warm == 0 && cold::would_wait(error) => self.warm(waker),
                Err(_) => Piece::Broken("the file could not be read"),
                Ok(0) if slice.len > 0 => Piece::Broken("the file was truncated while it was being sent"),
                Ok(_) => Piece::Copied { last: slice.len == 0 },
            },
            Self::Cold(slice, task) => match Pin::new(task).poll(&mut Context::from_waker(waker)) {
                Poll::Pending => Piece::Pending,
                Poll::Ready(_) => {
                    let warm = slice.len.min(WARM);
                    *self = Self::File(slice.clone(), warm);
                    self.take(waker, room, out)
                }
            },
            Self::Parts(parts) => take_part(parts, waker, room, out),
            Self::Source(source) => {
                let most = room.bytes.min(room.frame);
                match source.fill(&mut Context::from_waker(waker), most, out) {
                    Poll::Pending => Piece::Pending,
                    Poll::Ready(Ok(last)) => Piece::Copied { last },
                    Poll::Ready(Err(_)) => Piece::Broken("the content ended early"),
                }
            }
        }
    }

    /// Has a blocking thread read the next part into the page cache.
    #[cold]
    fn warm(&mut self, waker: &Waker) -> Piece {
        let Self::File(slice, _) = self else { return Piece::Pending };
        let next = FileSlice { len: slice.len.min(WARM), ..slice.clone() };
        let mut task = blocking::run(Lane::Files, move || cold::read_through(&next));
        match Pin::new(&mut task).poll(&mut Context::from_waker(waker)) {
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
fn take_part(parts: &mut VecDeque<Body>, waker: &Waker, room: Room, out: &mut Vec<u8>) -> Piece {
    let Some(part) = parts.front_mut() else { return Piece::Copied { last: true } };
    let mut piece = part.take(waker, room, out);
    if let Some(last) = piece.last().filter(|last| **last) {
        parts.pop_front();
        *last = parts.is_empty();
    }
    piece
}

/// Like [`read`], but bytes known to be in the page cache are read with a blocking call: under memory pressure they
/// may have been evicted, and then the read waits.
fn read_warm(
    slice: &mut FileSlice,
    warm: &mut u64,
    room: Room,
    out: &mut Vec<u8>,
) -> rustix::io::Result<usize> {
    if *warm == 0 {
        return read(slice, room, ReadWriteFlags::NOWAIT, out);
    }
    let room = Room { bytes: room.bytes.min(usize::try_from(*warm).unwrap_or(usize::MAX)), ..room };
    let got = read(slice, room, ReadWriteFlags::empty(), out)?;
    *warm -= got as u64;
    Ok(got)
}

/// Frames that one read fills.
const FRAMES: usize = 4;

/// Reads the next bytes of a file into frames, limited by the room and what is left of the file. Returns how many.
fn read(
    slice: &mut FileSlice,
    Room { bytes, frame, header }: Room,
    flags: ReadWriteFlags,
    out: &mut Vec<u8>,
) -> rustix::io::Result<usize> {
    let len = slice.len.min(bytes.min(frame.saturating_mul(FRAMES)) as u64) as usize;
    let framed = |len: usize| len + len.div_ceil(frame).saturating_sub(1) * header;
    let start = out.len();
    out.resize(start + framed(len), 0);
    let mut frames = out[start..].chunks_mut(frame.saturating_add(header));
    let mut pieces: [IoSliceMut<'_>; FRAMES] = std::array::from_fn(|_| {
        let piece = frames.next().unwrap_or_default();
        let len = piece.len().min(frame);
        IoSliceMut::new(&mut piece[..len])
    });
    let count = len.div_ceil(frame);
    let read = preadv2(&*slice.file, &mut pieces[..count], slice.offset, flags);
    let got = *read.as_ref().unwrap_or(&0);
    out.truncate(start + framed(got));
    slice.offset += got as u64;
    slice.len -= got as u64;
    read
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
        for (len, bytes, want) in
            [(1000, 300, 300), (1000, 50, 50), (1000, 9999, 400), (250, 999, 250), (100, 999, 100)]
        {
            let mut slice = FileSlice { file: Arc::clone(&file), offset: 0, len };
            let mut out = vec![b'!'];
            let got =
                read(&mut slice, Room { bytes, frame: 100, header: 9 }, ReadWriteFlags::empty(), &mut out)
                    .expect("read");
            assert_eq!((got, slice.offset, slice.len), (want, want as u64, len - want as u64));
            let frames: Vec<u8> =
                out[1..].chunks(109).flat_map(|frame| &frame[..frame.len().min(100)]).copied().collect();
            assert_eq!(frames, content[..want], "{len} {bytes}");
        }
        // A truncated file yields only the bytes that exist.
        let mut slice = FileSlice { file, offset: 900, len: 1000 };
        let mut out = Vec::new();
        let room = Room { bytes: 400, frame: 90, header: 9 };
        assert_eq!(read(&mut slice, room, ReadWriteFlags::empty(), &mut out), Ok(100));
        assert_eq!(out.len(), 100 + 9);
    }
}
