//! Memory of idle connections: how much the resident size of a server's processes grows. `hayami bench` opens
//! them, sends one request or none on each, and is then paused while memory is read.

use std::fs;
use std::net::SocketAddrV4;
use std::thread;
use std::time::{Duration, Instant};

use crate::cost;
use crate::figure::{Figure, Sample};
use crate::generator::Running;
use crate::load::{SOURCES, split};
use crate::process::Process;
use crate::race::{Row, Setup, Start, Table};
use crate::workload::{Kind, Workload};

/// A server's memory does not shrink when connections close, so each round restarts it; more rounds than this
/// add nothing.
const ROUNDS: usize = 3;
/// Connections allowed to a server that should reserve almost nothing.
const FEW: usize = 64;
/// A server that accepts no further connection for this long has reached its limit.
const STANDSTILL: Duration = Duration::from_secs(15);
/// The connections are opened over this time, so that no backlog overflows.
const RAMP_UP_SECONDS: usize = 5;
/// Each of them sends one request within this time.
const CYCLE_SECONDS: usize = 4;
/// How long to wait for responses in flight after the last request.
const QUIET: Duration = Duration::from_millis(500);

impl Setup {
    /// Runs a workload of idle connections.
    pub(crate) fn hold_idle(&self, workload: &Workload) -> Table {
        let Kind::Idle { connections: wanted, .. } = workload.kind else {
            unreachable!("a workload of idle ones")
        };
        let connections = self.possible(wanted);
        let mut rows: Vec<Row> = self.servers_of(workload).into_iter().map(Row::new).collect();
        for _ in 0..self.rounds.min(ROUNDS) {
            for row in rows.iter_mut().filter(|row| row.fault.is_none()) {
                row.fault = self.hold_once(workload, connections, row).err();
            }
        }
        Table::new(*workload, rows, self.note_on_limit(wanted))
    }

    /// One round for one server. The limit is a twelfth above the number of connections: nginx closes idle
    /// ones once only a sixteenth is free.
    fn hold_once(&self, workload: &Workload, connections: usize, row: &mut Row) -> Result<(), String> {
        let (small, _) = self.start(row.server, workload, allowing(FEW))?;
        let unreserved = cost::resident(small.id());
        drop(small);
        let allowed = connections + connections / 12;
        let (process, bytes) = self.start(row.server, workload, allowing(allowed))?;
        row.bytes = bytes;
        let before = cost::resident(process.id());
        let shared_before = cost::proportional(process.id());
        let mut held = self.hold(workload, &process, connections)?;
        let opened = settle(workload, &mut held, process.address, connections);
        held.pause();
        thread::sleep(QUIET);
        let (after, shared_after) = (cost::resident(process.id()), cost::proportional(process.id()));
        let alive = established(process.address).min(connections);
        held.stop();
        // If fewer than half of them remain, their memory says nothing about one.
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

    /// Opens the connections and sends requests on them in turn, or almost none.
    fn hold(&self, workload: &Workload, process: &Process, connections: usize) -> Result<Running, String> {
        let Kind::Idle { asked, .. } = workload.kind else { unreachable!("a workload of idle ones") };
        let rate = if asked { connections.div_ceil(CYCLE_SECONDS).to_string() } else { "1/m".to_owned() };
        let mut words = split(&format!(
            "-c {connections} -r {rate} --ramp-up {RAMP_UP_SECONDS}s --warm-up 0 -d 10m --timeout 60s \
             --source {SOURCES}"
        ));
        words.extend(self.protocol(workload.wire, None));
        words.push(workload.url(&process.address.to_string()));
        self.start_generator(&words, process.id())
    }
}

fn allowing(connections: usize) -> Start {
    Start { connections: Some(connections), ..Start::default() }
}

/// Waits until all connections are open and, if they are to send a request, each has done so.
fn settle(
    workload: &Workload,
    held: &mut Running,
    address: SocketAddrV4,
    connections: usize,
) -> Result<(), String> {
    let (mut most, mut grew) = (0, Instant::now());
    while most < connections {
        let there = established(address);
        if there > most {
            (most, grew) = (there, Instant::now());
        }
        if let Some(fault) = held.fault() {
            return Err(fault);
        }
        if grew.elapsed() > STANDSTILL {
            return Err(format!("takes only {most} of {connections} connections"));
        }
        thread::sleep(Duration::from_millis(100));
    }
    let asked = matches!(workload.kind, Kind::Idle { asked: true, .. });
    // One second more than a cycle, for late requests; without requests, for handshakes in progress.
    let seconds = if asked { CYCLE_SECONDS + 1 } else { 2 };
    thread::sleep(Duration::from_secs(seconds as u64));
    Ok(())
}

/// How many connections to this address the server has.
fn established(address: SocketAddrV4) -> usize {
    count(&fs::read_to_string("/proc/net/tcp").unwrap_or_default(), address)
}

/// The rows of /proc/net/tcp (`proc(5)`) with this local address in the state ESTABLISHED.
fn count(table: &str, address: SocketAddrV4) -> usize {
    const ESTABLISHED: &str = "01";
    // The address is a word in native byte order, the port a number.
    let wanted = format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port());
    let is_wanted = |line: &&str| {
        let mut fields = line.split_ascii_whitespace();
        fields.nth(1) == Some(&wanted) && fields.nth(1) == Some(ESTABLISHED)
    };
    table.lines().filter(is_wanted).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn connections_of_the_server_are_counted_and_neither_its_listener_nor_its_clients() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
            1: 0100007F:1F90 0100007F:ABCD 01 00000000:00000000\n\
            2: 0100007F:1F90 0200007F:ABCD 01 00000000:00000000\n\
            3: 0100007F:1F90 0200007F:ABCE 06 00000000:00000000\n\
            4: 0100007F:ABCD 0100007F:1F90 01 00000000:00000000\n";
        assert_eq!(count(table, "127.0.0.1:8080".parse().unwrap()), 2);
        assert_eq!(count(table, "127.0.0.1:8081".parse().unwrap()), 0);
    }
}
