//! The server's side of the control socket.

use super::{DONE, ERROR, FAILED, RELOAD, WARNING, directory};
use crate::exit::Failure;
use crate::socket_file::set_mode_and_owner;
use nix::unistd::{User, geteuid};
use std::io;
use std::os::unix::net::UnixListener as Bound;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long a client may take to send its command, and to read a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum length of a command, in bytes.
const LONGEST: usize = 64;

/// Clients whose command is awaited at a time; others wait in the kernel's queue.
const MOST_CLIENTS: usize = 32;

/// The bound control socket. Dropping it removes its file.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    socket: Bound,
    path: PathBuf,
}

impl ControlSocket {
    /// Binds it, for the user that the server becomes. Stale sockets of other servers are removed.
    ///
    /// # Errors
    /// There is no directory for it, or it cannot be created; the error is a line for the user.
    pub(crate) fn bind(user: Option<&User>) -> Result<Self, String> {
        let directory = directory::path();
        let cannot = |error: io::Error| {
            format!("no control socket in {}: {error}; `kill -HUP PID` reloads as well", directory.display())
        };
        directory::create(&directory).map_err(cannot)?;
        directory::sockets(&directory).iter().for_each(|path| remove_if_dead(path));
        let path = directory.join(format!("{}.sock", std::process::id()));
        // The socket of an earlier process with the same ID.
        let _ = std::fs::remove_file(&path);
        let bind = || {
            let socket = Bound::bind(&path)?;
            let user = user.filter(|_| geteuid().is_root());
            set_mode_and_owner(&path, Some(0o600), (user.map(|user| user.uid), None))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        Ok(Self { socket: bind().map_err(cannot)?, path: path.clone() })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to listen, within the main loop.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn listen(&self) -> Result<Control, Failure> {
        let socket = self.socket.try_clone().and_then(UnixListener::from_std);
        let advice = "raise the limit of open files (`ulimit -n`)";
        let cannot =
            |error| Failure::System(format!("cannot listen on the control socket: {error}; {advice}"));
        Ok(Control { listener: Some(socket.map_err(cannot)?), reading: JoinSet::new() })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Without the rights of the start it may be impossible to remove; the next start removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn remove_if_dead(path: &Path) {
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if std::os::unix::net::UnixStream::connect(path).is_err_and(|error| refused(&error)) {
        let _ = std::fs::remove_file(path);
    }
}

/// Accepts commands; without a socket it waits forever.
pub(crate) struct Control {
    listener: Option<UnixListener>,
    /// Clients whose command is awaited: one that says nothing delays no other.
    reading: JoinSet<Option<Client>>,
}

impl Control {
    /// Without a socket.
    pub(crate) fn none() -> Self {
        Self { listener: None, reading: JoinSet::new() }
    }

    /// The next client that asks for a reload.
    pub(crate) async fn next(&mut self) -> Client {
        let Some(listener) = &self.listener else { return std::future::pending().await };
        loop {
            tokio::select! {
                accepted = listener.accept(), if self.reading.len() < MOST_CLIENTS => match accepted {
                    Ok((stream, _)) => _ = self.reading.spawn(Client::reading(stream)),
                    // Out of descriptors: wait until some are free.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
                Some(read) = self.reading.join_next() => {
                    if let Ok(Some(client)) = read {
                        return client;
                    }
                }
            }
        }
    }
}

/// A client that waits for the result of its command.
pub(crate) struct Client(UnixStream);

impl Client {
    /// Reads the command.
    async fn reading(mut stream: UnixStream) -> Option<Self> {
        let mut command = Vec::with_capacity(LONGEST);
        let read = async {
            while !command.ends_with(b"\n") && command.len() < LONGEST {
                if stream.read_buf(&mut command).await? == 0 {
                    break;
                }
            }
            io::Result::Ok(())
        };
        timeout(PATIENCE, read).await.ok()?.ok()?;
        let mut client = Self(stream);
        if command.trim_ascii() == RELOAD.as_bytes() {
            return Some(client);
        }
        client.say(&format!("{ERROR}unknown command\n{FAILED}64\n")).await;
        None
    }

    /// Sends the result.
    pub(crate) async fn answer(mut self, warnings: &[String], result: &Result<String, (u8, Vec<String>)>) {
        let mut text = String::new();
        let mut push = |kind: &str, line: &str| text.push_str(&format!("{kind}{line}\n"));
        warnings.iter().for_each(|warning| push(WARNING, warning));
        match result {
            Ok(summary) => push(DONE, summary),
            Err((code, errors)) => {
                errors.iter().for_each(|error| push(ERROR, error));
                push(FAILED, &code.to_string());
            }
        }
        self.say(&text).await;
    }

    async fn say(&mut self, text: &str) {
        // A client that disconnected, or does not read, needs no answer.
        let _ = timeout(PATIENCE, self.0.write_all(text.as_bytes())).await;
    }
}
