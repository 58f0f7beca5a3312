//! A race: all servers of a workload started, and measured by turns, round after round.

use std::fs;
use std::net::SocketAddrV4;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::cost;
use crate::figure::{self, Figure, Sample};
use crate::guard::Guard;
use crate::h2;
use crate::held::{self, Answer};
use crate::process::{self, Process};
use crate::servers::{self, BareAnswer, Server, Site};
use crate::statistics::{Spread, spread};
use crate::tls::{self, Identity};
use crate::workload::{Document, Flood, Kind, Wire, Workload};

/// What holds for every workload of a run.
pub(crate) struct Setup {
    pub(crate) guard: Guard,
    pub(crate) documents: PathBuf,
    pub(crate) identity: Identity,
    /// The servers that are there and wanted.
    pub(crate) servers: Vec<Server>,
    pub(crate) server_core: usize,
    pub(crate) client_core: usize,
    pub(crate) rounds: usize,
    pub(crate) time: Duration,
    pub(crate) wrk: bool,
    /// The part of a flood's requests that is sent, above 0 and up to 1.
    pub(crate) scale: f64,
}

/// What a server gave in a workload.
pub(crate) struct Row {
    pub(crate) server: Server,
    /// Octets of a whole response; 0 when none came.
    pub(crate) octets: usize,
    /// A sample per round.
    pub(crate) samples: Vec<Sample>,
    /// Octets of the sum of peak resident sizes.
    pub(crate) peak_memory: u64,
    /// Why there is less than there should be.
    pub(crate) fault: Option<String>,
}

/// A server in a race.
struct Lane {
    process: Process,
    row: Row,
}

/// What a workload gave.
pub(crate) struct Table {
    pub(crate) workload: Workload,
    pub(crate) rows: Vec<Row>,
    /// What a reader should know besides.
    pub(crate) notes: Vec<String>,
}

impl Row {
    pub(crate) fn new(server: Server) -> Self {
        Self { server, octets: 0, samples: Vec::new(), peak_memory: 0, fault: None }
    }

    /// The values of a figure, round by round.
    pub(crate) fn values(&self, figure: Figure) -> impl Iterator<Item = f64> {
        self.samples.iter().filter_map(move |sample| sample.get(&figure).copied())
    }

    /// The spread of a figure over the rounds.
    pub(crate) fn spread(&self, figure: Figure) -> Option<Spread> {
        spread(self.values(figure))
    }
}

impl Table {
    pub(crate) fn new(workload: Workload, rows: Vec<Row>, mut notes: Vec<String>) -> Self {
        let octets = || rows.iter().map(|row| row.octets).filter(|octets| *octets > 0);
        if let (Some(least), Some(most)) = (octets().min(), octets().max())
            && least != most
        {
            let content = workload.document().octets;
            notes.push(format!(
                "responses differ by their heads: {least} to {most} octets, of which {content} are content"
            ));
        }
        Self { workload, rows, notes }
    }

    /// The row of a server that took part.
    pub(crate) fn row(&self, server: Server) -> Option<&Row> {
        self.rows.iter().find(|row| row.server == server)
    }
}

impl Setup {
    /// The servers that take part in a workload.
    pub(crate) fn servers_of(&self, workload: &Workload) -> Vec<Server> {
        workload.servers.iter().copied().filter(|server| self.servers.contains(server)).collect()
    }

