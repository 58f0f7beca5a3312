//! Load of a race: which tool makes it, and the server's CPU time while it does.

use std::net::SocketAddrV4;
use std::time::Duration;

use crate::client::{self, Load, Outcome};
use crate::cost::{self, Cpu};
use crate::h2load::{self, Amount, Run, Urls};
use crate::handshake::Client;
use crate::process::Process;
use crate::race::Setup;
use crate::workload::{Kind, Tool, Use, Workload};
use crate::wrk;

/// Enough for caches to fill and for threads that are started late to start.
const WARM_UP: Duration = Duration::from_millis(300);

impl Setup {
    /// What makes the load of a workload.
    pub(crate) fn maker(&self, workload: &Workload) -> &'static str {
        match workload.kind {
            Kind::Load { tool: Tool::Wrk, .. } if self.wrk => "wrk",
            Kind::Streams { .. } | Kind::Flood(_) => "h2load",
            _ => "the client of this package",
        }
    }

    /// A short run before the first round, by our client: wrk cannot be as short. h2load has a warm-up
    /// of its own in every run.
    pub(crate) fn warm_up(&self, workload: &Workload, process: &Process) {
        let address = process.address;
        // A server that cannot do it shows so when it is measured.
        let _ = match workload.kind {
            Kind::Load { connections, with, .. } => {
                self.load_http1(workload, address, connections, with, WARM_UP)
            }
            Kind::Handshakes(wanted) => Client::prepare(wanted, &self.identity, address, self.client_core)
                .and_then(|client| client.run(WARM_UP)),
            _ => return,
        };
    }

    /// One run of load, and the server's CPU time in it.
    ///
    /// # Errors
    /// The tool does not work, or nothing at all succeeds.
    pub(crate) fn load(&self, workload: &Workload, process: &Process) -> Result<(Outcome, Cpu), String> {
        let (address, core, pid) = (process.address, self.client_core, process.id());
        let url = workload.url(&address.to_string());
        let mut before = cost::cpu(pid);
        let outcome = match workload.kind {
            Kind::Streams { connections, streams, .. } => {
                let (urls, amount) = (Urls::One(&url), Amount::For(self.time));
                let content = workload.document().octets;
                let run = Run { urls, connections, streams, amount, content };
                // It knows better when connections are there and requests begin to count.
                return h2load::run(&run, core, &self.guard, pid);
            }
            Kind::Load { connections, with, tool: Tool::Wrk, .. } if self.wrk => {
                wrk::run(&url, connections, with == Use::PerRequest, self.time, core)?
            }
            Kind::Load { connections, with, .. } => {
                self.load_http1(workload, address, connections, with, self.time)?
            }
            Kind::Handshakes(wanted) => {
                let client = Client::prepare(wanted, &self.identity, address, core)?;
                before = cost::cpu(pid);
                client.run(self.time)?
            }
            Kind::Idle { .. } | Kind::Calls { .. } | Kind::Flood(_) => unreachable!("a workload of load"),
        };
        Ok((outcome, cost::cpu(pid).since(before)))
    }

    fn load_http1(
        &self,
        workload: &Workload,
        address: SocketAddrV4,
        connections: usize,
        with: Use,
        time: Duration,
    ) -> Result<Outcome, String> {
        let depth = if let Use::KeepAlive { depth } = with { depth } else { 1 };
        let request = workload.request(&address.to_string());
        let load = Load { address, request, connections, depth, content: workload.document().octets };
        client::run(&load, time, self.client_core).map_err(|error| format!("client: {error}"))
    }
}
