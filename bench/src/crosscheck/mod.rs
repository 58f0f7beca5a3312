//! `hayami bench` compared with wrk, h2load and ab: do they agree, and how much CPU time does each need?
//!
//! The tool and `hayami bench --like 'the same command'` alternate on the same core against the same server
//! on another core. The first part runs against nginx, which counts requests itself (`truth`) and so shows
//! which client counts correctly; the second part against hayami, where the client is the bottleneck,
//! measures requests per second of client CPU time. `turn` is one run, `saved` the results file, `text` the
//! section of docs/benchmarks.md. Races between servers are elsewhere.

mod ab;
mod h2load;
mod ours;
mod reported;
mod saved;
mod text;
mod tool;
mod truth;
mod turn;
mod wrk;

pub(crate) use self::saved::{load, save};
pub(crate) use self::text::{section, whole, with_interval};
pub(crate) use self::tool::Tool;
pub(crate) use self::turn::{Quantity, Turn};

use std::path::PathBuf;

use self::tool::Job;
use self::truth::Truth;
use self::turn::{Bench, Who, url};
use crate::race::{Setup, Start};
use crate::servers::Server;
use crate::workload;

/// The two results of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Round {
    /// The tool.
    pub(crate) theirs: Turn,
    /// `hayami bench`.
    pub(crate) ours: Turn,
}

/// A tool compared with `hayami bench`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compared {
    pub(crate) tool: Tool,
    /// Its version, or why it was not run.
    pub(crate) version: Result<String, String>,
    /// Its command line.
    pub(crate) command: String,
    /// The same command with native options of `hayami bench`.
    pub(crate) native: String,
    pub(crate) rounds: Vec<Round>,
    /// The maximum number of requests a client leaves in flight: the server counts them, the client does not.
    pub(crate) under_way: u64,
    /// Why rounds are missing.
    pub(crate) fault: Option<String>,
}

/// All results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checked {
    /// Against nginx, which counts requests.
    pub(crate) agreement: Vec<Compared>,
    /// Against hayami, where the client is the bottleneck.
    pub(crate) per_core: Vec<Compared>,
}

/// Connections for each tool when comparing counts.
const AGREEMENT: [(Tool, usize); 3] = [(Tool::Wrk, 100), (Tool::H2load, 50), (Tool::Ab, 100)];
/// Connections for each tool when comparing requests per CPU second.
const PER_CORE: [(Tool, usize); 3] = [(Tool::Wrk, 100), (Tool::H2load, 50), (Tool::Ab, 1000)];

/// How many times as many requests per CPU second `hayami bench` should reach as each tool.
pub(crate) fn wanted(tool: Tool) -> f64 {
    match tool {
        Tool::Wrk => 1.2,
        Tool::H2load | Tool::Ab => 2.0,
    }
}

/// Runs everything. `hayami` is the load generator and, in the second part, also the server.
///
/// # Errors
/// A server does not start. Client failures are part of the results instead.
pub(crate) fn run(setup: &Setup, hayami: PathBuf) -> Result<Checked, String> {
    let bench = Bench { setup, hayami };
    let truth = Truth::start(setup)?;
    let agreement = AGREEMENT.map(|(tool, connections)| bench.agreement(tool, connections, &truth));
    drop(truth);
    let page = workload::named("s0").ok_or("no workload s0")?;
    let (server, _) = setup.start(Server::Hayami, &page, Start::default())?;
    let per_core = PER_CORE.map(|(tool, connections)| {
        eprintln!("requests per client CPU second: {} …", tool.name());
        bench.take_turns(tool, connections, &url(server.address), |who, job, url| {
            bench.run(who, job, url, &server)
        })
    });
    Ok(Checked { agreement: agreement.into(), per_core: per_core.into() })
}

impl Bench<'_> {
    fn agreement(&self, tool: Tool, connections: usize, truth: &Truth) -> Compared {
        eprintln!("agreement with {} …", tool.name());
        let address = if tool == Tool::H2load { truth.h2c } else { truth.process.address };
        let mut asked = 0;
        self.take_turns(tool, connections, &url(address), |who, job, url| {
            let before = truth.requests(&mut asked)?;
            let (mut turn, native) = self.run(who, job, url, &truth.process)?;
            let served = truth.requests(&mut asked)?.saturating_sub(before);
            turn.insert(Quantity::Served, served as f64);
            Ok((turn, native))
        })
    }

    /// Runs the rounds of a tool, alternating which client goes first.
    fn take_turns(
        &self,
        tool: Tool,
        connections: usize,
        url: &str,
        mut run: impl FnMut(Who, &Job, &str) -> Result<(Turn, Option<String>), String>,
    ) -> Compared {
        let job = Job { tool, connections, seconds: self.setup.time.as_secs().max(1) };
        let shown = |command: &str| command.replace(url, "http://127.0.0.1:8080/");
        let mut compared = Compared {
            tool,
            version: tool.version(),
            command: shown(&job.words(url).join(" ")),
            native: String::new(),
            rounds: Vec::new(),
            under_way: job.under_way(),
            fault: None,
        };
        if let Err(missing) = &compared.version {
            compared.fault = Some(missing.clone());
            return compared;
        }
        for number in 0..self.setup.rounds {
            let order = if number % 2 == 0 { [Who::Tool, Who::Ours] } else { [Who::Ours, Who::Tool] };
            let mut round = Round::default();
            for who in order {
                match run(who, &job, url) {
                    Ok((turn, None)) => round.theirs = turn,
                    Ok((turn, Some(native))) => (round.ours, compared.native) = (turn, shown(&native)),
                    Err(fault) => {
                        compared.fault = Some(fault);
                        return compared;
                    }
                }
            }
            compared.rounds.push(round);
        }
        compared
    }
}

impl Compared {
    /// Pairs of a figure, ours first, from the rounds that have both.
    pub(crate) fn pairs(&self, quantity: Quantity) -> impl Iterator<Item = (f64, f64)> {
        let pair = move |round: &Round| Some((*round.ours.get(&quantity)?, *round.theirs.get(&quantity)?));
        self.rounds.iter().filter_map(pair)
    }
}
