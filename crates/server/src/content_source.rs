//! Any content as a source: for code between content and connection that must handle every kind of content.
//!
//! It loses optimizations for other kinds: files pass through this process. So it is used for few responses.

use hayami_http::{Content, FieldSection, FileSlice, Shared, Source, SourceError};
use hayami_net::blocking::{self, Lane, Task};
use hayami_net::would_wait;
use rustix::io::{ReadWriteFlags, preadv2};
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Bytes of a file to read at once.
const BLOCK: usize = 64 * 1024;

/// A source for any content.
pub(crate) struct ContentSource {
    /// The remaining pieces, the next one last.
    pieces: Vec<Piece>,
    length: Option<u64>,
    trailers: Option<FieldSection>,
}

enum Piece {
    Shared(Shared),
    File(FileSlice),
    /// Another thread is reading the block at the beginning of the slice.
    Reading(FileSlice, Task<io::Result<Vec<u8>>>),
    Stream(Box<dyn Source>),
}

type Filled = Result<(), SourceError>;

impl ContentSource {
    pub(crate) fn new(content: Content) -> Self {
        let mut source = Self { pieces: Vec::new(), length: content.len(), trailers: None };
        source.push(content);
        source.pieces.reverse();
        source
    }

    fn push(&mut self, content: Content) {
        match content {
            Content::Empty => {}
            Content::Shared(bytes) => self.pieces.extend((!bytes.is_empty()).then_some(Piece::Shared(bytes))),
            Content::File(slice) => self.pieces.extend((slice.len > 0).then_some(Piece::File(slice))),
            Content::Parts(parts) => parts.into_iter().for_each(|part| self.push(part)),
            Content::Stream(source) => self.pieces.push(Piece::Stream(source)),
        }
    }

    /// Appends some of the next piece, and puts back the rest.
    fn fill_from(
        &mut self,
        piece: Piece,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Filled> {
        match piece {
            Piece::Shared(bytes) => {
                let count = bytes.len().min(room);
                out.extend_from_slice(&bytes.as_slice()[..count]);
                if count < bytes.len() {
                    self.pieces.push(Piece::Shared(bytes.slice(count, bytes.len() - count)));
                }
                Poll::Ready(Ok(()))
            }
            Piece::File(slice) => self.read(slice, cx, room, out),
            Piece::Reading(slice, task) => self.finish_read(slice, task, cx),
            Piece::Stream(mut source) => {
                let filled = source.fill(cx, room, out);
                match filled {
                    Poll::Ready(Ok(true)) => self.trailers = source.trailers(),
                    _ => self.pieces.push(Piece::Stream(source)),
                }
                filled.map_ok(|_| ())
            }
        }
    }

    /// Reads what is in the kernel's memory; otherwise another thread reads from disk.
    fn read(
        &mut self,
        slice: FileSlice,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Filled> {
        let start = out.len();
        out.resize(start + room.min(block(&slice)), 0);
        let read = {
            let mut buffers = [IoSliceMut::new(&mut out[start..])];
            preadv2(&*slice.file, &mut buffers, slice.offset, ReadWriteFlags::NOWAIT)
        };
        out.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(count) => Poll::Ready(self.advance(slice, count)),
            Err(error) if would_wait(error) => {
                let (file, offset, len) = (slice.file.clone(), slice.offset, block(&slice));
                let task = blocking::run(Lane::Files, move || {
                    let mut bytes = vec![0; len];
                    let count = file.read_at(&mut bytes, offset)?;
                    bytes.truncate(count);
                    Ok(bytes)
                });
                self.finish_read(slice, task, cx)
            }
            Err(error) => Poll::Ready(Err(broken(&error.into()))),
        }
    }

    fn finish_read(
        &mut self,
        slice: FileSlice,
        mut task: Task<io::Result<Vec<u8>>>,
        cx: &mut Context<'_>,
    ) -> Poll<Filled> {
        let Poll::Ready(read) = Pin::new(&mut task).poll(cx) else {
            self.pieces.push(Piece::Reading(slice, task));
            return Poll::Pending;
        };
        let bytes = read.flatten().map_err(|error| broken(&error))?;
        self.advance(slice, bytes.len())?;
        self.pieces.push(Piece::Shared(bytes.into()));
        Poll::Ready(Ok(()))
    }

    /// Puts back the rest of a slice behind these bytes.
    fn advance(&mut self, slice: FileSlice, count: usize) -> Filled {
        if count == 0 {
            return Err(SourceError("a file was truncated while it was being sent".to_owned()));
        }
        let (offset, len) = (slice.offset + count as u64, slice.len - count as u64);
        self.pieces.extend((len > 0).then_some(Piece::File(FileSlice { offset, len, ..slice })));
        Ok(())
    }
}

fn block(slice: &FileSlice) -> usize {
    usize::try_from(slice.len).unwrap_or(usize::MAX).min(BLOCK)
}

fn broken(error: &io::Error) -> SourceError {
    SourceError(format!("a file could not be read: {error}"))
}

impl Source for ContentSource {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        if let Some(piece) = self.pieces.pop() {
            ready!(self.fill_from(piece, cx, room, out))?;
        }
        Poll::Ready(Ok(self.pieces.is_empty()))
    }

