//! Content of requests whose length is not known when they begin: applications want to know it
//! (CONTENT_LENGTH, RFC 3875 §4.1.2), so it is collected first, in memory or in a file without a name.

use hayami_http::{Source, SourceError, Status};
use hayami_net::blocking::{self, Lane};
use hayami_net::{ByteBudget, ByteShare};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Octets that are collected in memory.
const IN_MEMORY: usize = 64 * 1024;

/// Content that is complete.
pub(super) struct Spooled {
    /// What stands in the file, if there is more than fits into memory.
    file: Option<File>,
    /// What the file has of the bytes of all such files.
    share: ByteShare,
    /// What stands behind it.
    memory: Vec<u8>,
    length: u64,
    at: u64,
}

/// Why content was not collected.
#[derive(Debug)]
pub(super) enum Failure {
    /// It broke off.
    Content(SourceError),
    /// All such files together may have no more bytes.
    Full,
    /// The disk does not take it.
    Disk(io::Error),
}

impl Failure {
    /// The status for the client, if its own content is not at fault (RFC 9110 §15.6.4, RFC 4918 §11.5).
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Full => Status::SERVICE_UNAVAILABLE,
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
            Self::Full => {
                f.write_str("too much content of requests is in temporary files (limit-request-spool)")
            }
            Self::Disk(error) => write!(f, "it cannot be kept on disk: {error}"),
        }
    }
}

impl Spooled {
    /// Collects `source` to its end; what goes to the disk is taken from `budget`.
    ///
    /// # Errors
    /// It broke off, or there is no room for it.
    pub(super) async fn collect(mut source: impl Source, budget: &Arc<ByteBudget>) -> Result<Self, Failure> {
        let mut all = Self { file: None, share: budget.share(), memory: Vec::new(), length: 0, at: 0 };
        loop {
            let room = IN_MEMORY - all.memory.len().min(IN_MEMORY - 1);
            let filled = std::future::poll_fn(|cx| source.fill(cx, room, &mut all.memory)).await;
            if filled.map_err(Failure::Content)? {
                break;
            }
            if all.memory.len() >= IN_MEMORY {
                all = all.swap_out().await?;
            }
        }
        all.length += all.memory.len() as u64;
        Ok(all)
    }

    /// Has what is in memory written to the file.
    async fn swap_out(mut self) -> Result<Self, Failure> {
        if !self.share.resize(self.length + self.memory.len() as u64) {
            return Err(Failure::Full);
        }
        let task = move || {
            let mut file = match self.file.take() {
                Some(file) => file,
                None => nameless()?,
            };
            file.write_all(&self.memory)?;
            self.length += self.memory.len() as u64;
            self.memory.clear();
            self.file = Some(file);
            Ok(self)
        };
        let written: io::Result<Self> = blocking::run(Lane::Spool, task).await.flatten();
        written.map_err(Failure::Disk)
    }
}

/// A file in the folder for such, without a name: it is gone when it is closed.
fn nameless() -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let opened = rustix::fs::open(std::env::temp_dir(), flags, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(opened))
}

impl Source for Spooled {
    fn fill(
        &mut self,
        _: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let in_file = self.length - self.memory.len() as u64;
        let (start, room) = (out.len(), room.min(IN_MEMORY));
        if let (Some(file), true) = (&self.file, self.at < in_file) {
            // The smaller first: what is left may be more than a usize holds.
            out.resize(start + (in_file - self.at).min(room as u64) as usize, 0);
            // It was written a moment ago: it is in the kernel's memory.
            let read = file.read_at(&mut out[start..], self.at);
            out.truncate(start + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Poll::Ready(Err(SourceError("its file is shorter than it was".to_owned()))),
                Ok(octets) => self.at += octets as u64,
                Err(error) => {
                    return Poll::Ready(Err(SourceError(format!("it cannot be read again: {error}"))));
                }
            }
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

    /// Gives so many octets, in pieces of 1000.
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

    #[test]
    fn content_is_the_same_in_memory_and_on_disk() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        for octets in [0, 1, 65_535, 65_536, 65_537, 300_000] {
            let budget = Arc::new(ByteBudget::new(300_000));
            let mut spooled =
                runtime.block_on(Spooled::collect(Counting(0, octets), &budget)).expect("no error");
            assert_eq!(spooled.length(), Some(octets as u64));
            let (mut out, mut cx) = (Vec::new(), Context::from_waker(std::task::Waker::noop()));
            while let Poll::Ready(Ok(false)) = spooled.fill(&mut cx, 40_000, &mut out) {}
            assert!(out.iter().enumerate().all(|(at, octet)| *octet == (at % 251) as u8));
            assert_eq!(out.len(), octets);
        }
    }

    #[test]
    fn a_file_beyond_32_bits_is_read_in_pieces_as_any() {
        for length in [1_u64 << 32, (1 << 32) + 1, 5 << 30] {
            let file = nameless().expect("a file");
            file.set_len(length).expect("a sparse one");
            let share = Arc::<ByteBudget>::default().share();
            let mut spooled = Spooled { file: Some(file), share, length, memory: Vec::new(), at: 0 };
            let (mut out, mut cx) = (Vec::new(), Context::from_waker(std::task::Waker::noop()));
            for _ in 0..2 {
                assert!(
                    matches!(spooled.fill(&mut cx, 40_000, &mut out), Poll::Ready(Ok(false))),
                    "{length}"
                );
            }
            assert_eq!((out.len(), spooled.at), (80_000, 80_000), "{length}");
        }
    }

    #[test]
    fn all_files_together_have_no_more_bytes_than_was_configured() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let budget = Arc::new(ByteBudget::new(200_000));
        let collect = |octets| runtime.block_on(Spooled::collect(Counting(0, octets), &budget));
        let first = collect(150_000).expect("it fits");
        assert!(matches!(collect(150_000), Err(Failure::Full)));
        assert!(collect(60_000).is_ok(), "this needs no file");
        drop(first);
        assert!(collect(150_000).is_ok());
    }

    #[test]
    fn failures_have_their_statuses() {
        let disk = |errno: Errno| Failure::Disk(errno.into());
        let cases = [
            (Failure::Full, 503),
            (disk(Errno::NOSPC), 507),
            (disk(Errno::BUSY), 503),
            (disk(Errno::IO), 500),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.status().code(), code, "{failure}");
        }
    }
}
