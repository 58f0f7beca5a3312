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
    /// Scripts for nginx and h2o send it to reopen logs. That is not there yet, and ending the program is
    /// what nobody means by it.
    reopen: Signal,
}

/// What a signal asks for.
pub(crate) enum Wish {
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

    /// What the next signal asks for.
    pub(crate) async fn next(&mut self) -> Wish {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Wish::End("SIGTERM"),
                _ = self.interrupt.recv() => return Wish::End("SIGINT"),
                _ = self.quit.recv() => return Wish::End("SIGQUIT"),
                _ = self.reload.recv() => return Wish::Reload,
                _ = self.reopen.recv() => report(
                    Severity::Warn,
                    Subject::Server,
                    "SIGUSR1 is not supported; to reopen log files: `hayami reload`, or SIGHUP",
                ),
            }
        }
    }

    /// The next one that comes `TWICE` after `first`: supervisors such as timeout(1) send a signal to the
    /// process and to its group, and mean it once.
    pub(crate) async fn again(&mut self, first: Instant) -> &'static str {
        loop {
            match self.next().await {
                Wish::End(name) if first.elapsed() >= TWICE => return name,
                // A server that is about to end needs no new configuration.
                Wish::End(_) | Wish::Reload => {}
            }
        }
    }
}

/// Within this time a second signal is an echo of the first.
const TWICE: Duration = Duration::from_millis(500);
