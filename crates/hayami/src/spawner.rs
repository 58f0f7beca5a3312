//! `fastcgi.spawn`: applications that run as long as the server.
//!
//! Each has a supervisor process of this program that starts, restarts and ends it
//! ([`supervise`](crate::supervise)). It is started while the server may still become another user, and
//! detects the server's end, whatever its cause, by a closing socket.

use crate::exit::Failure;
use crate::socket_file::set_mode_and_owner;
use crate::user;
use hayami_server::config::settings::Settings;
use hayami_server::modules::fastcgi::{self, Spawn};
use nix::unistd::{User, geteuid};
use rustix::fs::{Gid, Mode, OFlags, Uid, fchown};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The hidden command.
pub(crate) const SUPERVISE: &str = "supervise-fastcgi";

/// How long shutdown waits for applications, which have a little less.
const PATIENCE: Duration = Duration::from_secs(6);

/// Running applications. Dropping it ends them.
#[derive(Default)]
pub(crate) struct Applications {
    running: Vec<(UnixStream, Child)>,
    folder: Option<Folder>,
}

/// The directory of their sockets.
struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

/// Starts the configured applications; `server` is the user that the server becomes.
///
/// # Errors
/// There is no such user, or the system refuses.
pub(crate) fn start(settings: &Settings, server: Option<&User>) -> Result<Applications, Failure> {
    let mut all = Applications::default();
    for (number, spawn) in fastcgi::spawned(settings).enumerate() {
        let cannot = |what: &str, error: io::Error| {
            Failure::System(format!("fastcgi.spawn: `{}`: {what}: {error}", spawn.command))
        };
        let name = user_of(spawn, server)?;
        if all.folder.is_none() {
            all.folder = Some(
                Folder::create()
                    .map_err(|error| cannot("cannot create the directory of its socket", error))?,
            );
        }
        let folder = all.folder.as_ref().map_or(Path::new(""), |folder| &folder.path);
        let socket = folder.join(number.to_string());
        let listener = listen(&socket, server).map_err(|error| cannot("cannot create its socket", error))?;
        all.running.push(run(spawn, name, listener).map_err(|error| cannot("cannot be started", error))?);
        spawn.listens_at(socket);
    }
    // Last: until then no other user can change its contents.
    if let Some(folder) = &all.folder {
        folder.give(server).map_err(|error| {
            let path = folder.path.display();
            Failure::System(format!(
                "fastcgi.spawn: cannot give the directory {path} to the server's user: {error}"
            ))
        })?;
    }
    Ok(all)
}

/// The user of an application; empty for the server's own.
fn user_of(spawn: &Spawn, server: Option<&User>) -> Result<String, Failure> {
    let Some(name) = &spawn.user else { return Ok(server.map(|user| user.name.clone()).unwrap_or_default()) };
    let user = user::within_reach(name);
    user.map(|user| user.name).map_err(|problem| problem.failure(|_, error| Failure::Config(error.message)))
}

impl Folder {
    /// A directory that only the server can enter: a process that can connect to an application can make it
    /// run anything.
    fn create() -> io::Result<Self> {
        let mut tries = 0;
        loop {
            let path = std::env::temp_dir().join(format!("hayami-fastcgi-{}-{tries}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
                Err(error) => return Err(error),
                Ok(()) => return Self::open(path),
            }
        }
    }

    /// Opens a directory of the server, without following a link.
    fn open(path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, Mode::empty())?;
        if rustix::fs::fstat(&fd)?.st_uid != geteuid().as_raw() {
            return Err(io::Error::other("another directory has taken its place"));
        }
        Ok(Self { path, fd })
    }

    fn give(&self, server: Option<&User>) -> io::Result<()> {
        match server.filter(|_| geteuid().is_root()) {
            Some(user) => {
                let (user, group) = (Uid::from_raw(user.uid.as_raw()), Gid::from_raw(user.gid.as_raw()));
                Ok(fchown(&self.fd, Some(user), Some(group))?)
            }
            None => Ok(()),
        }
    }
}

fn listen(path: &Path, server: Option<&User>) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    let server = server.filter(|_| geteuid().is_root());
    set_mode_and_owner(path, None, (server.map(|user| user.uid), server.map(|user| user.gid)))?;
    Ok(listener)
}

fn run(spawn: &Spawn, user: String, listener: UnixListener) -> io::Result<(UnixStream, Child)> {
    let (own, peer) = UnixStream::pair()?;
    let child = Command::new("/proc/self/exe")
        .arg0("hayami")
        .args([SUPERVISE, &user, &spawn.command])
        .stdin(OwnedFd::from(listener))
        .stdout(OwnedFd::from(peer))
        .stderr(Stdio::inherit())
        // A terminal's Ctrl-C is for the server, which ends the applications when the last request is
        // answered.
        .process_group(0)
        .spawn()?;
    Ok((own, child))
}

impl Drop for Applications {
    fn drop(&mut self) {
        let mut children = Vec::new();
        for (socket, child) in self.running.drain(..) {
            drop(socket);
            children.push(child);
        }
        let end = Instant::now() + PATIENCE;
        for mut child in children {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        if let Some(folder) = &self.folder {
            // Without the rights of the start it may be impossible to remove.
            let _ = std::fs::remove_dir_all(&folder.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_place_of_the_directory_is_not_followed() {
        let folder = Folder::create().expect("a directory");
        let link = folder.path.join("link");
        std::os::unix::fs::symlink("/", &link).expect("linked");
        let opened = Folder::open(link).is_ok();
        let real = Folder::open(folder.path.clone()).is_ok();
        std::fs::remove_dir_all(&folder.path).expect("removed");
        assert!(real && !opened);
    }
}
