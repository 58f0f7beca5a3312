//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::servers::{ALL, Server};
use crate::workload::{self, Group, Workload};

/// Races hayami against nginx, h2o, nghttpd, Apache, lighttpd and the bare-loop limits on this machine.
#[derive(Parser, Debug)]
#[command(name = "hayami-bench", version)]
pub(crate) struct Options {
    /// Run this workload only; may be repeated. Names, http1: s0, s3, s4, close-200, close-1000, pipeline-16,
    /// 1mb, 1gb, idle-18000, strace; http2: h2c, tls, tls-1, tls-500, tls-513kb, tls-full, tls-resumed, tls-full-hybrid,
    /// idle-tls-settings, idle-tls-asked; scenarios: s0-tuning, s1-kept-100, s1-kept-1000, s1-new-100, s1-new-1000,
    /// s1-far-100, s1-far-1000, s1-far-10000, s1-far-20000, s2a, s2b-part, s3-hello, s4-hello; flood: s2b, s2b-1100,
    /// s2b-images, s2b-images-1100; proxy: proxy, proxy-new, proxy-h2, proxy-far-10000, proxy-far-20000, proxy-opened-1,
    /// proxy-opened-2, proxy-opened-8, proxy-1gb, php.
    #[arg(long, value_name = "NAME", value_parser = named)]
    pub(crate) only: Vec<Workload>,
    /// Run this group of workloads only; may be repeated. Names: http1, http2, proxy, scenarios, flood. The proxies, the
    /// scenarios and the flood (scenario S2 B, 51 GB a run) are run only when named, here or with --only.
    #[arg(long, value_name = "NAME", value_parser = group)]
    pub(crate) group: Vec<Group>,
    /// Race these servers only; may be repeated. Names: hayami, nginx-tuned, nginx-http2, h2o, nghttpd, haproxy, bare,
    /// nginx, nginx-10240, nginx-files, nginx-files-delay, nginx-delay, lighttpd, apache, caddy.
    #[arg(long, value_name = "NAME", value_parser = server)]
    pub(crate) server: Vec<Server>,
    /// Rounds; the medians over them are reported [default: 5; 3 of the scenarios alone].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: Option<u32>,
    /// Seconds of load per server and round.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    /// One round of one second: does everything work? The figures mean little.
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    pub(crate) quick: bool,
    /// Send this part of a flood's requests, above 0 and up to 1 [default: 1; 0.1 in the scenarios].
    #[arg(long, value_name = "PART", value_parser = scale)]
    pub(crate) scale: Option<f64>,
    /// Hold `hayami bench` against wrk, h2load and ab, after the races that are named; without a name nothing is raced.
    #[arg(long)]
    pub(crate) crosscheck: bool,
    /// Run nothing: write docs/benchmarks.md and its plots from the results saved in bench/samples.
    #[arg(long, conflicts_with_all = ["only", "group", "crosscheck", "write"])]
    pub(crate) page: bool,
    /// Run nothing: draw the picture of README.md, docs/benchmarks/overview.svg, from the tables of bench/RESULTS*.md. A
    /// race with --write does so too.
    #[arg(long, conflicts_with_all = ["only", "group", "crosscheck", "write", "page"])]
    pub(crate) picture: bool,
    /// Measure examples/rest-api, with and without pooled connections on each side, and race nothing. Five rounds take some
    /// 18 minutes. With --write it goes into docs/rest-api.md.
    #[arg(long, conflicts_with_all = ["only", "group", "server", "crosscheck", "page", "scale"])]
    pub(crate) rest_api: bool,
    /// Write bench/RESULTS.md too (RESULTS-http2.md, RESULTS-proxy.md, RESULTS-flood.md), and every sample into
    /// bench/samples; of the scenarios and the cross-check docs/benchmarks.md. Groups are written whole, with all servers.
    #[arg(long, conflicts_with_all = ["only", "server", "quick"])]
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
        let is_named = |name| self.only.iter().any(|only| only.name == name);
        let is_wanted = |workload: &Workload| {
            let unnamed = self.only.is_empty() && self.group.is_empty() && !self.crosscheck;
            let by_default = unnamed && workload.group.is_default();
            by_default || is_named(workload.name) || self.group.contains(&workload.group)
        };
        workload::all().filter(is_wanted).collect()
    }

    /// The servers to race, in their order.
    pub(crate) fn servers(&self) -> Vec<Server> {
        let wanted = |server: &Server| self.server.is_empty() || self.server.contains(server);
        ALL.into_iter().filter(wanted).collect()
    }

    /// Rounds to run.
    pub(crate) fn rounds(&self) -> usize {
        let scenarios = self.workloads().iter().all(|workload| workload.group == Group::Scenarios);
        let default = if scenarios { 3 } else { 5 };
        if self.quick { 1 } else { self.rounds.unwrap_or(default) as usize }
    }

    /// Time of load per server and round.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(if self.quick { 1 } else { self.seconds.into() })
    }
}

