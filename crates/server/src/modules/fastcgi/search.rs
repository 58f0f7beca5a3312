//! Finds the script below `fastcgi.document_root` for a request.
//!
//! A script must exist as a file: what only looks like one (`/upload/a.jpg/x.php`) never reaches an application, which
//! might run the file in front. The event loop looks only in the kernel's memory; otherwise a thread accesses the disk.
//! Results are valid for a second, as in the file cache.

use crate::script::{Script, joined};
use hayami_net::Instant;
use hayami_net::blocking::{self, Lane};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The extension of scripts where none is configured: anything else below a document root may be an upload of
/// untrusted users.
const EXTENSION: &[u8] = b".php";

/// The index file of a directory.
const INDEX: &[u8] = b"index.php";

/// Most files to look for per path. A legitimate path has one or two candidates.
const MOST_FILES: usize = 8;

/// How long a result is valid.
const FRESH: Duration = Duration::from_secs(1);

/// Most results that are cached, and the longest path in bytes.
const REMEMBERED: usize = 512;
const LONGEST: usize = 256;

/// Limits the threads of the process that look for scripts, so that a hanging disk does not block other uses.
static THREADS: Semaphore = Semaphore::const_new(16);

/// Looks for scripts below a directory.
pub(super) struct Search {
    root: Rc<Path>,
    known: RefCell<HashMap<Box<[u8]>, Known>>,
}

/// When the entry expires, and whether the file exists.
type Known = (Instant, bool);

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The script, or `None` if there is none.
    Known(Option<Script>),
    /// The search needs the disk.
    Unknown,
}

impl Search {
    /// Creates a search below `root`.
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.into(), known: RefCell::default() }
    }

    /// The document root.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The script for a request, if memory suffices to find it. The first `below` bytes of `path` are the path's
    /// prefix.
    pub(super) fn find(&self, path: &[u8], below: usize, now: Instant) -> Found {
        let (prefix, rest) = path.split_at(below.min(path.len()));
        for (file, info) in candidates(rest) {
            match self.is_file(&file, now) {
                Some(true) => return Found::Known(Some(self.script(prefix, &file, info))),
                Some(false) => {}
                None => return Found::Unknown,
            }
        }
        Found::Known(None)
    }

    /// Like [`find`](Self::find), on a thread that may wait for the disk.
    pub(super) async fn find_on_disk(&self, path: &[u8], below: usize, now: Instant) -> Option<Script> {
        let (prefix, rest) = path.split_at(below.min(path.len()));
        let files: Vec<_> = candidates(rest).map(|(file, _)| file.into_owned()).collect();
        let paths: Vec<_> = files.iter().map(|file| joined(&self.root, file)).collect();
        let permit = THREADS.acquire().await.ok()?;
        let looked = move || {
            let _permit = permit;
            let mut there = paths.iter().map(|path| Path::new(OsStr::from_bytes(path)).is_file());
            there.position(|there| there)
        };
        // The task does not panic, and is cancelled only at exit.
        let found = blocking::run(Lane::Files, looked).await.ok()?;
        for (index, file) in files.iter().enumerate().take(found.map_or(files.len(), |found| found + 1)) {
            self.remember(file, found == Some(index), now);
        }
        let (file, info) = candidates(rest).nth(found?)?;
        Some(self.script(prefix, &file, info))
    }

    fn script(&self, prefix: &[u8], file: &[u8], info: &[u8]) -> Script {
        Script::new(prefix, Rc::clone(&self.root), file, info)
    }

    /// Whether a file exists, if that is cached or in the kernel's memory.
    fn is_file(&self, file: &[u8], now: Instant) -> Option<bool> {
        let known = self.known.borrow().get(file).copied();
        if let Some((_, there)) = known.filter(|(until, _)| now < *until) {
            return Some(there);
        }
        let there = is_file_in_memory(&joined(&self.root, file))?;
        self.remember(file, there, now);
        Some(there)
    }

    fn remember(&self, file: &[u8], there: bool, now: Instant) {
        if file.len() > LONGEST {
            return;
        }
        let mut known = self.known.borrow_mut();
        if known.len() >= REMEMBERED && !known.contains_key(file) {
            known.retain(|_, (until, _)| now < *until);
            if known.len() >= REMEMBERED {
                known.clear();
            }
        }
        known.insert(file.into(), (now + FRESH, there));
    }
}

/// The candidate files for what follows the prefix, each with the rest of the path behind it.
fn candidates(rest: &[u8]) -> impl Iterator<Item = (Cow<'_, [u8]>, &[u8])> {
    let is_directory = rest.is_empty() || rest.ends_with(b"/");
    let index = is_directory.then(|| (Cow::Owned([rest, INDEX].concat()), &b""[..]));
    let slashes = rest.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let ends = slashes.chain([rest.len()]).filter(|end| has_extension(&rest[..*end]));
    let files = ends.map(|end| (Cow::Borrowed(&rest[..end]), &rest[end..]));
    index.into_iter().chain(files).take(MOST_FILES)
}

fn has_extension(file: &[u8]) -> bool {
    let at = file.len().saturating_sub(EXTENSION.len());
    file[at..].eq_ignore_ascii_case(EXTENSION)
}

