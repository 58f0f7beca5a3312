//! Memory of idle connections: how much the resident size of a server's processes grows.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::cost;
use crate::figure::{Figure, Sample};
use crate::held::Held;
use crate::race::{Row, Setup, Table};
use crate::workload::{Kind, Workload};

/// Descriptors this program and a server need besides the connections.
const SPARE_DESCRIPTORS: u64 = 300;
/// A server's memory does not shrink when connections go, so each round starts it anew; more rounds
/// than this add nothing.
const ROUNDS: usize = 3;
const TIME_LIMIT: Duration = Duration::from_secs(30);

impl Setup {
    /// Runs a workload of idle connections.
    pub(crate) fn hold_idle(&self, workload: &Workload) -> Table {
        let Kind::Idle { connections: wanted } = workload.kind else {
            unreachable!("a workload of idle ones")
        };
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let connections = wanted.min(limit.saturating_sub(SPARE_DESCRIPTORS) as usize);
        let mut notes = Vec::new();
        if connections < wanted {
            notes.push(format!("only {connections} connections: the open-files limit is {limit}"));
        }
        let mut rows: Vec<Row> = self.servers_of(workload).into_iter().map(Row::new).collect();
        for _ in 0..self.rounds.min(ROUNDS) {
            for row in rows.iter_mut().filter(|row| row.fault.is_none()) {
                row.fault = self.hold_once(workload, connections, row).err();
            }
        }
        Table::new(*workload, rows, notes)
    }

    fn hold_once(&self, workload: &Workload, connections: usize, row: &mut Row) -> Result<(), String> {
        let (process, answer) = self.start(row.server, workload, 0)?;
        row.octets = answer.octets;
        let before = cost::resident(process.id());
        let request = workload.request(&process.address.to_string());
        let mut held = Held::new(request, workload.document().octets);
        held.open(process.address, connections, TIME_LIMIT)?;
        let growth = cost::resident(process.id()).saturating_sub(before);
        let alive = held.alive();
        row.peak_memory = row.peak_memory.max(cost::peak_memory(process.id()));
        row.samples.push(Sample::from([
            (Figure::MemoryPerConnection, growth as f64 / connections as f64),
            (Figure::Alive, alive as f64),
            (Figure::Errors, (connections - alive) as f64),
        ]));
        Ok(())
    }
}
