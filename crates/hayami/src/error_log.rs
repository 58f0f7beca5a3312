//! `error-log`: standard error, and standard output with it, go to a file or to a command.

use crate::exit::Failure;
use hayami_server::modules::error_log::Target;
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// Redirects standard error and standard output of this process.
///
/// # Errors
/// The file could not be opened or the command not be started.
pub(crate) fn redirect(target: &Target) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::CannotCreate(format!(
            "cannot open the error-log {target}: {error}; the folder of a log must exist and be writable"
        ))
    };
    let fd = match target {
        Target::File(path) => OpenOptions::new().append(true).create(true).open(path).map_err(failed)?.into(),
        Target::Command(command) => pipe_to(command).map_err(failed)?,
    };
    rustix::stdio::dup2_stderr(&fd)
        .and_then(|()| rustix::stdio::dup2_stdout(&fd))
        .map_err(|error| failed(error.into()))
}

/// Starts a command that reads what is written to the descriptor. It ends when we do.
fn pipe_to(command: &str) -> std::io::Result<OwnedFd> {
    let child = Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn()?;
    child.stdin.map(OwnedFd::from).ok_or_else(|| std::io::Error::other("it has no standard input"))
}
