//! File content that is not in the page cache: reading it may take milliseconds, in which a worker could answer a
//! thousand requests. So the kernel is asked first, and blocking threads read uncached content.

use hayami_http::FileSlice;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;

/// Block size of these reads.
const BLOCK: usize = 64 * 1024;

/// Whether a non-blocking read (`RWF_NOWAIT`) failed because it would have to wait for a disk, or because the kernel
/// or file system does not support such reads. In both cases, a blocking thread has to read.
pub fn would_wait(error: Errno) -> bool {
    matches!(error, Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// Whether the last byte of the slice is in the page cache. Since the kernel reads ahead, the bytes before it almost
/// always are too. Returns true if the file system cannot tell.
pub(crate) fn is_resident(slice: &FileSlice) -> bool {
    let mut byte = [0];
    let last = (slice.offset + slice.len).saturating_sub(1);
    let read = preadv2(&*slice.file, &mut [IoSliceMut::new(&mut byte)], last, ReadWriteFlags::NOWAIT);
    read != Err(Errno::AGAIN)
}

/// Reads the slice into the page cache. Errors are ignored; they recur when it is sent.
pub(crate) fn read_through(slice: &FileSlice) {
    let mut block = vec![0; BLOCK];
    let end = slice.offset + slice.len;
    let mut at = slice.offset;
    while at < end {
        match slice.file.read_at(&mut block, at) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => at += bytes as u64,
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::sync::Arc;

    #[test]
    fn what_was_read_through_is_resident() {
        // Next to the test binary: directories for temporary files are often in memory.
        let tests = std::env::current_exe().expect("the tests");
        let path = tests.with_file_name(format!("hayami-cold-{}", std::process::id()));
        let mut file = File::create_new(&path).expect("made");
        file.write_all(&vec![7; 4 << 20]).and_then(|()| file.sync_all()).expect("written");
        let file = Arc::new(File::open(&path).expect("opened"));
        std::fs::remove_file(&path).expect("removed");
        rustix::fs::fadvise(&*file, 0, None, rustix::fs::Advice::DontNeed).expect("advised");
        let slice = FileSlice { file, offset: 1 << 20, len: 2 << 20 };
        if is_resident(&slice) {
            return super::skip::skip("the folder of the tests is in memory, nothing in it is ever cold");
        }
        // I/O of other programs may evict it again at once.
        let becomes_resident = |_| {
            read_through(&slice);
            is_resident(&slice)
        };
        assert!((0..100).any(becomes_resident));
    }
}
