//! Buffers request content of unknown length: applications need the length first (CONTENT_LENGTH, RFC 3875 §4.1.2).
//! It is kept in memory or in an unnamed file.

mod file;

use crate::modules::upstreams::{Client, NoRoom, SpoolShare, Uploads};
use file::SpoolFile;
use hayami_http::{Source, SourceError, Status};
use hayami_net::{ByteShare, blocking};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes buffered in memory.
const IN_MEMORY: usize = 64 * 1024;
/// The part granted to every request. The rest counts towards `limit-request-memory`, in steps of this size.
const FREE: usize = 16 * 1024;

/// The buffer space of one request.
pub(super) struct Room {
    uploads: Arc<Uploads>,
    client: Client,
    /// Its share of the memory of all requests.
    memory: ByteShare,
    /// Its share of the spool.
    disk: Option<SpoolShare>,
}

impl Room {
    /// For a request of `client`.
    pub(super) fn new(uploads: Arc<Uploads>, client: Client) -> Self {
        let memory = uploads.memory.share();
        Self { uploads, client, memory, disk: None }
    }

    /// The bytes it may hold in memory.
    fn in_memory(&self) -> usize {
        FREE + self.memory.bytes() as usize
    }

    /// Reserves more memory; returns whether there is any.
    fn grow_memory(&mut self) -> bool {
        self.in_memory() < IN_MEMORY && self.memory.resize(self.memory.bytes() + FREE as u64)
    }

    /// Reserves `more` bytes of the spool.
    fn grow_disk(&mut self, more: u64) -> Result<(), NoRoom> {
        self.disk.get_or_insert_with(|| self.uploads.spool.share(self.client)).grow(more)
    }

    /// Releases all memory.
    fn give_memory_back(&mut self) {
        // Shrinking always succeeds.
        let _ = self.memory.resize(0);
    }
}

/// Completely buffered content.
pub(super) struct Spooled {
    /// The beginning, if the content does not fit into memory.
    file: Option<SpoolFile>,
    /// The rest, which follows the file's.
    memory: Vec<u8>,
    room: Room,
    length: u64,
    at: u64,
}

/// Why content was not buffered.
#[derive(Debug)]
pub(super) enum Failure {
    /// It broke off.
    Content(SourceError),
    /// The spool is exhausted.
    NoRoom(NoRoom),
    /// Writing to the file failed.
    Disk(io::Error),
}

impl Failure {
    /// The status for the client, if its content is not at fault (RFC 9110 §15.6.4, RFC 4918 §11.5).
    pub(super) fn status(&self) -> Status {
        match self {
            Self::NoRoom(_) => Status::SERVICE_UNAVAILABLE,
            Self::Disk(error) if blocking::is_refused(error) => Status::SERVICE_UNAVAILABLE,
            Self::Disk(error) if is_full(error) => Status::INSUFFICIENT_STORAGE,
            Self::Disk(_) | Self::Content(_) => Status::INTERNAL_SERVER_ERROR,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(error) => error.fmt(f),
            Self::NoRoom(NoRoom::Full) => {
                f.write_str("the temporary files for request content are full (limit-request-spool)")
            }
            Self::NoRoom(NoRoom::Evicted) => f.write_str(
                "the temporary files for request content are full, and smaller uploads need room \
                 (limit-request-spool)",
            ),
            Self::Disk(error) => write!(f, "it cannot be written to disk: {error}"),
        }
    }
}

impl Spooled {
    /// Buffers `source` to its end.
    ///
    /// # Errors
    /// It broke off, or there is no space for it.
    pub(super) async fn collect(mut source: impl Source, room: Room) -> Result<Self, Failure> {
        let mut all = Self { file: None, memory: Vec::new(), room, length: 0, at: 0 };
        loop {
            let left = all.room.in_memory() - all.memory.len();
            let filled = std::future::poll_fn(|cx| all.poll_fill(cx, &mut source, left)).await;
            if filled? {
                break;
            }
            if all.memory.len() >= all.room.in_memory() {
                all = all.make_room().await?;
            }
        }
        all.length += all.memory.len() as u64;
        if let Some(disk) = &mut all.room.disk {
            disk.complete().map_err(Failure::NoRoom)?;
        }
        Ok(all)
    }

    fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut impl Source,
        room: usize,
    ) -> Poll<Result<bool, Failure>> {
        if let Some(disk) = &mut self.room.disk
            && disk.poll_evicted(cx).is_ready()
        {
            return Poll::Ready(Err(Failure::NoRoom(NoRoom::Evicted)));
        }
        source.fill(cx, room, &mut self.memory).map_err(Failure::Content)
    }

    /// Reserves more memory, or moves the content in memory to the file.
    async fn make_room(mut self) -> Result<Self, Failure> {
        if self.room.grow_memory() {
            self.memory.reserve_exact(FREE);
            return Ok(self);
        }
        let written = self.memory.len() as u64;
        self.room.grow_disk(written).map_err(Failure::NoRoom)?;
        let memory = std::mem::take(&mut self.memory);
        let file = SpoolFile::append(self.file.take(), memory).await;
        self.file = Some(file.map_err(Failure::Disk)?);
        self.length += written;
        self.room.give_memory_back();
        Ok(self)
    }
}

