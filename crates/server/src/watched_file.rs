//! Files named by the configuration that are reloaded when they change: lists of addresses and of users.
//!
//! When a request needs a file and the last comparison is at least a second old, a thread that may block compares it
//! with the disk, and the request waits for it. So a change takes effect within a second, even for the first request,
//! and a server without requests does nothing. Errors are reported once, and the previous content remains in use.

use crate::config::feature_settings::FeatureSetting;
use crate::observe::{Severity, Subject, report};
use arc_swap::{ArcSwap, Guard};
use hayami_net::blocking::{self, Lane};
use hayami_net::{Clock, Instant};
use std::collections::HashMap;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long a comparison with the disk is valid.
const HOLDS: Duration = Duration::from_secs(1);

/// A file that was changed this recently may be changed again without a new timestamp: the clock of file systems ticks
/// a few times per hundredth of a second, in some once in two seconds.
const SETTLES: Duration = Duration::from_secs(2);

/// Largest file in bytes: no list of addresses or users is larger.
const LARGEST: u64 = 64 << 20;

/// Parses the content of a file; the error is a message of one line.
pub(crate) type Parse<T> = fn(&[u8]) -> Result<T, String>;

/// A file with its parsed content when it was last read. Shared by all workers.
pub(crate) struct WatchedFile<T> {
    path: PathBuf,
    parse: Parse<T>,
    content: ArcSwap<T>,
    opened: Instant,
    /// When it was last compared with the disk, in nanoseconds after `opened`.
    compared: AtomicU64,
    state: Mutex<State>,
}

/// The state of the file on disk.
#[derive(Default)]
struct State {
    /// The stamp of the last content that was read, even if it was invalid.
    stamp: Option<Stamp>,
    /// Whether any later change would show in the stamp.
    settled: bool,
    /// The last error reported.
    problem: String,
}

impl<T> WatchedFile<T> {
    /// Reads a file for the first time.
    ///
    /// # Errors
    /// It cannot be read or parsed; a message for the user.
    pub(crate) fn open(path: &Path, parse: Parse<T>) -> Result<Self, String> {
        let shown = path.display();
        let (bytes, stamp) =
            read(path).map_err(|error| format!("cannot read `{shown}`: {}", reason(&error)))?;
        let content = parse(&bytes).map_err(|fault| format!("`{shown}`: {fault}"))?;
        Ok(Self {
            path: path.to_owned(),
            parse,
            content: ArcSwap::from_pointee(content),
            opened: Instant::now(),
            compared: AtomicU64::new(0),
            state: Mutex::new(State {
                settled: stamp.is_settled(),
                stamp: Some(stamp),
                problem: String::new(),
            }),
        })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its parsed content when it was last read.
    pub(crate) fn load(&self) -> Guard<Arc<T>> {
        self.content.load()
    }

    /// Whether the last comparison is still valid, without accessing the disk.
    pub(crate) fn is_fresh(&self, now: Instant) -> bool {
        self.age(now).saturating_sub(self.compared.load(Ordering::Acquire)) < HOLDS.as_nanos() as u64
    }

    /// Compares it with the disk, and reloads it if it has changed. Blocks.
    fn compare(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread of another request may have done it already.
        if self.is_fresh(Instant::now()) {
            return;
        }
        if let Err(problem) = self.read_again(&mut state) {
            if problem != state.problem {
                let path = self.path.display();
                let text = format_args!("`{path}`: {problem}; its previous content stays in use");
                report(Severity::Error, Subject::Access, text);
            }
            state.problem = problem;
        }
        self.compared.store(self.age(Instant::now()), Ordering::Release);
    }

    fn read_again(&self, state: &mut State) -> Result<(), String> {
        let known = state.stamp.take();
        let found = std::fs::metadata(&self.path).map(|found| Stamp::of(&found));
        if state.settled && found.as_ref().is_ok_and(|found| Some(found) == known.as_ref()) {
            state.stamp = known;
            return Ok(());
        }
        let (bytes, stamp) =
            read(&self.path).map_err(|error| format!("cannot read it: {}", reason(&error)))?;
        let is_new = Some(&stamp) != known.as_ref();
        (state.settled, state.stamp) = (stamp.is_settled(), Some(stamp));
        let content = (self.parse)(&bytes)?;
        state.problem.clear();
        self.content.store(Arc::new(content));
        if is_new {
            let path = self.path.display();
            let text = format_args!("`{path}` has changed and was read again");
            report(Severity::Notice, Subject::Access, text);
        }
        Ok(())
    }

    /// Nanoseconds since it was opened.
    fn age(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.opened).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The files of a configuration while it is being read: each is read once, however many places name it, and these share
/// its content.
pub(crate) struct WatchedFiles<T>(HashMap<PathBuf, Arc<WatchedFile<T>>>);

impl<T> WatchedFiles<T> {
    /// The file at `path`, which is read unless it is open already.
    ///
    /// # Errors
    /// As of [`WatchedFile::open`].
    pub(crate) fn open(&mut self, path: &Path, parse: Parse<T>) -> Result<Arc<WatchedFile<T>>, String> {
        if let Some(known) = self.0.get(path) {
            return Ok(Arc::clone(known));
        }
        let file = Arc::new(WatchedFile::open(path, parse)?);
        self.0.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

impl<T> Clone for WatchedFiles<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for WatchedFiles<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> fmt::Debug for WatchedFiles<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<T: Send + Sync + 'static> FeatureSetting for WatchedFiles<T> {}

/// Compares those of the files with the disk that were not compared lately.
pub(crate) async fn refresh_all<'a, T: Send + Sync + 'static>(
    files: impl Iterator<Item = &'a Arc<WatchedFile<T>>>,
    clock: &Clock,
) {
    for file in files {
        if !file.is_fresh(clock.now()) {
            refresh(Arc::clone(file)).await;
        }
    }
}

/// Compares a file with the disk, on a thread that may block.
pub(crate) async fn refresh<T: Send + Sync + 'static>(file: Arc<WatchedFile<T>>) {
    // Rejected if too many tasks wait for disks: then the known content has to do.
    let _ = blocking::run(Lane::Files, move || file.compare()).await;
}

impl<T> fmt::Debug for WatchedFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedFile").field(&self.path).finish()
    }
}

/// Shows that a file was replaced or changed.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    /// Of content or attributes. Programs cannot set it.
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino()),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    fn is_settled(&self) -> bool {
        let changed = Duration::from_secs(u64::try_from(self.changed.0).unwrap_or_default());
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + changed);
        // If the clock was set back, the age is unknown.
        since.is_ok_and(|since| since > SETTLES)
    }
}

