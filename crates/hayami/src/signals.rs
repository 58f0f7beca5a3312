//! Signals of the process.

use crate::exit::Failure;
use std::time::Duration;
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
}

/// How often the program looks whether its workers have ended.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
