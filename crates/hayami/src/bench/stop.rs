//! Ctrl-C: the first ends the run and reports, the second ends the program.

use crate::exit::Failure;
use hayami_load::Control;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};

/// The exit code of a run that was stopped: 128 and the number of SIGINT, as shells count.
pub(super) const STOPPED: u8 = 130;

/// Whether the user has interrupted the run.
#[derive(Default)]
pub(super) struct Stop {
    asked: AtomicBool,
    control: Mutex<Option<Arc<Control>>>,
}

impl Stop {
    /// Begins to listen for SIGINT and SIGTERM, on a separate thread.
    ///
    /// # Errors
    /// The system refused thread or handler.
    pub(super) fn listen() -> Result<Arc<Self>, Failure> {
        let stop = Arc::new(Self::default());
        let refused = |error| Failure::System(format!("cannot handle signals: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(refused)?;
        let (mut interrupt, mut terminate) = {
            let _within = runtime.enter();
            (
                signal(SignalKind::interrupt()).map_err(refused)?,
                signal(SignalKind::terminate()).map_err(refused)?,
            )
        };
        let shared = stop.clone();
        let wait = move || {
            runtime.block_on(async {
                loop {
                    tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
                    shared.ask();
                }
            })
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait).map_err(refused)?;
        Ok(stop)
    }

    fn ask(&self) {
        if self.asked.swap(true, Ordering::Relaxed) {
            std::process::exit(STOPPED.into());
        }
        if let Some(control) = &*self.control.lock().unwrap_or_else(PoisonError::into_inner) {
            control.stop();
        }
    }

    /// The run that a signal ends.
    pub(super) fn attach(&self, control: &Arc<Control>) {
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = Some(control.clone());
        // It may have arrived between two runs.
        if self.is_requested() {
            control.stop();
        }
    }

    /// Whether a signal has arrived.
    pub(super) fn is_requested(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}