    fn length(&self) -> Option<u64> {
        self.length
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.trailers.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::Arc;

    /// The output, read with this much room at a time, and its length.
    fn collect(content: Content, room: usize) -> (Vec<u8>, Option<u64>) {
        let mut source = ContentSource::new(content);
        let length = source.length();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let bytes = runtime.block_on(async {
            let mut all = Vec::new();
            loop {
                let before = all.len();
                let last = std::future::poll_fn(|cx| source.fill(cx, room, &mut all)).await.expect("content");
                assert!(all.len() - before <= room, "more than there is room for");
                if last {
                    return all;
                }
            }
        });
        (bytes, length)
    }

    #[test]
    fn every_kind_of_content_comes_out_whole() {
        let path = std::env::temp_dir().join(format!("hayami-content-{}", std::process::id()));
        let text: Vec<u8> = (0..200_000).map(|n| (n % 251) as u8).collect();
        std::fs::write(&path, &text).expect("written");
        let file = Arc::new(File::open(&path).expect("opened"));
        std::fs::remove_file(&path).expect("removed");
        let slice = |offset, len| Content::File(FileSlice { file: Arc::clone(&file), offset, len });
        let shared = || Content::from(b"head".to_vec());
        let whole = || Content::Stream(Box::new(ContentSource::new(slice(5, 10))));
        let parts = || Content::Parts(vec![shared(), slice(0, 199_000), Content::Empty, whole(), shared()]);
        let want = [b"head", &text[..199_000], &text[5..15], b"head"].concat();
        for room in [1000, 1 << 20] {
            assert_eq!(collect(Content::Empty, room), (Vec::new(), Some(0)));
            assert_eq!(collect(shared(), room), (b"head".to_vec(), Some(4)));
            assert_eq!(collect(slice(199_999, 1), room), (text[199_999..].to_vec(), Some(1)));
            let (bytes, length) = collect(parts(), room);
            assert!(bytes == want, "{room}");
            assert_eq!(length, Some(want.len() as u64));
        }
    }

    #[test]
    fn a_file_that_became_shorter_ends_the_content_with_an_error() {
        let path = std::env::temp_dir().join(format!("hayami-shorter-{}", std::process::id()));
        std::fs::write(&path, "four").expect("written");
        let file = Arc::new(File::open(&path).expect("opened"));
        std::fs::remove_file(&path).expect("removed");
        let mut source = ContentSource::new(Content::File(FileSlice { file, offset: 0, len: 10 }));
        let (mut cx, mut out) = (Context::from_waker(std::task::Waker::noop()), Vec::new());
        assert!(matches!(source.fill(&mut cx, 100, &mut out), Poll::Ready(Ok(false))));
        assert!(matches!(source.fill(&mut cx, 100, &mut out), Poll::Ready(Err(_))));
    }
}