/// Whether a file exists, if the kernel knows without accessing the disk (openat2(2), `RESOLVE_CACHED`).
fn is_file_in_memory(path: &[u8]) -> Option<bool> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED) {
        Ok(file) => {
            // On no file system may statx read from the disk again.
            let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
            let stat = rustix::fs::statx(file, c"", flags, StatxFlags::TYPE).ok()?;
            Some(FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::RegularFile)
        }
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::ACCESS | Errno::LOOP) => Some(false),
        // Not in memory; or the kernel, or a container, lacks openat2.
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::file::scratch::Scratch;

    /// Searches, on the disk if necessary, and compares both results.
    fn find(search: &Search, path: &[u8], below: usize, now: Instant) -> Option<Script> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let on_disk = runtime.block_on(search.find_on_disk(path, below, now));
        if let Found::Known(script) = search.find(path, below, now) {
            assert_eq!(script, on_disk, "{}", path.escape_ascii());
        }
        on_disk
    }

    #[test]
    fn a_script_is_a_file_that_is_there_and_what_follows_is_left_over() {
        let folder = Scratch::new();
        for name in ["index.php", "a.PHP", "upload/a.jpg", "shop/index.php"] {
            if let Some((folder_name, _)) = name.split_once('/') {
                folder.folder(folder_name);
            }
            folder.write(name, "");
        }
        folder.folder("dir.php");
        folder.write("dir.php/b.php", "");
        let root: Rc<Path> = folder.path("").into();
        /// A path, the length of its prefix, and the script: name, file, info.
        type Case<'a> = (&'a str, usize, Option<(&'a str, &'a str, &'a str)>);
        let cases: &[Case<'_>] = &[
            ("/", 1, Some(("/index.php", "index.php", ""))),
            ("/index.php", 1, Some(("/index.php", "index.php", ""))),
            ("/index.php/a/b.php", 1, Some(("/index.php", "index.php", "/a/b.php"))),
            ("/a.PHP/", 1, Some(("/a.PHP", "a.PHP", "/"))),
            ("/shop/", 1, Some(("/shop/index.php", "shop/index.php", ""))),
            ("/shop", 1, None),
            ("/upload/a.jpg", 1, None),
            ("/upload/a.jpg/x.php", 1, None),
            ("/upload/", 1, None),
            ("/nothing.php", 1, None),
            ("/dir.php/b.php", 1, Some(("/dir.php/b.php", "dir.php/b.php", ""))),
            ("/app/index.php/x", 5, Some(("/app/index.php", "index.php", "/x"))),
            ("/app/index.php/x", 4, Some(("/app/index.php", "index.php", "/x"))),
        ];
        let search = Search::new(&root);
        for (path, below, want) in cases {
            let found = find(&search, path.as_bytes(), *below, Instant::now());
            let want = want.map(|(name, file, info)| Script {
                name: name.into(),
                info: info.into(),
                root: Rc::clone(&root),
                file: file.into(),
            });
            assert_eq!(found, want, "{path}");
        }
    }
    #[test]
    fn few_of_many_files_that_a_path_may_mean_are_looked_for() {
        let rest = "a.php/".repeat(1000);
        let files: Vec<_> = candidates(rest.as_bytes()).map(|(file, _)| file.into_owned()).collect();
        assert_eq!(files.len(), MOST_FILES);
        assert_eq!(files[0], format!("{rest}index.php").as_bytes());
        assert_eq!(
            (&files[1][..], &files[7][..]),
            (&b"a.php"[..], "a.php/".repeat(7).trim_end_matches('/').as_bytes())
        );
        assert_eq!(candidates(&b"/".repeat(8000)).count(), 1, "only the index");
    }

    #[test]
    fn what_was_found_counts_for_a_second_and_is_asked_for_again_then() {
        let folder = Scratch::new();
        folder.write("a.php", "");
        let (search, now) = (Search::new(&folder.path("")), Instant::now());
        let is_there = |now| find(&search, b"/a.php", 1, now).is_some();
        assert!(is_there(now));
        folder.remove("a.php");
        assert_eq!(search.is_file(b"a.php", now), Some(true));
        assert_eq!(search.is_file(b"a.php", now + FRESH), Some(false), "a name that is gone is in memory");
    }

    #[test]
    fn an_unrequested_name_is_not_looked_up_in_the_loop() {
        let folder = Scratch::new();
        let (search, now) = (Search::new(&folder.path("")), Instant::now());
        assert_eq!(search.find(b"/never.php", 1, now), Found::Unknown);
        assert_eq!(find(&search, b"/never.php", 1, now), None);
        assert_eq!(search.find(b"/never.php", 1, now), Found::Known(None));
    }

    #[test]
    fn no_more_than_a_bounded_number_of_files_is_remembered() {
        let (search, now) = (Search::new(Path::new("/")), Instant::now());
        (0..3000).for_each(|number: u32| search.remember(&number.to_be_bytes(), false, now));
        assert!(search.known.borrow().len() <= REMEMBERED);
        search.remember(&[b'a'; LONGEST + 1], true, now);
        assert!(!search.known.borrow().contains_key(&[b'a'; LONGEST + 1][..]));
    }
}
