//! Signals of the process.

use crate::exit::Failure;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the program.
pub(crate) struct Stop {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    /// Scripts for nginx and h2o send these to reload and to reopen logs. Neither is there yet, and ending
    /// the program is what nobody means by them.
    reload: Signal,
    reopen: Signal,
}

impl Stop {
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

    /// The name of the next one that ends the program.
    pub(crate) async fn next(&mut self) -> &'static str {
        loop {
            let ignored = tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.quit.recv() => return "SIGQUIT",
                _ = self.reload.recv() => "SIGHUP: reloading is not there yet; restart to read the configuration again",
                _ = self.reopen.recv() => "SIGUSR1: reopening logs is not there yet; log to a command such as rotatelogs",
            };
            eprintln!("hayami: {ignored}");
        }
    }

    /// The next one that comes `TWICE` after `first`: supervisors such as timeout(1) send a signal to the
    /// process and to its group, and mean it once.
    pub(crate) async fn again(&mut self, first: Instant) -> &'static str {
        loop {
            let name = self.next().await;
            if first.elapsed() >= TWICE {
                return name;
            }
        }
    }
}

/// Within this time a second signal is an echo of the first.
const TWICE: Duration = Duration::from_millis(500);

/// How often the program looks whether its workers have ended.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
