//! Measures the server's cost during a run, and the load of the machine.

use hayami_load::server::{Busy, CpuTime, Server};
use hayami_load::{Control, CpuRoom, Phase, ServerCost};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The interval of memory readings: adding up a process's pages costs milliseconds.
const LOOK: Duration = Duration::from_millis(500);

/// Readings of one run.
pub(super) struct Meter {
    server: Option<Server>,
    read: Mutex<Readings>,
}

#[derive(Default)]
struct Readings {
    begin: Option<Reading>,
    end: Option<Reading>,
    memory: u64,
}

/// The server, if its processes are visible, and the machine at one moment.
#[derive(Clone)]
struct Reading {
    server: CpuTime,
    machine: Busy,
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
        match phase {
            Phase::Measuring => self.read().begin = Some(self.now()),
            Phase::Done if self.read().end.is_none() => self.read().end = Some(self.now()),
            Phase::Waiting | Phase::WarmUp | Phase::Done => {}
        }
    }

    fn now(&self) -> Reading {
        let server = self.server.as_ref().map(Server::cpu).unwrap_or_default();
        Reading { server, machine: Busy::read() }
    }

    /// Reads the memory until the run ends. Runs on a separate thread.
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

    /// The cost, if it could be read.
    pub(super) fn cost(&self) -> Option<ServerCost> {
        let read = self.read();
        let (begin, end) = (read.begin.as_ref()?, read.end.as_ref()?);
        Some(self.server.as_ref()?.cost(begin.server, end.server, read.memory))
    }

    /// The number of CPUs, if it is known.
    pub(super) fn room(&self) -> Option<CpuRoom> {
        let read = self.read();
        let (begin, end) = (read.begin.as_ref()?, read.end.as_ref()?);
        begin.machine.room(&end.machine, self.server.as_ref())
    }
}