    /// Starts a server for a workload and asks it once. `connections` is for workloads that need more
    /// than the server allows by default.
    ///
    /// # Errors
    /// It does not start or does not answer as it should; one line.
    pub(crate) fn start(
        &self,
        server: Server,
        workload: &Workload,
        connections: Option<usize>,
        bare_octets: usize,
    ) -> Result<(Process, Answer), String> {
        let folder = self.guard.folder.join(server.name());
        prepare(&folder)?;
        let content = workload.document().octets;
        let answer = BareAnswer {
            octets: bare_octets,
            content: content as usize,
            per_request: workload.is_per_request(),
        };
        let (address, log) = (process::free_address()?, folder.join("printed.log"));
        let (documents, identity, wire) = (&self.documents, &self.identity, workload.wire);
        let site = Site { address, wire, identity, documents, folder, connections, answer };
        let command = server.command(&site)?;
        let command = match workload.kind {
            Kind::Flood(Flood { open_files: Some(limit), .. }) => servers::with_open_files(&command, limit),
            _ => command,
        };
        let process = Process::start(command, address, self.server_core, &log, &self.guard)?;
        let answer = self.probe(workload, address)?;
        Ok((process, answer))
    }

    /// Asks a server just started: is the response right, and how large is it?
    fn probe(&self, workload: &Workload, address: SocketAddrV4) -> Result<Answer, String> {
        if workload.wire == Wire::Http1 {
            let request = workload.request(&address.to_string());
            return held::probe(address, request, workload.document().octets);
        }
        let (tls, request) = self.http2(workload, address)?;
        h2::probe(address, tls, &request)
    }

    /// What our HTTP/2 client needs for a workload: TLS if it is over TLS, and what to ask.
    ///
    /// # Errors
    /// rustls does not take the race's certificate.
    pub(crate) fn http2(
        &self,
        workload: &Workload,
        address: SocketAddrV4,
    ) -> Result<(Option<Arc<ClientConfig>>, h2::Request), String> {
        let secure = workload.wire == Wire::Http2Tls;
        let tls = if secure { Some(self.identity.client(tls::HTTP2)?) } else { None };
        let Document { target, octets: content, .. } = workload.document();
        Ok((tls, h2::Request { target, authority: address.to_string(), secure, content }))
    }

    /// Runs a workload of load.
    pub(crate) fn race(&self, workload: &Workload) -> Table {
        let (mut lanes, mut rows) = self.line_up(workload);
        for lane in &lanes {
            self.warm_up(workload, &lane.process);
        }
        for _ in 0..self.rounds {
            for lane in lanes.iter_mut().filter(|lane| lane.row.fault.is_none()) {
                lane.row.fault = self.measure(workload, lane).err();
            }
        }
        rows.extend(lanes.into_iter().map(|lane| lane.row));
        Table::new(*workload, rows, vec![format!("load made by {}", self.maker(workload))])
    }

    /// Starts all servers; those that do not start are rows without samples.
    fn line_up(&self, workload: &Workload) -> (Vec<Lane>, Vec<Row>) {
        let (mut lanes, mut failed) = (Vec::new(), Vec::new());
        let mut bare_octets = 0;
        for server in self.servers_of(workload) {
            let row = Row::new(server);
            match self.start(server, workload, None, bare_octets) {
                Ok((process, Answer { octets })) => {
                    // The first that answers is what the bare loop is to equal: hayami, if it is there.
                    bare_octets = if bare_octets == 0 { octets } else { bare_octets };
                    lanes.push(Lane { process, row: Row { octets, ..row } });
                }
                Err(fault) => failed.push(Row { fault: Some(fault), ..row }),
            }
        }
        (lanes, failed)
    }

    /// One server's turn in a round.
    fn measure(&self, workload: &Workload, lane: &mut Lane) -> Result<(), String> {
        let Lane { process, row } = lane;
        let (outcome, cpu) = self.load(workload, process)?;
        if !process.is_alive() {
            return Err("ended during the race".to_owned());
        }
        row.samples.push(figure::of_load(&outcome, cpu));
        row.peak_memory = row.peak_memory.max(cost::peak_memory(process.id()));
        Ok(())
    }
}

/// A folder that a server may write to, whichever user it becomes.
fn prepare(folder: &Path) -> Result<(), String> {
    let made = fs::create_dir_all(folder)
        .and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o777)));
    made.map_err(|error| format!("{}: {error}", folder.display()))
}
