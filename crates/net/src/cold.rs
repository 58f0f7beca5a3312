//! File content that is not in memory: reading it may take milliseconds, in which a worker could have
//! answered a thousand requests. So the kernel is asked first, and the blocking pool reads what is cold.

use hayami_http::FileSlice;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;

/// What the pool reads at once.
const BLOCK: usize = 64 * 1024;

/// Whether a read that must not wait (`RWF_NOWAIT`) failed because it would have to wait for a disk, or because the kernel or
/// the file system has no such reads. Either way, a thread has to read.
pub fn would_wait(error: Errno) -> bool {
    matches!(error, Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// Whether the last byte of the slice can be had without waiting for a disk. The kernel reads files
/// ahead, so what lies before it is there too, as good as always. Of file systems that cannot tell, yes.
pub(crate) fn is_resident(slice: &FileSlice) -> bool {
    let mut byte = [0];
    let last = (slice.offset + slice.len).saturating_sub(1);
    let read = preadv2(&*slice.file, &mut [IoSliceMut::new(&mut byte)], last, ReadWriteFlags::NOWAIT);
    read != Err(Errno::AGAIN)
}

/// Reads the slice, so that it is in memory afterwards. Errors show when it is sent.
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
        // Beside the tests themselves: folders for temporary files are often in memory.
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
        // What other programs read may push it out again at once.
        let becomes_resident = |_| {
            read_through(&slice);
            is_resident(&slice)
        };
        assert!((0..100).any(becomes_resident));
    }
}
