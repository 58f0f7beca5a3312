//! The output queue of a connection: keeps the order, so that all responses of a turn leave in one write.
//!
//! Heads and small content are copied into one buffer. Larger content in memory is not copied but gathered by the
//! write. File content is sent with `sendfile`; the head in front of it is held back with `MSG_MORE` so that both
//! share a segment.

use crate::buffer::Pool;
use crate::cold;
use crate::transport::Transport;
use crate::turn_budget::{TurnBudget, cost};
use hayami_http::{Content, FileSlice, Shared};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::{Poll, ready};

/// Content up to this size is copied behind its head: copying 8 KB costs less than gathering it.
pub(crate) const COPY_SIZE: usize = 8 * 1024;
/// Response bytes that may wait for the client to read before its further requests are left unanswered and streamed
/// content is no longer pulled.
pub(crate) const ROOM: usize = 64 * 1024;
/// Likewise for large pieces: a client that requests many of them and reads none costs little memory.
const MOST_PIECES: usize = 32;
/// Maximum number of pieces gathered by one write.
const GATHER: usize = 16;
/// Bytes of file content handed to the kernel in one turn before other connections get theirs. A turn of this size
/// takes about half a millisecond on a fast machine.
const FILE_TURN: u64 = 4 * 1024 * 1024;

/// Bytes and pieces queued for sending.
#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    /// Bytes of the buffer that are already sent.
    sent: usize,
    /// Pieces that are not in the buffer, each with the buffer offset it precedes.
    #[expect(clippy::box_collection, reason = "one pointer in each of many idle connections")]
    pieces: Option<Box<VecDeque<(usize, Piece)>>>,
    /// Total bytes ever queued, and ever sent.
    put: u64,
    left: u64,
}

#[derive(Debug)]
enum Piece {
    Shared(Shared),
    File {
        slice: FileSlice,
        /// Bytes at the front that are known to be in the page cache.
        warm: u64,
    },
}

/// Result of [`Output::flush`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// Everything was sent.
    All,
    /// The share of this turn was sent; the rest follows in the next turn.
    Share,
    /// The next piece is not in the page cache; see [`Output::cold`].
    Cold,
}

