//! `hayami bench`, this tree's load generator, as a process: started on the load core with one thread,
//! awaited, paused, stopped. Its report is parsed in `outcome`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::outcome::{self, Outcome};
use crate::race::Setup;
use crate::servers;
use crate::{guard, pin};

/// Interval at which a run is checked: often enough to end soon after it, seldom enough to cost nothing.
const LOOK: Duration = Duration::from_millis(5);
/// How long it may take to write its report after it is asked to stop.
const STOPPING: Duration = Duration::from_secs(10);

/// A run in progress. Dropping it ends it.
pub(crate) struct Running {
    child: Child,
    report: PathBuf,
    log: PathBuf,
}

impl Setup {
    /// Runs `hayami bench` with these arguments against the server `pid`, for at most `limit`.
    ///
    /// # Errors
    /// It cannot be started, does not end, or gets no response at all: one line.
    pub(crate) fn generate(&self, words: &[String], pid: u32, limit: Duration) -> Result<Outcome, String> {
        self.start_generator(words, pid)?.wait(limit)
    }

    /// Starts `hayami bench` with these arguments.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start_generator(&self, words: &[String], pid: u32) -> Result<Running, String> {
        let (report, log) = (self.guard.folder.join("load.json"), self.guard.folder.join("load.log"));
        let _ = fs::remove_file(&report); // So that a run without a report does not pick up the previous one.
        let printed = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = Command::new(servers::hayami_binary());
        command.args(["bench", "-q", "-t", "1", "--server-pid"]).arg(pid.to_string());
        command.arg("--json").arg(&report).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(printed);
        let spawned = pin::on_core(self.client_core, || command.spawn());
        let child = spawned.map_err(|error| format!("hayami bench: {error}"))?;
        self.guard.watch(child.id());
        Ok(Running { child, report, log })
    }
}

impl Running {
    /// Waits until it ends by itself and reads its report.
    ///
    /// # Errors
    /// It does not end in time, writes no report, or got no response at all.
    pub(crate) fn wait(mut self, limit: Duration) -> Result<Outcome, String> {
        let in_time = self.ends_within(limit);
        if !in_time {
            return Err(format!("hayami bench did not end within {} s", limit.as_secs()));
        }
        self.read()
    }

    /// Pauses it; its connections stay open.
    pub(crate) fn pause(&self) {
        guard::signal(self.child.id(), Signal::STOP);
    }

    /// Stops it early; its results are discarded.
    pub(crate) fn stop(mut self) {
        guard::signal(self.child.id(), Signal::CONT);
        guard::signal(self.child.id(), Signal::INT);
        self.ends_within(STOPPING);
    }

    /// Why it has ended, if it has.
    pub(crate) fn fault(&mut self) -> Option<String> {
        matches!(self.child.try_wait(), Ok(Some(_))).then(|| self.said())
    }

    fn ends_within(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if start.elapsed() > limit {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }

    fn read(&self) -> Result<Outcome, String> {
        let report = fs::read_to_string(&self.report).map_err(|_| self.said())?;
        outcome::read(&report).map_err(|error| format!("hayami bench: {error}"))
    }

    /// The last line of its error output.
    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        format!("hayami bench: {}", last.unwrap_or("no report"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            guard::signal(self.child.id(), Signal::CONT);
            guard::end_tree(self.child.id());
        }
        let _ = self.child.wait();
    }
}
