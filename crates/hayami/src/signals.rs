//! Signals of the process.

use crate::exit::Failure;
use hayami_server::observe::{Severity, Subject, report};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that the program listens to.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    reload: Signal,
    /// Scripts for nginx and h2o send it to reopen logs, which is not supported; the default action would end
    /// the program.
    reopen: Signal,
}

/// What a signal requests.
pub(crate) enum SignalCommand {
    /// End; with the signal's name.
    End(&'static str),
    /// Read the configuration again.
    Reload,
}

impl Signals {
    /// Begins to listen for them.
    ///
    /// # Errors
    /// The system refused the handlers.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let on =
            |kind| signal(kind).map_err(|error| Failure::System(format!("cannot handle signals: {error}")));
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            quit: on(SignalKind::quit())?,
            reload: on(SignalKind::hangup())?,
            reopen: on(SignalKind::user_defined1())?,
        })
    }

    /// What the next signal requests.
    pub(crate) async fn next(&mut self) -> SignalCommand {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return SignalCommand::End("SIGTERM"),
                _ = self.interrupt.recv() => return SignalCommand::End("SIGINT"),
                _ = self.quit.recv() => return SignalCommand::End("SIGQUIT"),
                _ = self.reload.recv() => return SignalCommand::Reload,
                _ = self.reopen.recv() => report(
                    Severity::Warn,
                    Subject::Server,
                    "SIGUSR1 is not supported; to reopen log files: `hayami reload`, or SIGHUP",
                ),
            }
        }
    }

    /// The next one at least `TWICE` after `first`: supervisors such as timeout(1) send one signal to the
    /// process and again to its group.
    pub(crate) async fn again(&mut self, first: Instant) -> &'static str {
        loop {
            match self.next().await {
                SignalCommand::End(name) if first.elapsed() >= TWICE => return name,
                // A server that is about to end needs no new configuration.
                SignalCommand::End(_) | SignalCommand::Reload => {}
            }
        }
    }
}

/// Within this time a second signal is a duplicate of the first.
const TWICE: Duration = Duration::from_millis(500);
