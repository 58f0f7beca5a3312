//! A server as a process: started on a core, awaited until it accepts, terminated with all its descendants.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::guard::{self, Guard};
use crate::pin;

/// How long a server may take until it accepts connections.
const START_LIMIT: Duration = Duration::from_secs(10);

/// A running server. Dropping it ends it.
pub(crate) struct Process {
    child: Child,
    /// The address it listens on.
    pub(crate) address: SocketAddrV4,
}

impl Process {
    /// Starts `command` on `core` and waits until `address` accepts connections; its output goes to `log`.
    ///
    /// # Errors
    /// It cannot be started, exits, or does not accept in time: one line with the end of its log.
    pub(crate) fn start(
        mut command: Command,
        address: SocketAddrV4,
        core: usize,
        log: &Path,
        guard: &Guard,
    ) -> Result<Self, String> {
        let printed = File::create(log).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) = printed.map_err(|error| format!("{}: {error}", log.display()))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let child = pin::on_core(core, || command.spawn())
            .map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
        guard.watch(child.id());
        let mut process = Self { child, address };
        process.wait_until_it_accepts().map_err(|error| format!("{error}{}", last_lines(log)))?;
        Ok(process)
    }

    fn wait_until_it_accepts(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("ended before it accepted, {status}"));
            }
            if start.elapsed() > START_LIMIT {
                return Err(format!("does not accept at {} after {START_LIMIT:?}", self.address));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// The process id of the root of its tree.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still running.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        guard::end_tree(self.child.id());
        let _ = self.child.wait();
    }
}

/// An address on 127.0.0.1 with a currently unused port.
///
/// # Errors
/// No port is available.
pub(crate) fn free_address() -> Result<SocketAddrV4, String> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let port = port.map_err(|error| format!("no free port at 127.0.0.1: {error}"))?.port();
    Ok(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].iter().map(|line| format!("; {line}")).collect()
}
