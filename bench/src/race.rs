//! A race: all servers of a workload, measured in turn, round after round.

use std::fs;
use std::net::SocketAddrV4;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::backend::Backend;
use crate::cost;
use crate::figure::{self, Figure};
use crate::guard::Guard;
use crate::load::{self, expectation, split};
use crate::process::{self, Process};
use crate::servers::{self, BareAnswer, Server, Site, Upstream};
pub(crate) use crate::table::{Row, Table};
use crate::tls::Identity;
use crate::workload::{Behind, Flood, Kind, Use, Wire, Workload};

/// Descriptors that the generator and a server need besides the connections.
const SPARE_DESCRIPTORS: u64 = 300;
/// The number of connections that every server here allows by default.
const DEFAULT_CONNECTIONS: usize = 900;

/// The settings of a run that hold for every workload.
pub(crate) struct Setup {
    pub(crate) guard: Guard,
    pub(crate) documents: PathBuf,
    pub(crate) identity: Identity,
    /// The installed and requested servers.
    pub(crate) servers: Vec<Server>,
    pub(crate) server_core: usize,
    pub(crate) client_core: usize,
    pub(crate) rounds: usize,
    pub(crate) time: Duration,
    /// The share of a flood's requests to send, above 0 and up to 1; `None` for the workload's own.
    pub(crate) scale: Option<f64>,
}

/// What a server is started with for a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Connections to allow, for workloads that need more than the server allows by default.
    pub(crate) connections: Option<usize>,
    /// For the bare loop: bytes of a response.
    pub(crate) bare_bytes: usize,
    /// The upstream.
    pub(crate) upstream: Option<Upstream>,
    /// Threads or processes.
    pub(crate) workers: usize,
}

impl Default for Start {
    fn default() -> Self {
        Self { connections: None, bare_bytes: 0, upstream: None, workers: 1 }
    }
}

/// A server in a race.
struct Lane {
    process: Process,
    row: Row,
}

impl Setup {
    /// The servers that take part in a workload.
    pub(crate) fn servers_of(&self, workload: &Workload) -> Vec<Server> {
        workload.servers.iter().copied().filter(|server| self.servers.contains(server)).collect()
    }

    /// The number of these connections that the limit of open files allows, here and in a server.
    pub(crate) fn possible(&self, connections: usize) -> usize {
        connections.min(open_files().saturating_sub(SPARE_DESCRIPTORS) as usize)
    }

    /// A note if they are fewer than requested.
    pub(crate) fn note_on_limit(&self, wanted: usize) -> Vec<String> {
        let connections = self.possible(wanted);
        let note = || format!("only {connections} connections: the open-files limit is {}", open_files());
        (connections < wanted).then(note).into_iter().collect()
    }

