//! Memory of idle connections: how much the resident size of a server's processes grows.

use std::net::SocketAddrV4;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::cost;
use crate::figure::{Figure, Sample};
use crate::h2::Greeted;
use crate::held::{Held, Hold};
use crate::race::{Row, Setup, Table};
use crate::workload::{Kind, Wire, Workload};

/// Descriptors this program and a server need besides the connections.
const SPARE_DESCRIPTORS: u64 = 300;
/// A server's memory does not shrink when connections go, so each round starts it anew; more rounds
/// than this add nothing.
const ROUNDS: usize = 3;
/// Connections allowed to a server that is to reserve next to nothing.
const FEW: usize = 64;
/// Ten thousand handshakes are a few seconds on a machine that does nothing else.
const TIME_LIMIT: Duration = Duration::from_secs(120);

impl Setup {
    /// Runs a workload of idle connections.
    pub(crate) fn hold_idle(&self, workload: &Workload) -> Table {
        let Kind::Idle { connections: wanted, .. } = workload.kind else {
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

    /// One round for one server. It may have a twelfth more connections than it gets: nginx closes idle
    /// ones as soon as only a sixteenth is free.
    fn hold_once(&self, workload: &Workload, connections: usize, row: &mut Row) -> Result<(), String> {
        let (small, _) = self.start(row.server, workload, Some(FEW), 0)?;
        let unreserved = cost::resident(small.id());
        drop(small);
        let allowed = connections + connections / 12;
        let (process, answer) = self.start(row.server, workload, Some(allowed), 0)?;
        row.octets = answer.octets;
        let before = cost::resident(process.id());
        let shared_before = cost::proportional(process.id());
        let mut held = self.holder(workload, process.address)?;
        let opened = held.open(process.address, connections, TIME_LIMIT);
        let (after, shared_after) = (cost::resident(process.id()), cost::proportional(process.id()));
        let alive = held.alive();
        // With less than half of them left, what it holds says nothing about one.
        let counted = if alive * 2 < connections { f64::NAN } else { alive as f64 };
        let each = |grown: u64| grown as f64 / counted;
        row.peak_memory = row.peak_memory.max(cost::peak_memory(process.id()));
        row.samples.push(Sample::from([
            (Figure::MemoryPerConnection, each(after.saturating_sub(before))),
            (Figure::ProportionalPerConnection, each(shared_after.saturating_sub(shared_before))),
            (Figure::MemoryWithReserve, each(after.saturating_sub(unreserved))),
            (Figure::Alive, alive as f64),
            (Figure::Errors, (connections - alive) as f64),
        ]));
        opened
    }

    /// What opens and holds the connections of a workload.
    fn holder(&self, workload: &Workload, address: SocketAddrV4) -> Result<Box<dyn Hold>, String> {
        let Kind::Idle { asked, .. } = workload.kind else { unreachable!("a workload of idle ones") };
        Ok(match workload.wire {
            Wire::Http1 => {
                Box::new(Held::new(workload.request(&address.to_string()), workload.document().octets))
            }
            Wire::Http2 | Wire::Http2Tls => {
                let (tls, request) = self.http2(workload, address)?;
                Box::new(Greeted::new(tls, request, asked))
            }
        })
    }
}