impl Output {
    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.put == self.left
    }

    /// Queued bytes in this connection's own memory.
    fn held(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether nothing more should be queued until some of it is sent.
    pub fn is_full(&self) -> bool {
        self.held() >= ROOM || self.pieces.as_ref().is_some_and(|pieces| pieces.len() >= MOST_PIECES)
    }

    /// Whether nothing more may be queued at all, not even replies to the peer's frames.
    pub fn is_overfull(&self) -> bool {
        self.held() >= 4 * ROOM
    }

    /// Bytes of streamed content that may be queued.
    pub fn room(&self) -> usize {
        ROOM.saturating_sub(self.held())
    }

    /// Number of bytes ever queued: the position of the next one.
    pub fn position(&self) -> u64 {
        self.put
    }

    /// Number of bytes ever handed to the kernel.
    pub fn sent(&self) -> u64 {
        self.left
    }

    /// Lets `write` append to the buffer, or remove what was appended since the last flush. Returns the result of
    /// `write`.
    pub fn write<T>(&mut self, pool: &Pool, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        let before = self.bytes.len();
        let result = write(&mut self.bytes);
        self.put = self.put + self.bytes.len() as u64 - before as u64;
        result
    }

    /// Queues content. Returns the source if the content is a stream, which has to be pulled instead.
    pub fn put(&mut self, pool: &Pool, content: Content) -> Option<Box<dyn hayami_http::Source>> {
        match content {
            Content::Empty => {}
            Content::Shared(shared) if shared.len() <= COPY_SIZE => {
                self.write(pool, |out| out.extend_from_slice(shared.as_slice()));
            }
            Content::Shared(shared) => self.push(shared.len() as u64, Piece::Shared(shared)),
            Content::File(slice) if slice.len > 0 => self.push(slice.len, Piece::File { slice, warm: 0 }),
            Content::File(_) => {}
            Content::Parts(parts) => {
                for part in parts {
                    let stream = self.put(pool, part);
                    debug_assert!(stream.is_none(), "parts are not streams");
                }
            }
            Content::Stream(source) => return Some(source),
        }
        None
    }

    fn push(&mut self, len: u64, piece: Piece) {
        self.put += len;
        self.pieces.get_or_insert_default().push_back((self.bytes.len(), piece));
    }

    /// Sends as much as the socket accepts, at most one turn's share.
    ///
    /// # Errors
    /// The peer is gone, or a file became shorter than its head announced.
    #[inline]
    pub fn flush(
        &mut self,
        pool: &Pool,
        transport: &mut Transport,
        budget: &TurnBudget,
    ) -> Poll<io::Result<Flushed>> {
        let share_ends = self.left + FILE_TURN;
        while !self.is_empty() {
            if self.is_cold() {
                return Poll::Ready(Ok(Flushed::Cold));
            }
            let sent = ready!(self.send_some(pool, transport))?;
            self.advance(sent);
            // Checked after the write, so that ready output leaves in its own turn even if the budget is used up.
            let goes_on = budget.spend(cost::SYSTEM_CALL) && self.left < share_ends;
            if !goes_on && !self.is_empty() {
                return Poll::Ready(Ok(Flushed::Share));
            }
        }
        self.bytes.clear();
        self.sent = 0;
        ready!(transport.flush())?;
        Poll::Ready(Ok(Flushed::All))
    }

    /// Returns the buffer to the pool even if it holds data: the connection has ended.
    pub fn end(&mut self, pool: &Pool) {
        pool.give(std::mem::take(&mut self.bytes));
        *self = Self::default();
    }

    /// Returns the buffer to the pool if nothing is queued.
    pub fn release(&mut self, pool: &Pool) {
        if self.is_empty() && self.bytes.capacity() > 0 {
            self.bytes.clear();
            self.sent = 0;
            pool.give(std::mem::take(&mut self.bytes));
            self.pieces = None;
        }
    }

    /// The piece of a file that has to be read into the page cache before it can be sent.
    pub fn cold(&self) -> Option<FileSlice> {
        match self.first_piece()? {
            (_, Piece::File { slice, .. }) => Some(share(slice)),
            (_, Piece::Shared(_)) => None,
        }
    }

    /// Notes that the piece returned by [`cold`](Self::cold) is now in the page cache.
    pub fn warmed(&mut self) {
        if let Some((_, Piece::File { slice, warm })) = self.pieces.as_mut().and_then(|p| p.front_mut()) {
            *warm = share(slice).len;
        }
    }

    /// Whether the next piece is file content that is not in the page cache.
    #[inline]
    fn is_cold(&mut self) -> bool {
        let Some(pieces) = &mut self.pieces else { return false };
        match pieces.front_mut() {
            Some((at, Piece::File { slice, warm })) if *at == self.sent && *warm == 0 => {
                let next = share(slice);
                *warm = if cold::is_resident(&next) { next.len } else { 0 };
                *warm == 0
            }
            _ => false,
        }
    }

    #[inline]
    fn send_some(&self, pool: &Pool, transport: &mut Transport) -> Poll<io::Result<usize>> {
        match self.first_piece() {
            None => transport.send(pool, &self.bytes[self.sent..], false),
            Some((at, Piece::File { slice, warm })) if *at == self.sent => {
                if slice.len > *warm {
                    transport.hold_back();
                }
                let sent = ready!(transport.sendfile(pool, slice, *warm))?;
                Poll::Ready(if sent == 0 { Err(shorter()) } else { Ok(sent) })
            }
            Some((at, Piece::File { .. })) => transport.send(pool, &self.bytes[self.sent..*at], true),
            Some((_, Piece::Shared(_))) => self.gather(pool, transport),
        }
    }

    #[inline]
    fn first_piece(&self) -> Option<&(usize, Piece)> {
        self.pieces.as_ref()?.front()
    }

    /// Sends the buffer and the in-memory pieces between its parts, up to the next file.
    fn gather(&self, pool: &Pool, transport: &mut Transport) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); GATHER];
        let mut count = 0;
        let mut from = self.sent;
        let mut file_follows = false;
        let mut all = true;
        for (at, piece) in self.pieces.iter().flat_map(|pieces| pieces.iter()) {
            if count + 2 > GATHER {
                all = false;
                break;
            }
            slices[count] = IoSlice::new(&self.bytes[from..*at]);
            count += 1;
            from = *at;
            let Piece::Shared(shared) = piece else {
                file_follows = true;
                break;
            };
            slices[count] = IoSlice::new(shared.as_slice());
            count += 1;
        }
        if all && !file_follows && count < GATHER {
            slices[count] = IoSlice::new(&self.bytes[from..]);
            count += 1;
        }
        transport.send_vectored(pool, &slices[..count], file_follows || !all)
    }

    /// Removes `sent` bytes from the front.
    fn advance(&mut self, mut sent: usize) {
        self.left += sent as u64;
        while sent > 0 {
            let copied_end = self.first_piece().map_or(self.bytes.len(), |(at, _)| *at);
            let copied = sent.min(copied_end - self.sent);
            self.sent += copied;
            sent -= copied;
            if sent > 0 {
                sent -= self.advance_piece(sent);
            }
        }
    }

    /// Removes up to `sent` bytes from the first piece; returns how many it had.
    fn advance_piece(&mut self, sent: usize) -> usize {
        let Some(pieces) = &mut self.pieces else { return sent };
        let Some((_, piece)) = pieces.front_mut() else { return sent };
        let (taken, empty) = piece.advance(sent);
        if empty {
            pieces.pop_front();
        }
        taken
    }
}