    /// The documents in cleartext, with the server's defaults.
    pub(crate) fn plain_site(&self, address: SocketAddrV4, folder: &Path) -> Site<'_> {
        Site {
            address,
            wire: Wire::Http1,
            identity: &self.identity,
            documents: &self.documents,
            folder: folder.to_owned(),
            connections: None,
            answer: BareAnswer::default(),
            upstream: None,
            workers: 1,
        }
    }

    /// Starts a server for a workload and returns the size of its response in bytes.
    ///
    /// # Errors
    /// It does not start or its responses are wrong; one line.
    pub(crate) fn start(
        &self,
        server: Server,
        workload: &Workload,
        start: Start,
    ) -> Result<(Process, usize), String> {
        let Start { connections, bare_bytes, upstream, workers } = start;
        let folder = self.guard.folder.join(server.name());
        prepare(&folder)?;
        let content = workload.document().bytes;
        let answer = BareAnswer {
            bytes: bare_bytes,
            content: content as usize,
            per_request: workload.is_per_request(),
        };
        let (address, log) = (process::free_address()?, folder.join("printed.log"));
        let plain = self.plain_site(address, &folder);
        let site = Site { wire: workload.wire, connections, answer, upstream, workers, ..plain };
        let command = server.command(&site)?;
        let command = match workload.kind {
            Kind::Flood(Flood { open_files: Some(limit), .. }) => servers::with_open_files(&command, limit),
            _ => command,
        };
        let process = Process::start(command, address, self.server_core, &log, &self.guard)?;
        let bytes = self.probe(workload, &process)?;
        Ok((process, bytes))
    }

    /// Checks the responses of a server just started and returns the size of the third one. By then the HPACK
    /// table contains the fields and the HTTP/2 settings are settled.
    fn probe(&self, workload: &Workload, process: &Process) -> Result<usize, String> {
        let with = if let Kind::Load { with, .. } = workload.kind { Some(with) } else { None };
        let received = |requests: u64| {
            let mut words = split(&format!("-c 1 -n {requests}"));
            words.extend(self.protocol(workload.wire, with));
            words.extend(expectation(workload.document()));
            if workload.is_per_request() {
                words.extend(split("--keepalive off"));
            }
            words.push(workload.url(&process.address.to_string()));
            let outcome = self.generate(&words, process.id(), load::PATIENCE)?;
            if outcome.errors == 0 { Ok(outcome.bytes) } else { Err(format!("{} errors", outcome.errors)) }
        };
        let sizes = received(2).and_then(|two| Ok((two, received(3)?)));
        let (two, three) = sizes.map_err(|error| format!("first requests: {error}"))?;
        Ok(three.saturating_sub(two) as usize)
    }

    /// Runs a load workload.
    pub(crate) fn race(&self, workload: &Workload) -> Table {
        let backend = match self.backend(workload) {
            Ok(backend) => backend,
            Err(fault) => return Table::new(*workload, Vec::new(), vec![format!("not raced: {fault}")]),
        };
        let (mut lanes, mut rows) = self.line_up(workload, backend.as_ref());
        for round in 0..self.rounds {
            for at in turns(lanes.len(), round) {
                let lane = &mut lanes[at];
                if lane.row.fault.is_none() {
                    lane.row.fault = self.measure(workload, lane).err();
                }
            }
        }
        rows.extend(lanes.into_iter().map(|lane| lane.row));
        let Kind::Load { connections, with, .. } = workload.kind else { unreachable!("a workload of load") };
        let mut notes = self.note_on_limit(connections);
        notes.push(format!(
            "load: `hayami bench -t 1 {} …`",
            self.words(workload, connections, with).join(" ")
        ));
        Table::new(*workload, rows, notes)
    }

    /// Starts all servers; those that fail to start become rows without samples.
    fn line_up(&self, workload: &Workload, backend: Option<&Backend>) -> (Vec<Lane>, Vec<Row>) {
        let (mut lanes, mut failed) = (Vec::new(), Vec::new());
        let mut start = Start {
            connections: allowed(workload),
            upstream: backend.map(|backend| backend.upstream),
            ..Start::default()
        };
        for server in self.servers_of(workload) {
            let row = Row::new(server);
            match self.start(server, workload, start) {
                Ok((process, bytes)) => {
                    // The first response defines the size for the bare loop: hayami's, if it takes part.
                    start.bare_bytes = if start.bare_bytes == 0 { bytes } else { start.bare_bytes };
                    lanes.push(Lane { process, row: Row { bytes, ..row } });
                }
                Err(fault) => failed.push(Row { fault: Some(fault), ..row }),
            }
        }
        (lanes, failed)
    }

    /// One server's turn in a round.
    fn measure(&self, workload: &Workload, lane: &mut Lane) -> Result<(), String> {
        let Lane { process, row } = lane;
        let outcome = self.load(workload, process)?;
        if !process.is_alive() {
            return Err("ended during the race".to_owned());
        }
        row.peak_memory = row.peak_memory.max(cost::peak_memory(process.id()));
        let mut sample = figure::of_load(&outcome);
        sample.insert(Figure::PeakInAll, row.peak_memory as f64 / 1e6);
        row.samples.push(sample);
        Ok(())
    }
}

/// The order of `count` servers in a round: each round starts with another one, so that none always follows
/// the same server.
pub(crate) fn turns(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |turn| (turn + round) % count)
}

/// The limit on connections for servers whose default is too low, with some to spare.
fn allowed(workload: &Workload) -> Option<usize> {
    let Kind::Load { connections, with: Use::OldPerRequest { rtt_ms: 1.. }, .. } = workload.kind else {
        return None;
    };
    // A proxied request takes two.
    let each = if workload.behind == Behind::Nothing { 1 } else { 2 };
    (connections > DEFAULT_CONNECTIONS).then_some(each * (connections + connections / 12))
}

/// This program's limit of open files, which servers and generator inherit.
fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Creates a folder that a server may write to, whichever user it runs as.
///
/// # Errors
/// It cannot be created: one line that names it.
pub(crate) fn prepare(folder: &Path) -> Result<(), String> {
    let made = fs::create_dir_all(folder)
        .and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o777)));
    made.map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    #[test]
    fn every_round_begins_with_another_server() {
        let rounds: Vec<Vec<usize>> = (0..4).map(|round| turns(3, round).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
        assert_eq!(turns(0, 5).count(), 0);
    }

    #[test]
    fn peers_are_told_to_allow_what_many_far_clients_need() {
        for (name, expected) in [
            ("s1-far-20000", Some(21_666)),
            ("s1-far-1000", Some(1083)),
            ("s1-far-100", None),
            ("s1-new-1000", None),
            ("proxy-far-10000", Some(21_666)),
            ("idle-18000", None),
        ] {
            assert_eq!(allowed(&workload::named(name).unwrap()), expected, "{name}");
        }
    }
}
