//! The state that a run shares with the thread that started it: the stop request, the phase, live counts.

use crate::{Causes, Histogram};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub enum Phase {
    /// Not begun.
    Waiting,
    /// Connections are being opened, load is generated, nothing is counted.
    WarmUp,
    /// Events are counted.
    Measuring,
    /// The results are being collected.
    Done,
}

type Hook = Box<dyn Fn(Phase) + Send + Sync>;

/// Shared by a run and its observers.
pub struct Control {
    stop: AtomicBool,
    phase: AtomicU8,
    hook: Option<Hook>,
    /// What happened so far.
    pub live: Live,
}

impl Control {
    /// A control whose hook is called by the run at each change of phase, on the run's own thread; it should
    /// take well under a millisecond.
    pub fn new(hook: Option<Hook>) -> Self {
        Self { stop: AtomicBool::new(false), phase: AtomicU8::new(0), hook, live: Live::default() }
    }

    /// Asks the run to end soon, with the results so far.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the run should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// For the run: another phase begins.
    pub fn enter(&self, phase: Phase) {
        if phase == Phase::Measuring {
            self.live.forget_causes();
        }
        self.phase.store(phase as u8, Relaxed);
        if let Some(hook) = &self.hook {
            hook(phase);
        }
    }

    /// The phase of the run.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            0 => Phase::Waiting,
            1 => Phase::WarmUp,
            2 => Phase::Measuring,
            _ => Phase::Done,
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("phase", &self.phase()).finish_non_exhaustive()
    }
}

/// Counts for a live view, updated by every worker a few times a second, and never locked for long.
#[derive(Debug, Default)]
pub struct Live {
    /// Complete answers since measuring began.
    pub responses: AtomicU64,
    /// Errors since measuring began.
    pub errors: AtomicU64,
    /// Bytes received since measuring began.
    pub bytes_in: AtomicU64,
    /// Connections that are usable now.
    pub connections: AtomicU64,
    /// Latencies since measuring began.
    latency: Mutex<Histogram>,
    /// Why requests failed, in this phase.
    causes: Mutex<Causes>,
}

impl Live {
    /// Adds a worker's latencies since its last call.
    pub fn add_latency(&self, latest: &Histogram) {
        self.latency.lock().unwrap_or_else(PoisonError::into_inner).merge(latest);
    }

    /// Adds why a worker's requests failed since its last call.
    pub fn add_causes(&self, latest: &Causes) {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner).merge(latest);
    }

    /// Why requests failed so far.
    pub fn causes(&self) -> Causes {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn forget_causes(&self) {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The latencies so far.
    pub fn latency(&self) -> Histogram {
        self.latency.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
