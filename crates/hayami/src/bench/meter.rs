//! What the server pays while a run measures.

use hayami_load::server::{CpuTime, Server};
use hayami_load::{Control, Phase, ServerCost};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Memory is looked at so often: adding up a process's pages costs milliseconds.
const LOOK: Duration = Duration::from_millis(500);

/// Readings of one run.
pub(super) struct Meter {
    server: Option<Server>,
    read: Mutex<Readings>,
}

#[derive(Default)]
struct Readings {
    begin: Option<CpuTime>,
    end: Option<CpuTime>,
    memory: u64,
}

impl Meter {
    pub(super) fn new(server: Option<Server>) -> Self {
        Self { server, read: Mutex::default() }
    }

    fn read(&self) -> std::sync::MutexGuard<'_, Readings> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the run's changes of phase: only what is used while measuring counts.
    pub(super) fn enter(&self, phase: Phase) {
        let Some(server) = &self.server else { return };
        match phase {
            Phase::Measuring => self.read().begin = Some(server.cpu()),
            Phase::Done if self.read().end.is_none() => self.read().end = Some(server.cpu()),
            Phase::Waiting | Phase::WarmUp | Phase::Done => {}
        }
    }

    /// Looks at the memory until the run is over. For a thread of its own.
    pub(super) fn watch(&self, control: &Control) {
        let Some(server) = &self.server else { return };
        loop {
            if control.phase() >= Phase::Measuring {
                let now = server.memory();
                let mut read = self.read();
                read.memory = read.memory.max(now);
            }
            if control.phase() == Phase::Done {
                return;
            }
            std::thread::park_timeout(LOOK);
        }
    }

    /// What was paid, if anything could be read.
    pub(super) fn cost(&self) -> Option<ServerCost> {
        let read = self.read();
        Some(self.server.as_ref()?.cost(read.begin?, read.end?, read.memory))
    }
}
