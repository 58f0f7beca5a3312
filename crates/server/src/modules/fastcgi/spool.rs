//! Content of requests whose length is not known when they begin: applications want to know it
//! (CONTENT_LENGTH, RFC 3875 §4.1.2), so it is collected first, in memory or in a file without a name.

use hayami_http::{Source, SourceError};
use hayami_net::blocking::{self, Lane};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::task::{Context, Poll};

/// Octets that are collected in memory.
const IN_MEMORY: usize = 64 * 1024;

/// Content that is complete.
#[derive(Default)]
pub(super) struct Spooled {
    /// What stands in the file, if there is more than fits into memory.
    file: Option<File>,
    /// What stands behind it.
    memory: Vec<u8>,
    length: u64,
    at: u64,
}

impl Spooled {
    /// Collects `source` to its end.
    ///
    /// # Errors
    /// It broke off, or the disk does not take it.
    pub(super) async fn collect(mut source: impl Source) -> Result<Self, SourceError> {
        let mut all = Self::default();
        loop {
            let room = IN_MEMORY - all.memory.len().min(IN_MEMORY - 1);
            let filled = std::future::poll_fn(|cx| source.fill(cx, room, &mut all.memory)).await?;
            if filled {
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
    async fn swap_out(mut self) -> Result<Self, SourceError> {
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
        let written: std::io::Result<Self> = blocking::run(Lane::Spool, task).await.flatten();
        written.map_err(|error| SourceError(format!("it cannot be kept on disk: {error}")))
    }
}

/// A file in the folder for such, without a name: it is gone when it is closed.
fn nameless() -> std::io::Result<File> {
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
            let mut spooled = runtime.block_on(Spooled::collect(Counting(0, octets))).expect("no error");
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
            let mut spooled = Spooled { file: Some(file), length, memory: Vec::new(), at: 0 };
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
}
