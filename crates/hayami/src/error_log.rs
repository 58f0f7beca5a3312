//! `error-log`: standard error, and standard output with it, go to a file or to a command.
//!
//! Until the server is ready, its output is for people: the banner and failures go to the caller's standard
//! error, unchanged. From then on it writes only error log lines ([`hayami_server::observe`]).

use crate::exit::Failure;
use hayami_server::modules::error_log::Target;
use hayami_server::observe::{Severity, Subject, report};
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::PanicHookInfo;
use std::process::{Command, Stdio};

/// The caller's standard error.
#[derive(Debug, Default)]
pub(crate) struct Console {
    /// A copy of it, if standard error is the error log by now.
    kept: Option<File>,
}

impl Console {
    /// Redirects standard error and standard output of this process, if `target` says so.
    ///
    /// # Errors
    /// The file could not be opened or the command not be started.
    pub(crate) fn redirect(target: Option<&Target>) -> Result<Self, Failure> {
        let Some(target) = target else { return Ok(Self { kept: None }) };
        let failed = |error: std::io::Error| {
            Failure::CannotCreate(format!(
                "cannot open the error-log {target}: {error}; its directory must exist and be writable"
            ))
        };
        let kept = std::io::stderr().as_fd().try_clone_to_owned().ok().map(File::from);
        let fd = match target {
            Target::File(path) => {
                OpenOptions::new().append(true).create(true).open(path).map_err(failed)?.into()
            }
            Target::Command(command) => pipe_to(command).map_err(failed)?,
        };
        rustix::stdio::dup2_stderr(&fd)
            .and_then(|()| rustix::stdio::dup2_stdout(&fd))
            .map_err(|error| failed(error.into()))?;
        Ok(Self { kept })
    }

    /// Whether the error log is separate from it.
    pub(crate) fn is_apart(&self) -> bool {
        self.kept.is_some()
    }

    /// Reports a failed start, to the error log too, and returns the exit code.
    pub(crate) fn fail(&self, failure: Failure) -> Failure {
        self.say(&failure.to_string());
        if self.is_apart() {
            report(Severity::Crit, Subject::Server, failure.reason());
        }
        Failure::Logged(failure.code())
    }

    /// Writes to the caller's standard error.
    pub(crate) fn say(&self, text: &str) {
        let text = format!("{text}\n");
        // There may be no reader.
        let _ = match &self.kept {
            Some(kept) => Write::write_all(&mut &*kept, text.as_bytes()),
            None => std::io::stderr().write_all(text.as_bytes()),
        };
    }
}

/// Starts a command that reads what is written to the descriptor. It ends with this process.
fn pipe_to(command: &str) -> std::io::Result<OwnedFd> {
    let child = Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn()?;
    child.stdin.map(OwnedFd::from).ok_or_else(|| std::io::Error::other("it has no standard input"))
}

/// Has panics written as lines of the error log.
pub(crate) fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        report(Severity::Crit, Subject::Panic, panic_text(info));
        // With RUST_BACKTRACE=1.
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            for line in backtrace.to_string().lines() {
                report(Severity::Crit, Subject::Panic, line);
            }
        }
    }));
}

fn panic_text(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("without a name");
    let payload = info.payload();
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    let message = payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no message");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    format!("thread {thread} at {place}: {message}; please report this line")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_panic_is_told_with_its_thread_and_place() {
        let (sender, receiver) = channel();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Another test may fail at the same time; then there is no listener.
            let _ = sender.send(panic_text(info));
        }));
        let thread = std::thread::Builder::new().name("worker 7".into());
        let ended = thread.spawn(|| panic!("no {}", "way")).expect("a thread").join();
        std::panic::set_hook(before);
        assert!(ended.is_err());
        let text = receiver.iter().find(|text| text.starts_with("thread worker 7 at ")).expect("a text");
        assert!(text.contains("error_log.rs:") && text.contains(": no way; please report"), "{text}");
    }
}