fn named(name: &str) -> Result<Workload, String> {
    let names = || workload::all().map(|workload| workload.name).collect::<Vec<_>>().join(", ");
    workload::named(name).ok_or_else(|| format!("one of {}", names()))
}

fn group(name: &str) -> Result<Group, String> {
    let found = Group::ALL.into_iter().find(|group| group.name() == name);
    found.ok_or_else(|| format!("one of {}", Group::ALL.map(Group::name).join(", ")))
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| *scale > 0.0 && *scale <= 1.0);
    scale.ok_or_else(|| "a number above 0 and up to 1, such as 0.1".to_owned())
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
        let names = workload::all().map(|workload| workload.name).chain(ALL.map(Server::name));
        for name in names.chain(Group::ALL.map(Group::name)) {
            assert!(words.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_part_of_a_group_is_not_written_in_the_place_of_the_whole() {
        for part in [["--only", "s0"], ["--server", "h2o"]] {
            let words = ["hayami-bench", "--write"].into_iter().chain(part);
            assert!(Options::try_parse_from(words).is_err(), "{part:?}");
        }
        assert!(Options::try_parse_from(["hayami-bench", "--write", "--quick"]).is_err());
        assert!(
            Options::try_parse_from(["hayami-bench", "--write", "--group", "proxy", "--group", "flood"])
                .is_ok()
        );
    }

    #[test]
    fn everything_but_flood_and_scenarios_is_run_unless_named() {
        let options = Options::parse_from(["hayami-bench"]);
        let expected = workload::all().filter(|workload| workload.group.is_default()).count();
        assert_eq!((options.workloads().len(), options.servers().len()), (expected, ALL.len()));
        let options = Options::parse_from(["hayami-bench", "--group", "flood", "--only", "h2c"]);
        let names: Vec<_> = options.workloads().iter().map(|workload| workload.name).collect();
        assert_eq!(names, ["h2c", "s2b", "s2b-1100", "s2b-images", "s2b-images-1100"]);
        assert_eq!(options.rounds(), 5);
        let options = Options::parse_from(["hayami-bench", "--group", "scenarios"]);
        assert_eq!((options.rounds(), options.workloads().len()), (3, 13));
        let options =
            Options::parse_from(["hayami-bench", "--only", "s4", "--only", "s0", "--server", "h2o"]);
        let names: Vec<_> = options.workloads().iter().map(|workload| workload.name).collect();
        assert_eq!((names, options.servers()), (vec!["s0", "s4"], vec![Server::H2o]));
        for wrong in [["--only", "s9"], ["--group", "http9"], ["--scale", "0"], ["--scale", "1.5"]] {
            assert!(Options::try_parse_from(["hayami-bench"].iter().chain(&wrong)).is_err(), "{wrong:?}");
        }
    }
}
