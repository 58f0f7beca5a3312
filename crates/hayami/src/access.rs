//! Access checks for this thread's user: which directories it cannot enter, which files it could write.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// The maximum number of symbolic links that the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// A directory that cannot be entered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Closed {
    /// Its path.
    pub path: PathBuf,
    /// Its owner, group and permissions, if visible.
    owner: Option<(u32, u32, u32)>,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        let Some((user, group, mode)) = self.owner else { return Ok(()) };
        let user = nix::unistd::User::from_uid(user.into()).ok().flatten().map(|user| user.name);
        let group = nix::unistd::Group::from_gid(group.into()).ok().flatten().map(|group| group.name);
        let name = |name: Option<String>| name.unwrap_or_else(|| "?".to_owned());
        write!(f, " ({}:{}, mode {mode:04o})", name(user), name(group))
    }
}

/// The first directory along `path`, itself included, which this user may not enter; `None` if there is none.
pub(crate) fn first_closed(path: &Path) -> Option<Closed> {
    closed_on(&std::path::absolute(path).ok()?, MOST_LINKS)
}

fn closed_on(path: &Path, links: usize) -> Option<Closed> {
    let mut directory = PathBuf::new();
    for part in path.components() {
        let before = directory.clone();
        match part {
            Component::Normal(name) => directory.push(name),
            other => directory.push(other),
        }
        match may(&directory, Access::EXEC_OK) {
            Ok(()) => continue,
            Err(Errno::ACCESS) => {}
            Err(_) => return None,
        }
        // The directories above are open: it is this one, or its target if it is a link.
        match std::fs::read_link(&directory) {
            Ok(target) if links > 0 => return closed_on(&before.join(target), links - 1),
            _ => {}
        }
        let metadata = std::fs::metadata(&directory).ok();
        if metadata.as_ref().is_some_and(|metadata| !metadata.is_dir()) {
            return None;
        }
        let owner = metadata.map(|own| (own.uid(), own.gid(), own.mode() & 0o7777));
        return Some(Closed { path: directory, owner });
    }
    None
}

/// Why a file cannot be written, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The fault.
    pub fault: String,
    /// The remedy.
    pub remedy: String,
}

impl Trouble {
    fn new(fault: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { fault: fault.into(), remedy: remedy.into() }
    }
}

/// Whether this user could write to the file, which is created if it does not exist. Creates nothing.
///
/// # Errors
/// It could not.
pub(crate) fn check_writable(path: &Path) -> Result<(), Trouble> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Trouble::new("it is a directory", "write the path of a file"))
        }
        Ok(metadata) if metadata.file_type().is_socket() => {
            Err(Trouble::new("it is a socket", "write the path of a file"))
        }
        Ok(_) => may(path, Access::WRITE_OK).map_err(|error| refused("it", error)),
        Err(_) => check_creatable(path),
    }
}

/// Whether this user could write to the file, which must not be a symbolic link. Creates nothing.
///
/// # Errors
/// It could not.
pub(crate) fn check_own_file(path: &Path) -> Result<(), Trouble> {
    match std::fs::symlink_metadata(path) {
        Ok(own) if own.is_symlink() => {
            Err(Trouble::new("it is a symbolic link", "remove the link, or write the path of a file"))
        }
        _ => check_writable(path),
    }
}

/// Whether this user could create the file. Creates nothing.
///
/// # Errors
/// It could not.
pub(crate) fn check_creatable(path: &Path) -> Result<(), Trouble> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let shown = format!("the directory {}", directory.display());
    match std::fs::metadata(directory) {
        Ok(metadata) if !metadata.is_dir() => {
            Err(Trouble::new(format!("{} is not a directory", directory.display()), "correct the path"))
        }
        Ok(_) => may(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| refused(&shown, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let remedy = format!("create it (`install -d {}`), or correct the path", directory.display());
            Err(Trouble::new(format!("{shown} does not exist"), remedy))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let closed = first_closed(directory).map_or(shown, |closed| format!("the directory {closed}"));
            let fault = format!("{closed} cannot be entered by the user {}", whoami());
            Err(Trouble::new(fault, "allow it, or choose another directory"))
        }
        Err(error) => Err(Trouble::new(format!("{shown}: {error}"), "correct the path")),
    }
}