impl Piece {
    fn advance(&mut self, bytes: usize) -> (usize, bool) {
        match self {
            Self::Shared(shared) => {
                let taken = bytes.min(shared.len());
                *shared = shared.slice(taken, shared.len() - taken);
                (taken, shared.is_empty())
            }
            Self::File { slice, warm } => {
                let taken = (bytes as u64).min(slice.len);
                slice.offset += taken;
                slice.len -= taken;
                *warm = warm.saturating_sub(taken);
                (taken as usize, slice.len == 0)
            }
        }
    }
}

/// The part of a file that one turn sends.
fn share(slice: &FileSlice) -> FileSlice {
    FileSlice { len: slice.len.min(FILE_TURN), ..slice.clone() }
}

#[cold]
fn shorter() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file was truncated while it was being sent")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Socket;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    /// A temporary file with this content, already unlinked.
    fn file(content: &[u8]) -> FileSlice {
        let name = format!("hayami-output-{}-{:p}", std::process::id(), content);
        let path = std::env::temp_dir().join(name);
        std::fs::File::create(&path).expect("a file").write_all(content).expect("written");
        let file = Arc::new(std::fs::File::open(&path).expect("open"));
        std::fs::remove_file(&path).expect("removed");
        FileSlice { file, offset: 0, len: content.len() as u64 }
    }

    /// Sends everything while another thread reads it.
    fn send(mut output: Output) -> Vec<u8> {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            theirs.read_to_end(&mut all).expect("read");
            all
        });
        ours.set_nonblocking(true).expect("set");
        let mut transport = Transport::new(Socket::new(ours.into()), None);
        let budget = TurnBudget::default();
        while !output.is_empty() {
            budget.begin();
            match output.flush(&Pool::default(), &mut transport, &budget) {
                Poll::Ready(result) => drop(result.expect("sent")),
                Poll::Pending => transport.socket().may_write(),
            }
        }
        drop(transport);
        reader.join().expect("joined")
    }

    #[test]
    fn copied_shared_and_file_pieces_leave_in_the_order_in_which_they_came() {
        let pool = Pool::default();
        let big = vec![b'b'; COPY_SIZE + 1];
        let mut want = Vec::new();
        let mut output = Output::default();
        for round in 0..12_u8 {
            let head = vec![b'0' + round; 5];
            output.write(&pool, |out| out.extend_from_slice(&head));
            want.extend_from_slice(&head);
            let content = match round % 4 {
                0 => Content::Shared(Shared::from(big.clone())),
                1 => Content::File(file(&big)),
                2 => Content::from(b"small".to_vec()),
                _ => Content::Parts(vec![
                    Content::File(file(b"part")),
                    Content::Shared(Shared::from(big.clone())),
                ]),
            };
            want.extend_from_slice(match round % 4 {
                0 | 1 => &big,
                2 => b"small",
                _ => b"part",
            });
            if round % 4 == 3 {
                want.extend_from_slice(&big);
            }
            assert!(output.put(&pool, content).is_none());
        }
        assert_eq!(output.position(), want.len() as u64);
        assert!(send(output) == want);
    }

    #[test]
    fn many_shared_pieces_leave_in_several_writes() {
        let pool = Pool::default();
        let mut output = Output::default();
        for _ in 0..40 {
            output.put(&pool, Content::Shared(Shared::from(vec![b'x'; COPY_SIZE + 1])));
        }
        output.write(&pool, |out| out.push(b'!'));
        let got = send(output);
        assert_eq!(got.len(), 40 * (COPY_SIZE + 1) + 1);
        assert_eq!(got.last(), Some(&b'!'));
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error() {
        let mut slice = file(b"ten bytes");
        slice.len = 20;
        let mut output = Output::default();
        output.put(&Pool::default(), Content::File(slice));
        let (ours, _theirs) = UnixStream::pair().expect("a pair of sockets");
        let mut transport = Transport::new(Socket::new(ours.into()), None);
        let flushed = output.flush(&Pool::default(), &mut transport, &TurnBudget::default());
        let Poll::Ready(Err(error)) = flushed else { panic!("an error was expected") };
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