impl Source for Spooled {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let in_file = self.length - self.memory.len() as u64;
        let room = room.min(IN_MEMORY);
        if let (Some(file), true) = (&mut self.file, self.at < in_file) {
            // Compare as u64: the rest of the file may exceed a usize.
            let room = (in_file - self.at).min(room as u64) as usize;
            let read = std::task::ready!(file.poll_read(cx, self.at, room, out));
            let bytes = read.map_err(|error| SourceError(format!("it cannot be read back: {error}")))?;
            self.at += bytes as u64;
        } else {
            let rest = &self.memory[(self.at - in_file) as usize..];
            let taken = rest.len().min(room);
            out.extend_from_slice(&rest[..taken]);
            self.at += taken as u64;
        }
        Poll::Ready(Ok(self.at == self.length))
    }

    fn length(&self) -> Option<u64> {
        Some(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::upstreams::Spool;
    use hayami_net::ByteBudget;
    use hayami_net::service::Address;

    /// Produces this many bytes, in pieces of 1000: bytes so far, and the total.
    struct Counting(usize, usize);

    impl Source for Counting {
        fn fill(
            &mut self,
            _: &mut Context<'_>,
            room: usize,
            out: &mut Vec<u8>,
        ) -> Poll<Result<bool, SourceError>> {
            let count = (self.1 - self.0).min(room).min(1000);
            out.extend((self.0..self.0 + count).map(|at| (at % 251) as u8));
            self.0 += count;
            Poll::Ready(Ok(self.0 == self.1))
        }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
    }

    /// Limits of memory and disk for all requests, in bytes.
    fn uploads(memory: u64, disk: u64) -> Arc<Uploads> {
        Arc::new(Uploads { memory: Arc::new(ByteBudget::new(memory)), spool: Arc::new(Spool::new(disk)) })
    }

    async fn collect(bytes: usize, uploads: &Arc<Uploads>) -> Result<Spooled, Failure> {
        let room = Room::new(Arc::clone(uploads), (&Address::Unix).into());
        Spooled::collect(Counting(0, bytes), room).await
    }

    #[test]
    fn content_is_the_same_in_memory_and_on_disk() {
        let lengths = [0, 1, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000];
        for (bytes, memory) in lengths.into_iter().flat_map(|bytes| [(bytes, 0), (bytes, 1 << 20)]) {
            runtime().block_on(async {
                let mut spooled = collect(bytes, &uploads(memory, 300_000)).await.expect("no error");
                assert_eq!(spooled.length(), Some(bytes as u64));
                let mut out = Vec::new();
                while !std::future::poll_fn(|cx| spooled.fill(cx, 40_000, &mut out)).await.expect("read") {}
                assert!(out.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8));
                assert_eq!(out.len(), bytes);
            });
        }
    }

    #[test]
    fn a_file_beyond_32_bits_is_read_in_pieces_as_any() {
        for length in [1_u64 << 32, (1 << 32) + 1, 5 << 30] {
            let room = Room::new(uploads(0, 0), (&Address::Unix).into());
            let file = Some(SpoolFile::sparse(length));
            let mut spooled = Spooled { file, room, length, memory: Vec::new(), at: 0 };
            runtime().block_on(async {
                let mut out = Vec::new();
                while out.len() < 80_000 {
                    let filled = std::future::poll_fn(|cx| spooled.fill(cx, 40_000, &mut out)).await;
                    assert!(!filled.expect("read"), "{length}");
                }
                assert_eq!(out.len() as u64, spooled.at, "{length}");
            });
        }
    }

    #[test]
    fn memory_beyond_16_kib_counts_and_content_goes_to_disk_without_it() {
        runtime().block_on(async {
            let uploads = uploads(50_000, 1 << 20);
            let first = collect(60_000, &uploads).await.expect("it fits");
            assert!(first.file.is_none() && first.room.memory.bytes() == 49_152);
            let second = collect(60_000, &uploads).await.expect("it fits");
            assert!(second.file.is_some() && second.memory.len() < FREE && second.room.memory.bytes() == 0);
            drop(first);
            assert!(collect(60_000, &uploads).await.expect("it fits").file.is_none());
        });
    }

    #[test]
    fn all_files_together_have_no_more_bytes_than_was_configured() {
        runtime().block_on(async {
            let uploads = uploads(1 << 20, 200_000);
            let first = collect(150_000, &uploads).await.expect("it fits");
            assert!(matches!(collect(150_000, &uploads).await, Err(Failure::NoRoom(NoRoom::Full))));
            assert!(collect(60_000, &uploads).await.is_ok(), "this needs no file");
            drop(first);
            assert!(collect(150_000, &uploads).await.is_ok());
        });
    }

    #[test]
    fn failures_have_their_statuses() {
        let disk = |errno: Errno| Failure::Disk(errno.into());
        let cases = [
            (Failure::NoRoom(NoRoom::Full), 503),
            (Failure::NoRoom(NoRoom::Evicted), 503),
            (disk(Errno::NOSPC), 507),
            (disk(Errno::BUSY), 503),
            (disk(Errno::IO), 500),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.status().code(), code, "{failure}");
        }
    }
}