fn refused(what: &str, error: Errno) -> Trouble {
    match error {
        Errno::ACCESS | Errno::PERM => Trouble::new(
            format!("{what} is not writable for the user {}", whoami()),
            "allow it, or choose another path",
        ),
        Errno::ROFS => Trouble::new(format!("{what} is on a read-only file system"), "choose another path"),
        error => Trouble::new(format!("{what}: {error}"), "correct the path"),
    }
}

/// The name of this thread's user.
pub(crate) fn whoami() -> String {
    let uid = nix::unistd::geteuid();
    let user = nix::unistd::User::from_uid(uid).ok().flatten();
    format!("`{}`", user.map_or_else(|| uid.to_string(), |user| user.name))
}

/// Whether this user may connect to a unix socket. A missing one counts as yes, since it may be created
/// later.
pub(crate) fn may_connect(socket: &Path) -> bool {
    may(socket, Access::WRITE_OK) != Err(Errno::ACCESS)
}

/// Whether this user may read a file; unknown for one that does not exist.
pub(crate) fn may_read(file: &Path) -> bool {
    may(file, Access::READ_OK) != Err(Errno::ACCESS)
}

/// By this thread's effective rights, including its capabilities.
fn may(path: &Path, what: Access) -> Result<(), Errno> {
    accessat(CWD, path, what, AtFlags::EACCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::{named, with_rights_of};
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A directory that is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hayami-access-{name}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("a/b/c")).expect("made");
            Self(path)
        }

        fn permit(&self, name: &str, mode: u32) {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(self.0.join(name), mode).expect("permitted");
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// With the rights of a user that is not root.
    fn as_nobody<T: Send>(look: impl FnOnce() -> T + Send) -> T {
        let nobody = named("nobody").expect("nobody exists");
        let user = nix::unistd::geteuid().is_root().then_some(&nobody);
        with_rights_of(user, look).expect("rights")
    }

    #[test]
    fn the_first_closed_directory_is_found_through_links_too() {
        let dir = Scratch::new("closed");
        let path = |name: &str| dir.0.join(name);
        symlink(path("a/b"), path("link")).expect("a link");
        symlink("a", path("relative")).expect("a link");
        assert_eq!(as_nobody(|| first_closed(&path("a/b/c"))), None);
        dir.permit("a/b", 0o600);
        for name in ["a/b/c", "a/b", "link", "link/c", "relative/b", "relative/b/c/d"] {
            let closed = as_nobody(|| first_closed(&path(name))).unwrap_or_else(|| panic!("{name} is open"));
            assert_eq!(closed.path.canonicalize().expect("there"), path("a/b"), "{name}");
            assert!(closed.to_string().ends_with(", mode 0600)"), "{closed}");
        }
        dir.permit("a/b", 0o701);
        assert_eq!(
            as_nobody(|| first_closed(&path("link/c/nothing"))),
            None,
            "what is missing is not closed"
        );
    }

    #[test]
    fn files_that_cannot_be_written_say_why() {
        let dir = Scratch::new("write");
        std::fs::write(dir.0.join("a/file"), "").expect("written");
        dir.permit("a/file", 0o444);
        dir.permit("", 0o755);
        let cases = [
            ("a", "it is a directory"),
            ("a/file", "it is not writable for the user `"),
            ("none/log", "none does not exist"),
            ("a/file/log", "file is not a directory"),
            ("log", " is not writable for the user `"),
        ];
        dir.permit("", 0o555);
        for (name, fault) in cases {
            let path = dir.0.join(name);
            let trouble = as_nobody(|| check_writable(&path)).expect_err(name);
            assert!(trouble.fault.contains(fault) && !trouble.remedy.is_empty(), "{name}: {trouble:?}");
        }
        dir.permit("", 0o777);
        assert_eq!(as_nobody(|| check_writable(&dir.0.join("log"))), Ok(()));
        assert!(!dir.0.join("log").exists(), "nothing is created");
    }
}
