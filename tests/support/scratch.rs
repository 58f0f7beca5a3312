//! A folder of a test's own, gone when the test ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder readable by all users: started by root, the program becomes another user.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// An empty folder below another.
    pub(crate) fn below(parent: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("hayami-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("readable");
        Self(path)
    }

    /// The path of `name` in the folder; that of the folder itself if it is empty.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.0.clone() } else { self.0.join(name) }
    }

    /// The path as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("test paths are UTF-8").to_owned()
    }

    /// Writes a file, and the folders it needs.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("its folder");
        fs::write(&path, content).expect("written");
        self
    }

    /// Writes a file to the disk and drops it from the page cache.
    pub(crate) fn write_cold(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = fs::File::open(self.write(name, content).path(name)).expect("a file");
        file.sync_all().expect("on disk");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("advised");
    }

    /// Writes a temporary file next to `name` and renames it over it, as a deployment does.
    pub(crate) fn replace(&self, name: &str, content: impl AsRef<[u8]>) {
        let beside = format!("{name}.new");
        self.write(&beside, content);
        fs::rename(self.path(&beside), self.path(name)).expect("renamed");
    }

    /// The content of a file as text.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Sets the permissions of a file or folder.
    pub(crate) fn permit(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).expect("permissions");
    }

    /// Makes `link` lead to `target`.
    pub(crate) fn link(&self, target: impl AsRef<Path>, link: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.path(link)).expect("a link");
        self
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
