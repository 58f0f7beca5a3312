//! Root directories in use: each is opened once per process, and closed when it gets no requests.

use super::root::{Root, Symlinks};
use hayami_net::Instant;
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

/// By path and policy. Closed ones are removed when the number of entries doubles.
static OPEN: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Table {
    roots: HashMap<(PathBuf, Symlinks), Weak<Root>>,
    /// Number of entries after the last removal of closed ones.
    kept: usize,
}

impl Table {
    fn insert(&mut self, path: &Path, symlinks: Symlinks, root: &Arc<Root>) {
        if self.roots.len() > 2 * self.kept + 16 {
            self.roots.retain(|_, root| root.strong_count() > 0);
            self.kept = self.roots.len();
        }
        self.roots.insert((path.to_owned(), symlinks), Arc::downgrade(root));
    }
}

/// Opens the directory at `path`, or shares it if another worker or path has it open.
///
/// # Errors
/// As [`Root::open`].
fn open(path: &Path, symlinks: Symlinks) -> Result<Arc<Root>, Errno> {
    let lock = || OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock().roots.get(&(path.to_owned(), symlinks)).and_then(Weak::upgrade);
    if let Some(root) = known
        && root.is_at(path)?
    {
        return Ok(root);
    }
    let root = Arc::new(Root::open(path, symlinks)?);
    lock().insert(path, symlinks, &root);
    Ok(root)
}

/// The root directory of one handler of one worker.
pub(super) struct RootSlot {
    path: PathBuf,
    symlinks: Symlinks,
    /// `None` while the directory does not exist, since a disk may be mounted later, and when it is idle.
    root: RefCell<Option<Arc<Root>>>,
    /// When it was last found at its path.
    checked: Cell<Option<Instant>>,
}

impl RootSlot {
    pub(super) fn new(path: PathBuf, symlinks: Symlinks) -> Self {
        Self { path, symlinks, root: RefCell::default(), checked: Cell::default() }
    }

    /// The path of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open directory, set by [`follow`](Self::follow).
    pub(super) fn get(&self) -> Option<Arc<Root>> {
        self.root.borrow().clone()
    }

    /// Calls `with` with the open directory.
    #[inline]
    pub(super) fn is_some_and(&self, with: impl FnOnce(&Root) -> bool) -> bool {
        self.root.borrow().as_deref().is_some_and(with)
    }

    /// Whether the path must be checked again.
    #[inline]
    pub(super) fn is_due(&self, now: Instant, interval: Duration) -> bool {
        self.checked.get().is_none_or(|checked| now.saturating_duration_since(checked) >= interval)
    }

    /// Checks whether the path still leads to the open directory, and if not opens its replacement: sites are deployed
    /// by switching a symbolic link. Returns whether the directory changed.
    ///
    /// # Errors
    /// The path does not exist, or cannot be served.
    pub(super) fn follow(&self, now: Instant) -> Result<bool, Errno> {
        let stays = match &*self.root.borrow() {
            Some(root) => root.is_at(&self.path)?,
            None => false,
        };
        if !stays {
            *self.root.borrow_mut() = Some(open(&self.path, self.symlinks)?);
        }
        self.checked.set(Some(now));
        Ok(!stays)
    }

    /// Closes the directory, if it has had no requests for that long.
    pub(super) fn close_idle(&self, now: Instant, idle: Duration) {
        if self.is_due(now, idle) {
            self.root.take();
            self.checked.set(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;

    #[test]
    fn a_directory_is_open_once_however_many_serve_it_and_closed_after_the_last() {
        let dir = Scratch::new();
        let (now, path) = (Instant::now(), dir.path(""));
        let slots = [(); 3].map(|()| RootSlot::new(path.clone(), Symlinks::Follow));
        slots.iter().for_each(|slot| assert_eq!(slot.follow(now), Ok(true)));
        let root = slots[0].get().expect("a directory");
        assert!(slots.iter().all(|slot| Arc::ptr_eq(&slot.get().expect("a directory"), &root)));
        let strict = RootSlot::new(path, Symlinks::Within);
        assert_eq!(strict.follow(now), Ok(true));
        assert!(!Arc::ptr_eq(&strict.get().expect("a directory"), &root), "another policy");
        let weak = Arc::downgrade(&root);
        drop(root);
        for slot in &slots {
            slot.close_idle(now + Duration::from_secs(59), Duration::from_secs(60));
        }
        assert_eq!(weak.strong_count(), 3);
        for slot in &slots {
            slot.close_idle(now + Duration::from_secs(60), Duration::from_secs(60));
        }
        assert_eq!(weak.strong_count(), 0);
        assert_eq!(slots[0].follow(now), Ok(true), "opened again");
    }

    #[test]
    fn what_takes_the_place_of_a_directory_is_opened_by_all() {
        let dir = Scratch::new();
        dir.folder("one");
        dir.folder("two");
        std::os::unix::fs::symlink(dir.path("one"), dir.path("current")).expect("a link");
        let slots = [(); 2].map(|()| RootSlot::new(dir.path("current"), Symlinks::Follow));
        let now = Instant::now();
        slots.iter().for_each(|slot| assert_eq!(slot.follow(now), Ok(true)));
        assert_eq!(slots[0].follow(now), Ok(false));
        std::fs::remove_file(dir.path("current")).expect("removed");
        assert_eq!(slots[0].follow(now), Err(Errno::NOENT));
        std::os::unix::fs::symlink(dir.path("two"), dir.path("current")).expect("a link");
        slots.iter().for_each(|slot| assert_eq!(slot.follow(now), Ok(true)));
        let roots = slots.each_ref().map(|slot| slot.get().expect("a directory"));
        assert!(Arc::ptr_eq(&roots[0], &roots[1]));
    }
}
