//! A shell command that reads a log on its standard input.

use crate::observe::report;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

/// Time between two starts: a command that ends at once must not keep the machine busy.
const BETWEEN_STARTS: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1000 });

/// How long a command may take to end once its input has.
const PATIENCE: Duration = Duration::from_secs(1);

/// A command that runs.
#[derive(Debug)]
pub(super) struct Command {
    text: String,
    child: Child,
    input: ChildStdin,
    started: Instant,
}

impl Command {
    /// Starts `text` in a shell.
    ///
    /// # Errors
    /// There is no shell, or no process can be made.
    pub(super) fn start(text: &str) -> io::Result<Self> {
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", text])
            .stdin(Stdio::piped())
            // Its own group: an interrupt from the terminal is for the server, whose last lines it shall read.
            .process_group(0)
            .spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { text: text.to_owned(), child, input, started: Instant::now() })
    }

    /// Writes; waits while the command does not read.
    pub(super) fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.input.write(octets)
    }

    /// Starts the command again after it has ended.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        report(&format!("access-log | {}: the command has ended ({status}); starting it again", self.text));
        std::thread::sleep(BETWEEN_STARTS.saturating_sub(self.started.elapsed()));
        *self = Self::start(&self.text)?;
        Ok(())
    }

    /// Ends its input and waits a little for it to end.
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
        report(&format!("access-log | {text}: the command has not ended with its input; left alone"));
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
    fn a_command_that_has_ended_is_started_again() {
        let folder = Scratch::new();
        let log = folder.path("log");
        let mut command = Command::start(&format!("read line; echo $line >> {}", log.display())).unwrap();
        command.write(b"a\n").unwrap();
        command.restart().unwrap();
        command.write(b"b\n").unwrap();
        command.close();
        assert_eq!(std::fs::read(log).unwrap(), b"a\nb\n");
    }

    #[test]
    fn writing_to_a_command_that_has_ended_is_a_broken_pipe() {
        let mut command = Command::start("exit 1").unwrap();
        command.child.wait().unwrap();
        let error = command.write(b"a\n").expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
