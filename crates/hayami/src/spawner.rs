//! `fastcgi.spawn`: applications that run as long as the server does.
//!
//! Each has a process of this program beside it that starts it, starts it again, and ends it
//! ([`supervise`](crate::supervise)). That process is started while there are rights to become another user, and
//! learns of our end, whatever that was, by a socket that closes.

use crate::exit::Failure;
use crate::user;
use hayami_server::config::settings::Settings;
use hayami_server::modules::fastcgi::{self, Spawn};
use nix::unistd::{User, geteuid};
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

/// How long the end waits for applications, which have a little less.
const PATIENCE: Duration = Duration::from_secs(6);

/// Applications that run. Dropped, they end.
#[derive(Default)]
pub(crate) struct Applications {
    running: Vec<(UnixStream, Child)>,
    folder: Option<PathBuf>,
}

/// Starts what the configuration wants started; `server` is who the server is going to be.
///
/// # Errors
/// There is no such user, or the system does not let us.
pub(crate) fn start(settings: &Settings, server: Option<&User>) -> Result<Applications, Failure> {
    let mut all = Applications::default();
    for (number, spawn) in fastcgi::spawned(settings).enumerate() {
        let cannot = |what: &str, error: io::Error| {
            Failure::System(format!("fastcgi.spawn: `{}`: {what}: {error}", spawn.command))
        };
        let name = whose(spawn, server)?;
        if all.folder.is_none() {
            all.folder = Some(
                folder(server).map_err(|error| cannot("cannot create the directory of its socket", error))?,
            );
        }
        let socket = all.folder.as_deref().unwrap_or(Path::new("")).join(number.to_string());
        let listener = listen(&socket, server).map_err(|error| cannot("cannot create its socket", error))?;
        all.running.push(run(spawn, name, listener).map_err(|error| cannot("cannot be started", error))?);
        spawn.listens_at(socket);
    }
    Ok(all)
}

/// As whom an application runs; empty for as whom we run.
fn whose(spawn: &Spawn, server: Option<&User>) -> Result<String, Failure> {
    let Some(name) = &spawn.user else { return Ok(server.map(|user| user.name.clone()).unwrap_or_default()) };
    let user = user::within_reach(name);
    user.map(|user| user.name).map_err(|problem| problem.failure(|_, error| Failure::Config(error.message)))
}

/// A folder that only the server can enter: who can connect to an application can have it run anything.
fn folder(server: Option<&User>) -> io::Result<PathBuf> {
    let mut tries = 0;
    loop {
        let path = std::env::temp_dir().join(format!("hayami-fastcgi-{}-{tries}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            made => return made.and_then(|()| give(&path, server)).map(|()| path),
        }
    }
}

fn listen(path: &Path, server: Option<&User>) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    give(path, server).map(|()| listener)
}

fn give(path: &Path, server: Option<&User>) -> io::Result<()> {
    match server {
        Some(user) if geteuid().is_root() => {
            std::os::unix::fs::chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
        }
        _ => Ok(()),
    }
}

fn run(spawn: &Spawn, user: String, listener: UnixListener) -> io::Result<(UnixStream, Child)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new("/proc/self/exe")
        .arg0("hayami")
        .args([SUPERVISE, &user, &spawn.command])
        .stdin(OwnedFd::from(listener))
        .stdout(OwnedFd::from(theirs))
        .stderr(Stdio::inherit())
        // A terminal's Ctrl-C is for us; we tell the others when the last request is answered.
        .process_group(0)
        .spawn()?;
    Ok((ours, child))
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
            // Without the rights of the start it may have to stay.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
