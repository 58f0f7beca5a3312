//! Signals of the process.

use crate::exit::Failure;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the program.
pub(crate) struct Stop {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
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
        })
    }

    /// The name of the next one.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.quit.recv() => "SIGQUIT",
        }
    }
}

/// How often the program looks whether its workers have ended.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
