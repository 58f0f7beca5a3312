//! A shell command that reads a log on its standard input.

use crate::observe::{Severity, Subject, report};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

/// A command that has run this long is restarted at once when it exits.
const STEADY: Duration = Duration::from_secs(10);

/// Pause before restarting a command that exits sooner: the first and the longest; it doubles every time. Lines are
/// lost meanwhile: a writer that waited could not be stopped.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(64)];

/// How long a command may take to exit once its input is closed.
const PATIENCE: Duration = Duration::from_secs(1);

/// A running command.
#[derive(Debug)]
pub(super) struct Command {
    text: String,
    child: Child,
    input: ChildStdin,
    started: Instant,
    /// Minimum time between `started` and the next start.
    pause: Duration,
}

impl Command {
    /// Starts `text` in a shell.
    ///
    /// # Errors
    /// There is no shell, or no process can be created.
    pub(super) fn start(text: &str) -> io::Result<Self> {
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", text])
            .stdin(Stdio::piped())
            // Own process group: an interrupt from the terminal is for the server; the command reads its last lines.
            .process_group(0)
            .spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { text: text.to_owned(), child, input, started: Instant::now(), pause: PAUSES[0] })
    }

    /// Writes; blocks while the command does not read.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.input.write(bytes)
    }

    /// Restarts the command after it has exited, unless the last start was too recent.
    ///
    /// # Errors
    /// It is too early, or the command cannot be started.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        let pause = if self.started.elapsed() >= STEADY { Duration::ZERO } else { self.pause };
        if self.started.elapsed() < pause {
            return Err(io::Error::other("the command has exited"));
        }
        // It may have closed its input without exiting; it is replaced all the same.
        let end = self.child.try_wait()?.map_or("closed its input".to_owned(), |s| format!("ended ({s})"));
        let text = format_args!("| {}: the command has {end}; restarting it", self.text);
        report(Severity::Warn, Subject::AccessLog, text);
        let started = Self::start(&self.text)?;
        *self = Self { pause: (pause * 2).clamp(PAUSES[0], PAUSES[1]), ..started };
        Ok(())
    }

    /// Closes its input and waits a little for it to exit.
    pub(super) fn close(self) {
        let Self { text, mut child, input, .. } = self;
        drop(input);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        let text =
            format_args!("| {text}: the command did not exit after its input was closed; it keeps running");
        report(Severity::Warn, Subject::AccessLog, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::file::scratch::Scratch;

    #[test]
    fn a_command_reads_all_lines_and_ends_with_them() {
        let folder = Scratch::new();
        let log = folder.path("log");
        let mut command = Command::start(&format!("cat > {}", log.display())).unwrap();
        command.write(b"a\n").unwrap();
        command.write(b"b\n").unwrap();
        command.close();
        assert_eq!(std::fs::read(log).unwrap(), b"a\nb\n");
    }

    #[test]
    fn a_command_that_ends_is_started_again_with_growing_pauses() {
        let folder = Scratch::new();
        let log = folder.path("log");
        let mut command = Command::start(&format!("read line && echo $line >> {}", log.display())).unwrap();
        command.write(b"a\n").unwrap();
        command.child.wait().unwrap();
        assert_eq!(command.restart().unwrap_err().to_string(), "the command has exited");
        command.started -= PAUSES[0];
        command.restart().unwrap();
        assert_eq!(command.pause, PAUSES[0] * 2);
        command.started -= STEADY;
        command.restart().unwrap();
        assert_eq!(command.pause, PAUSES[0]);
        command.write(b"b\n").unwrap();
        command.close();
        assert_eq!(std::fs::read(log).unwrap(), b"a\nb\n");
    }

    #[test]
    fn writing_to_a_command_that_has_ended_is_a_broken_pipe() {
        let mut command = Command::start("exit 1").unwrap();
        command.child.wait().unwrap();
        // The process of another test may hold the pipe between its fork and its exec.
        let deadline = Instant::now() + PATIENCE;
        let mut written = command.write(b"a\n");
        while written.is_ok() && Instant::now() < deadline {
            written = command.write(b"a\n");
        }
        assert_eq!(written.expect_err("nobody reads").kind(), io::ErrorKind::BrokenPipe);
    }
}