fn read(path: &Path) -> io::Result<(Vec<u8>, Stamp)> {
    // Opening a pipe could block forever.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(path)?;
    let stamp = Stamp::of(&file.metadata()?);
    let mut bytes = Vec::new();
    if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok((bytes, stamp))
}

/// The reason in words.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "no permission".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::file::scratch::Scratch;

    fn number(bytes: &[u8]) -> Result<u32, String> {
        let text = String::from_utf8_lossy(bytes);
        text.trim().parse().map_err(|_| format!("`{}` is not a number", text.trim()))
    }

    /// Compares as if more than a second had passed.
    fn later<T>(file: &WatchedFile<T>) {
        let mut state = file.state.lock().expect("no panic within");
        if let Err(problem) = file.read_again(&mut state) {
            state.problem = problem;
        }
    }

    #[test]
    fn a_file_is_read_again_when_it_changes_and_stays_as_it_was_when_it_breaks() {
        let folder = Scratch::new();
        folder.write("n", "1");
        let file = WatchedFile::open(&folder.path("n"), number).expect("a number");
        assert_eq!(**file.load(), 1);
        let problem = |file: &WatchedFile<u32>| file.state.lock().expect("no panic within").problem.clone();
        for (content, want, says) in [
            ("2", 2, ""),
            // Of the same length, and possibly within the same tick of the file system's clock.
            ("3", 3, ""),
            ("x", 3, "`x` is not a number"),
            ("x", 3, "`x` is not a number"),
            ("4", 4, ""),
        ] {
            folder.write("n", content);
            later(&file);
            assert_eq!((**file.load(), &*problem(&file)), (want, says), "{content}");
        }
        folder.remove("n");
        later(&file);
        assert_eq!((**file.load(), &*problem(&file)), (4, "cannot read it: there is no such file"));
        folder.write("n", "5");
        later(&file);
        assert_eq!((**file.load(), &*problem(&file)), (5, ""));
    }

    #[test]
    fn what_is_known_holds_for_a_second() {
        let folder = Scratch::new();
        folder.write("n", "1");
        let file = WatchedFile::open(&folder.path("n"), number).expect("a number");
        for (millis, fresh) in [(0, true), (999, true), (1001, false)] {
            assert_eq!(file.is_fresh(file.opened + Duration::from_millis(millis)), fresh, "{millis}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_says_why() {
        let folder = Scratch::new();
        folder.write("n", "one");
        folder.folder("d");
        folder.fifo("f");
        for (name, want) in [
            ("none", "cannot read `FILE`: there is no such file"),
            ("d", "cannot read `FILE`: it is not a regular file"),
            ("f", "cannot read `FILE`: it is not a regular file"),
            ("n", "`FILE`: `one` is not a number"),
        ] {
            let path = folder.path(name);
            let said = WatchedFile::open(&path, number).expect_err(name);
            assert_eq!(said.replace(&path.display().to_string(), "FILE"), want);
        }
    }

    #[test]
    fn a_file_that_several_places_name_is_read_once() {
        let folder = Scratch::new();
        folder.write("n", "1");
        let mut files = WatchedFiles::default();
        let first = files.open(&folder.path("n"), number).expect("a number");
        folder.write("n", "2");
        let second = files.open(&folder.path("n"), number).expect("the same");
        assert!(Arc::ptr_eq(&first, &second));
        assert!(files.open(&folder.path("none"), number).is_err());
    }
}
