//! The load on the example: the steps of the published series S1, and one run of each.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use super::stack::{Counters, PROCESSES, Pooling, Stack};
use crate::load::{PATIENCE, SOURCES, split};
use crate::race::Setup;

/// Connections and their distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) connections: usize,
    pub(super) keep_alive: bool,
    pub(super) rtt_ms: u32,
    /// The published figure: requests per second, for a file.
    pub(super) published: u32,
    /// Whether it is measured with every setting or only as shipped.
    every: bool,
}

const fn near(name: &'static str, connections: usize, keep_alive: bool, published: u32, every: bool) -> Step {
    Step { name, connections, keep_alive, rtt_ms: 0, published, every }
}

const fn far(name: &'static str, connections: usize, published: u32) -> Step {
    Step { name, connections, keep_alive: false, rtt_ms: 100, published, every: true }
}

/// The series: on this machine with and without keep-alive, then its four steps from 100 ms away.
pub(super) const STEPS: [Step; 8] = [
    near("near-kept-100", 100, true, 36_492, true),
    near("near-kept-1000", 1000, true, 34_925, false),
    near("near-new-100", 100, false, 14_132, false),
    near("near-new-1000", 1000, false, 13_725, false),
    far("far-100", 100, 467),
    far("far-1000", 1000, 1_269),
    far("far-10000", 10_000, 1_515),
    far("far-20000", 20_000, 2_284),
];

/// One run of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Actual connections: as many as the limit of open files allows.
    pub(super) connections: usize,
    pub(super) rate: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) errors: u64,
    /// CPU time per API request, for each process.
    pub(super) cost_us: [f64; 3],
    /// Connections opened to the API and to the database per 1,000 requests.
    pub(super) opened: [f64; 2],
}

impl Step {
    /// Load whose figures are discarded.
    pub(super) const WARM_UP: Self = near("warm-up", 100, true, 0, true);

    pub(super) fn is_of(&self, pooling: Pooling) -> bool {
        self.every || pooling == Pooling::Both
    }

    /// The maximum of responses per second for this many clients at that distance, with a connection for each request.
    pub(super) fn limit(&self) -> Option<f64> {
        (self.rtt_ms > 0).then(|| self.connections as f64 * 1e3 / (2.0 * f64::from(self.rtt_ms)))
    }

    /// Whether so many clients wait that a response takes seconds: such a step gets more time.
    fn is_slow(&self) -> bool {
        self.connections >= 10_000
    }

    fn words(&self) -> Vec<String> {
        let mut words = split("--http 1.1 --expect-status 200");
        if !self.keep_alive {
            words.extend(split(&format!("--keepalive off --source {SOURCES}")));
        }
        if self.rtt_ms > 0 {
            let warm_up = if self.is_slow() { 4 } else { 1 };
            words.extend(split(&format!(
                "--rtt {}ms --ramp-up 1s --warm-up {warm_up}s --timeout 30s",
                self.rtt_ms
            )));
        }
        words
    }
}

impl Setup {
    /// One run of a step.
    ///
    /// # Errors
    /// No request is answered, or the API does not report its counters.
    pub(super) fn load_rest_api(&self, stack: &Stack, step: &Step, time: Duration) -> Result<Sample, String> {
        let list = self.guard.folder.join("urls");
        fs::write(&list, urls(stack.port)).map_err(|error| format!("{}: {error}", list.display()))?;
        let connections = self.possible(step.connections);
        let time = if step.is_slow() { time * 2 } else { time };
        let mut words = split(&format!("-c {connections} -d {}s", time.as_secs_f64()));
        words.extend(step.words());
        words.extend(["--urls".to_owned(), list.display().to_string()]);
        let before = stack.counters()?;
        let outcome = self.generate(&words, stack.hayami(), time + PATIENCE * 2)?;
        let paid = stack.counters()?.since(&before);
        Ok(Sample {
            connections,
            rate: outcome.responses as f64 / outcome.seconds,
            p50_us: outcome.p50_us,
            p99_us: outcome.p99_us,
            errors: outcome.errors,
            cost_us: paid.cost_us(),
            opened: [paid.connections, paid.database_connections].map(|opened| opened * 1e3 / paid.requests),
        })
    }
}

impl Counters {
    /// CPU time per request, for each process.
    fn cost_us(&self) -> [f64; PROCESSES.len()] {
        self.cpu_us.map(|time| time / self.requests)
    }
}

/// The requests: nine in ten fetch a product (0.2 to 1.2 KB), the others a page of eight (3 to 6 KB).
fn urls(port: u16) -> String {
    let mut list = String::new();
    for number in (0..1000).step_by(20) {
        // Writing to a string cannot fail.
        let _ = writeln!(list, "9 GET http://127.0.0.1:{port}/api/products/p-{number:05}");
        let _ = writeln!(list, "1 GET http://127.0.0.1:{port}/api/products?after=p-{number:05}");
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_series_has_four_steps_from_far_away() {
        let far: Vec<_> = STEPS.iter().filter(|step| step.rtt_ms == 100).collect();
        assert_eq!(far.iter().map(|step| step.connections).collect::<Vec<_>>(), [100, 1000, 10_000, 20_000]);
        assert!(far.iter().all(|step| Pooling::ALL.iter().all(|pooling| step.is_of(*pooling))));
        assert_eq!(far[1].limit(), Some(5000.0));
    }

    #[test]
    fn nine_in_ten_ask_for_one_product() {
        let list = urls(80);
        let weight = |of: &str| {
            let lines = list.lines().filter(|line| line.contains(of));
            lines.filter_map(|line| line.split(' ').next()?.parse::<u32>().ok()).sum::<u32>()
        };
        assert_eq!((weight("/p-"), weight("?after=")), (450, 50));
    }
}
