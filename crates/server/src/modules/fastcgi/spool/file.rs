//! The file of one request's content: written by threads, and read on the event loop if it is in the kernel's memory.

use hayami_net::blocking::{self, Lane, Task};
use hayami_net::would_wait;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::{self, ErrorKind, IoSliceMut, Write};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// An unnamed file.
pub(super) struct SpoolFile {
    file: Arc<File>,
    /// A read on a thread, where the event loop would have to wait for the disk.
    reading: Option<Task<io::Result<Vec<u8>>>>,
}

impl From<File> for SpoolFile {
    fn from(file: File) -> Self {
        Self { file: Arc::new(file), reading: None }
    }
}

impl SpoolFile {
    /// Appends `content` to the file, or to a new one, on a thread.
    ///
    /// # Errors
    /// Creating or writing the file failed.
    pub(super) async fn append(file: Option<Self>, content: Vec<u8>) -> io::Result<Self> {
        let task = move || {
            let file = file.map_or_else(nameless, Ok)?;
            (&*file.file).write_all(&content)?;
            Ok(file)
        };
        blocking::run(Lane::Spool, task).await.flatten()
    }

    /// Appends at most `room` bytes from offset `at` to `out`. Returns how many: at least one, if there is room.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        at: u64,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        if self.reading.is_none() {
            match self.read_now(at, room, out) {
                Ok(bytes) if bytes > 0 || room == 0 => return Poll::Ready(Ok(bytes)),
                // The thread finds out whether it is the end.
                Ok(_) => {}
                Err(errno) if would_wait(errno) || errno == Errno::INTR => {}
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
        let file = &self.file;
        let reading = self.reading.get_or_insert_with(|| read_later(Arc::clone(file), at, room));
        let read = ready!(Pin::new(reading).poll(cx)).flatten();
        self.reading = None;
        Poll::Ready(read.map(|piece| {
            // The room may have shrunk meanwhile; the rest is read again.
            let bytes = piece.len().min(room);
            out.extend_from_slice(&piece[..bytes]);
            bytes
        }))
    }

    /// Reads what is in the kernel's memory.
    fn read_now(&self, at: u64, room: usize, out: &mut Vec<u8>) -> rustix::io::Result<usize> {
        let start = out.len();
        out.resize(start + room, 0);
        let read = preadv2(&self.file, &mut [IoSliceMut::new(&mut out[start..])], at, ReadWriteFlags::NOWAIT);
        out.truncate(start + read.unwrap_or(0));
        read
    }
}

/// Reads on a thread.
fn read_later(file: Arc<File>, at: u64, room: usize) -> Task<io::Result<Vec<u8>>> {
    blocking::run(Lane::Spool, move || {
        let mut piece = vec![0; room];
        let bytes = loop {
            match file.read_at(&mut piece, at) {
                Ok(0) => return Err(io::Error::other("its file is shorter than it was")),
                Ok(bytes) => break bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        piece.truncate(bytes);
        Ok(piece)
    })
}

/// An unnamed file in the system's temporary directory: it is deleted when it is closed.
fn nameless() -> io::Result<SpoolFile> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let opened = rustix::fs::open(std::env::temp_dir(), flags, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(opened).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::task::Waker;

    impl SpoolFile {
        /// A sparse file of this length.
        pub(in super::super) fn sparse(length: u64) -> Self {
            let file = nameless().expect("a file");
            file.file.set_len(length).expect("a sparse one");
            file
        }
    }

    #[test]
    fn what_is_not_in_memory_is_read_by_a_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let _entered = runtime.enter();
        let written = runtime.block_on(SpoolFile::append(None, vec![b'x'; 1 << 20]));
        let (mut file, mut out) = (written.expect("written"), Vec::new());
        // On disk, and evicted from memory: the kernel keeps pages that another CPU is still working on.
        file.file.sync_all().expect("synced");
        let waits = (0..1000).any(|_| {
            out.clear();
            rustix::fs::fadvise(&file.file, 0, None, rustix::fs::Advice::DontNeed).expect("evicted");
            file.poll_read(&mut Context::from_waker(Waker::noop()), 0, 60_000, &mut out).is_pending()
        });
        assert!(waits && out.is_empty(), "the event loop does not wait for the disk");
        // The room has shrunk.
        let bytes = runtime.block_on(poll_fn(|cx| file.poll_read(cx, 0, 1000, &mut out))).expect("read");
        assert_eq!((bytes, &out[..]), (1000, &[b'x'; 1000][..]));
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_an_error() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (mut file, mut out) = (SpoolFile::sparse(10), Vec::new());
        let read = runtime.block_on(poll_fn(|cx| file.poll_read(cx, 10, 1000, &mut out)));
        assert_eq!(read.expect_err("nothing is there").to_string(), "its file is shorter than it was");
    }
}
