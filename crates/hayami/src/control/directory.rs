//! Where control sockets are.

use nix::unistd::geteuid;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The directory of this user's control sockets.
pub(super) fn path() -> PathBuf {
    // systemd's RuntimeDirectory= (systemd.exec(5)); there may be several.
    let given = std::env::var_os("RUNTIME_DIRECTORY").unwrap_or_default();
    if let Some(first) =
        given.to_str().and_then(|paths| paths.split(':').next()).filter(|path| !path.is_empty())
    {
        return first.into();
    }
    if geteuid().is_root() {
        return "/run/hayami".into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir()) {
        Some(own) => own.join("hayami"),
        None => std::env::temp_dir().join(format!("hayami-{}", geteuid())),
    }
}

/// Creates the directory, if it does not exist.
///
/// # Errors
/// It cannot be created, or another user could change its contents.
pub(super) fn create(path: &Path) -> io::Result<()> {
    // A server started by root gives its socket to another user, which has to find it.
    let mode = if geteuid().is_root() { 0o755 } else { 0o700 };
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    let found = std::fs::symlink_metadata(path)?;
    let is_own = found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0;
    if is_own {
        Ok(())
    } else {
        Err(io::Error::other("it belongs to another user, or others may write to it"))
    }
}

/// The sockets in the directory.
pub(super) fn sockets(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut sockets: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .collect();
    sockets.sort();
    sockets
}
