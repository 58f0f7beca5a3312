//! A shell command that reads a log on its standard input.

use crate::observe::report;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

/// Time between two starts: a command that ends at once must not keep the machine busy.
const BETWEEN_STARTS: Duration = Duration::from_secs(1);

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
