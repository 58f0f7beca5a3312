//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::servers::{ALL, Server};
use crate::workload::{WORKLOADS, Workload};

/// Races hayami against nginx, h2o, Apache, lighttpd and the bare-loop limits on this machine.
#[derive(Parser, Debug)]
#[command(name = "hayami-bench", version)]
pub(crate) struct Options {
    /// Run this workload only; may be repeated. Names: s0, s3, s4, close-200, close-1000, close-200-own, pipeline-16, 1mb,
    /// 1gb, idle-18000, strace.
    #[arg(long, value_name = "NAME", value_parser = workload)]
    pub(crate) only: Vec<Workload>,
    /// Race these servers only; may be repeated. Names: hayami, nginx-tuned, h2o, bare, nginx, lighttpd,
    /// apache.
    #[arg(long, value_name = "NAME", value_parser = server)]
    pub(crate) server: Vec<Server>,
    /// Rounds; the medians over them are reported.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Seconds of load per server and round.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    /// One round of one second: does everything work? The figures mean little.
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    pub(crate) quick: bool,
    /// Write bench/RESULTS.md too.
    #[arg(long)]
    pub(crate) write: bool,
    /// The core for the servers; the first usable one if not given.
    #[arg(long, value_name = "CORE")]
    pub(crate) server_core: Option<usize>,
    /// The core for the load; the second usable one if not given.
    #[arg(long, value_name = "CORE")]
    pub(crate) client_core: Option<usize>,
    /// Race the binaries that are there instead of building them.
    #[arg(long)]
    pub(crate) no_build: bool,
    /// Clean up after a race; started by the race itself.
    #[arg(long, hide = true, value_name = "FOLDER")]
    pub(crate) guard: Option<PathBuf>,
}

impl Options {
    /// The workloads to run, in their order.
    pub(crate) fn workloads(&self) -> Vec<Workload> {
        let wanted = |name| self.only.is_empty() || self.only.iter().any(|only| only.name == name);
        WORKLOADS.into_iter().filter(|workload| wanted(workload.name)).collect()
    }

    /// The servers to race, in their order.
    pub(crate) fn servers(&self) -> Vec<Server> {
        let wanted = |server: &Server| self.server.is_empty() || self.server.contains(server);
        ALL.into_iter().filter(wanted).collect()
    }

    /// Rounds to run.
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds as usize }
    }

    /// Time of load per server and round.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(if self.quick { 1 } else { self.seconds.into() })
    }
}

fn workload(name: &str) -> Result<Workload, String> {
    let found = WORKLOADS.into_iter().find(|workload| workload.name == name);
    found.ok_or_else(|| format!("one of {}", WORKLOADS.map(|workload| workload.name).join(", ")))
}

fn server(name: &str) -> Result<Server, String> {
    let found = ALL.into_iter().find(|server| server.name() == name);
    found.ok_or_else(|| format!("one of {}", ALL.map(Server::name).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_workload_and_server() {
        use clap::CommandFactory;
        let help = Options::command().render_long_help().to_string();
        let words: Vec<&str> = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
        for name in WORKLOADS.map(|workload| workload.name).into_iter().chain(ALL.map(Server::name)) {
            assert!(words.contains(&name), "{name}");
        }
    }

    #[test]
    fn everything_is_run_unless_named() {
        let options = Options::parse_from(["hayami-bench"]);
        assert_eq!((options.workloads().len(), options.servers().len()), (WORKLOADS.len(), ALL.len()));
        let options =
            Options::parse_from(["hayami-bench", "--only", "s4", "--only", "s0", "--server", "h2o"]);
        let names: Vec<_> = options.workloads().iter().map(|workload| workload.name).collect();
        assert_eq!((names, options.servers()), (vec!["s0", "s4"], vec![Server::H2o]));
        assert!(Options::try_parse_from(["hayami-bench", "--only", "s9"]).is_err());
    }
}
