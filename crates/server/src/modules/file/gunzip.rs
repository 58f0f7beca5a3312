//! Decompresses NAME.gz for clients that do not accept gzip (`file.send-compressed: gunzip`).
//!
//! Small files are decompressed once and cached; others are decompressed for every response, on a thread of the
//! blocking pool, piece by piece as the client reads.

use flate2::read::MultiGzDecoder;
use hayami_http::{Source, SourceError};
use hayami_net::blocking::{self, Lane, Task};
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Most decompressed bytes that are kept in memory.
pub(super) const IN_MEMORY: usize = 256 << 10;

/// Bytes that are decompressed at a time.
const PIECE: usize = 128 << 10;

/// Decompresses all of `packed`; `None` if it is malformed or decompresses to more than `limit` bytes.
pub(super) fn unpack(packed: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(packed).take(limit as u64 + 1).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() <= limit).then_some(unpacked)
}

/// Reads a file from its start, regardless of its file offset.
struct FromStart {
    file: Arc<File>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(bytes, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// The state of a thread: the decoder, and the last piece it produced (empty at the end).
struct Work {
    decoder: MultiGzDecoder<FromStart>,
    piece: Vec<u8>,
}

impl Work {
    fn next(mut self: Box<Self>) -> io::Result<Box<Self>> {
        self.piece.clear();
        (&mut self.decoder).take(PIECE as u64).read_to_end(&mut self.piece)?;
        Ok(self)
    }
}

enum State {
    /// The piece from this index on has yet to be sent.
    Sending(Box<Work>, usize),
    Working(Task<io::Result<Box<Work>>>),
    Ended,
}

/// Streams the decompressed bytes of a gzip file.
pub(super) struct Unpacking(State);

impl Unpacking {
    pub(super) fn new(file: Arc<File>) -> Self {
        let decoder = MultiGzDecoder::new(FromStart { file, at: 0 });
        Self(State::Sending(Box::new(Work { decoder, piece: Vec::new() }), 0))
    }
}

impl Source for Unpacking {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        loop {
            match std::mem::replace(&mut self.0, State::Ended) {
                State::Sending(work, at) if at < work.piece.len() => {
                    let end = work.piece.len().min(at + room);
                    out.extend_from_slice(&work.piece[at..end]);
                    self.0 = State::Sending(work, end);
                    return Poll::Ready(Ok(false));
                }
                State::Sending(work, _) => {
                    self.0 = State::Working(blocking::run(Lane::Files, move || work.next()));
                }
                State::Working(mut task) => {
                    let Poll::Ready(done) = Pin::new(&mut task).poll(cx) else {
                        self.0 = State::Working(task);
                        return Poll::Pending;
                    };
                    let work = done.flatten().map_err(broken)?;
                    if work.piece.is_empty() {
                        return Poll::Ready(Ok(true));
                    }
                    self.0 = State::Sending(work, 0);
                }
                State::Ended => return Poll::Ready(Ok(true)),
            }
        }
    }
}

fn broken(error: io::Error) -> SourceError {
    SourceError(format!("a gzip file could not be decompressed: {error}"))
}
