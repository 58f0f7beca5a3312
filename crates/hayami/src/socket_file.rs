//! Mode and owner of a unix socket's file.
//!
//! A user with write access to the directory can replace the file at any moment. So the file is opened once,
//! without following a link, and all further calls use that descriptor.

use nix::unistd::{Gid, Uid};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, chownat, fstat};
use std::fs::Permissions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The new owner of the file; `None` leaves a part unchanged.
pub(crate) type Owner = (Option<Uid>, Option<Gid>);

/// Sets mode and owner of a socket's file that was just bound.
///
/// # Errors
/// The file is not that socket, or the system refuses.
pub(crate) fn set_mode_and_owner(path: &Path, mode: Option<u32>, owner: Owner) -> io::Result<()> {
    if (mode, owner) == (None, (None, None)) {
        return Ok(());
    }
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&file)?;
    // With a second name it may be another program's socket.
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket || found.st_nlink != 1 {
        return Err(io::Error::other(
            "another file has taken its place: only trusted users may have write access to its directory",
        ));
    }
    if let Some(mode) = mode {
        // Descriptors with O_PATH have no fchmod(); this path leads to the file itself (proc_pid_fd(5)).
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::fs::set_permissions(own, Permissions::from_mode(mode))?;
    }
    if owner == (None, None) {
        return Ok(());
    }
    let (user, group) = owner;
    let user = user.map(|user| rustix::fs::Uid::from_raw(user.as_raw()));
    let group = group.map(|group| rustix::fs::Gid::from_raw(group.as_raw()));
    Ok(chownat(&file, c"", user, group, AtFlags::EMPTY_PATH)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::{getegid, geteuid};
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hayami-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).expect("a new directory");
            Self(path)
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Owner and mode of the path's target.
    fn rights(path: &Path) -> (u32, u32, u32) {
        let own = std::fs::metadata(path).expect("a file");
        (own.uid(), own.gid(), own.mode() & 0o7777)
    }

    /// The owner to give a file to: `daemon` if this user may do so.
    fn owner() -> Owner {
        match geteuid().is_root() {
            true => (Some(Uid::from_raw(1)), Some(Gid::from_raw(1))),
            false => (Some(geteuid()), Some(getegid())),
        }
    }

    #[test]
    fn a_socket_gets_its_mode_and_its_owner() {
        let dir = Dir::new("socket-file");
        let path = dir.0.join("socket");
        let _socket = UnixListener::bind(&path).expect("bound");
        let (user, group) = owner();
        set_mode_and_owner(&path, Some(0o617), (user, group)).expect("set");
        let want = (user.map(Uid::as_raw), group.map(Gid::as_raw), 0o617);
        let got = rights(&path);
        assert_eq!((Some(got.0), Some(got.1), got.2), want);
        set_mode_and_owner(&path, Some(0o640), (None, None)).expect("set");
        assert_eq!(rights(&path), (got.0, got.1, 0o640));
    }

    #[test]
    fn what_takes_the_place_of_a_socket_keeps_its_mode_and_its_owner() {
        let dir = Dir::new("socket-link");
        let at = |name: &str| dir.0.join(name);
        std::fs::write(at("victim"), "secret").expect("written");
        let _socket = UnixListener::bind(at("victim-socket")).expect("bound");
        for name in ["victim", "victim-socket"] {
            std::fs::set_permissions(at(name), Permissions::from_mode(0o600)).expect("permitted");
            symlink(at(name), at("link")).expect("linked");
            std::fs::hard_link(at(name), at("second-name")).expect("linked");
            let before = rights(&at(name));
            for place in ["link", "second-name"] {
                let refused = set_mode_and_owner(&at(place), Some(0o666), owner());
                assert!(refused.is_err(), "{place} of {name}");
                let refused = set_mode_and_owner(&at(place), None, owner());
                assert!(refused.is_err(), "{place} of {name}");
                assert_eq!(rights(&at(name)), before, "{place} of {name}");
                std::fs::remove_file(at(place)).expect("removed");
            }
        }
        let refused = set_mode_and_owner(&at("victim"), Some(0o666), (None, None));
        assert!(refused.is_err_and(|error| error.to_string().contains("another file has taken its place")));
    }
}
