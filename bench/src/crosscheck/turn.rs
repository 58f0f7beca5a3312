//! One run of a client against a server, with all measurements.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::reported::Reported;
use super::tool::Job;
use super::{ours, truth};
use crate::pin;
use crate::process::Process;
use crate::race::Setup;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quantity {
    /// Correct responses, counted by the client.
    Counted,
    /// Requests, counted by the server; missing if it does not count.
    Served,
    /// Errors, as the client defines them.
    Errors,
    /// Correct responses per second, according to the client.
    Rate,
    /// Mean latency, microseconds.
    Mean,
    /// Median latency, microseconds.
    P50,
    /// 99th percentile of the latency, microseconds.
    P99,
    /// Server CPU time per response, microseconds.
    ServerCost,
    /// Correct responses per second of client CPU time.
    PerClientCpu,
}

impl Quantity {
    pub(crate) const ALL: [Self; 9] = [
        Self::Counted,
        Self::Served,
        Self::Errors,
        Self::Rate,
        Self::Mean,
        Self::P50,
        Self::P99,
        Self::ServerCost,
        Self::PerClientCpu,
    ];

    /// Its name in JSON and tables, with its unit.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Counted => "counted by the client",
            Self::Served => "counted by the server",
            Self::Errors => "errors",
            Self::Rate => "responses/s",
            Self::Mean => "mean µs",
            Self::P50 => "p50 µs",
            Self::P99 => "p99 µs",
            Self::ServerCost => "server cost µs/response",
            Self::PerClientCpu => "responses per client CPU s",
        }
    }
}

/// The figures of one run.
pub(crate) type Turn = BTreeMap<Quantity, f64>;

/// The load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The tool itself.
    Tool,
    /// `hayami bench --like '…'`.
    Ours,
}

/// Everything needed to run a client.
pub(super) struct Bench<'a> {
    pub(super) setup: &'a Setup,
    /// The hayami binary, which is raced and also generates load.
    pub(super) hayami: PathBuf,
}

impl Bench<'_> {
    /// One run: its figures and, for ours, the native command.
    ///
    /// # Errors
    /// The client cannot be started, fails, or prints something other than its report.
    pub(super) fn run(
        &self,
        who: Who,
        job: &Job,
        url: &str,
        server: &Process,
    ) -> Result<(Turn, Option<String>), String> {
        let file = self.setup.guard.folder.join("crosscheck-report");
        let _ = std::fs::remove_file(&file);
        let words = job.words(url);
        let mut command = match who {
            Who::Tool => {
                let mut command = Command::new(&words[0]);
                if job.tool == super::Tool::Ab {
                    command.arg("-e").arg(&file);
                }
                command.args(&words[1..]);
                command
            }
            Who::Ours => {
                let mut command = Command::new(&self.hayami);
                command.args(["bench", "-q", "--like"]).arg(words.join(" ")).arg("--json").arg(&file);
                if job.tool != super::Tool::H2load {
                    // The command of h2load has `--warm-up-time=0`, which `--like` translates.
                    command.args(["--warm-up", "0"]);
                }
                command
            }
        };
        let (printed, server_us, client) = self.watched(&mut command, server)?;
        let (reported, native) = match who {
            Who::Tool => (job.tool.parse(&printed, &file), None),
            Who::Ours => {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let document = serde_json::from_str(&text).unwrap_or_default();
                (ours::parse(&document), ours::command(&document))
            }
        };
        let name = if who == Who::Tool { &words[0] } else { "hayami bench" };
        let reported = reported.ok_or_else(|| format!("{name}: no report: {}", last_line(&printed)))?;
        Ok((turn(&reported, server_us, client), native))
    }

    /// Runs a command on the load core; returns its output, the server's CPU time during it in microseconds,
    /// and its own.
    fn watched(&self, command: &mut Command, server: &Process) -> Result<(String, u64, Duration), String> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let paid = hayami_load::server::Server::of(server.id()).map_err(|_| "the server has ended")?;
        let (own, before) = (of_children()?, paid.cpu());
        let output = pin::on_core(self.setup.client_core, || {
            let child = command.spawn()?;
            self.setup.guard.watch(child.id());
            child.wait_with_output()
        });
        let output = output.map_err(|error| format!("{name}: {error}"))?;
        let cost = paid.cost(before, paid.cpu(), 0);
        let server_us = (cost.user + cost.system).as_micros() as u64;
        let client = of_children()?.saturating_sub(own);
        let printed = [output.stdout, output.stderr].concat();
        Ok((String::from_utf8_lossy(&printed).into_owned(), server_us, client))
    }
}

/// CPU time of all terminated children, as counted by the kernel.
fn of_children() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("getrusage: {error}"))?;
    Ok(cpu_time(&usage))
}

fn cpu_time(usage: &Usage) -> Duration {
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.try_into().unwrap_or(0))
}

fn turn(reported: &Reported, server_us: u64, client: Duration) -> Turn {
    let responses = reported.responses as f64;
    let known = [
        (Quantity::Counted, Some(responses)),
        (Quantity::Errors, Some(reported.errors as f64)),
        (Quantity::Rate, Some(responses / reported.seconds)),
        (Quantity::Mean, reported.mean_us),
        (Quantity::P50, reported.p50_us),
        (Quantity::P99, reported.p99_us),
        (Quantity::ServerCost, Some(server_us as f64 / responses)),
        (Quantity::PerClientCpu, Some(responses / client.as_secs_f64())),
    ];
    let finite = |(quantity, value): (Quantity, Option<f64>)| {
        Some((quantity, value.filter(|value| value.is_finite())?))
    };
    known.into_iter().filter_map(finite).collect()
}

fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was printed")
}

/// The URL of the page at an address.
pub(super) fn url(address: std::net::SocketAddrV4) -> String {
    format!("http://{address}{}", truth::target())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_holds_what_is_known_and_finite() {
        let reported = Reported {
            responses: 1000,
            errors: 1,
            seconds: 2.0,
            mean_us: Some(9.0),
            p50_us: None,
            p99_us: None,
        };
        let turn_of = |reported: &Reported| turn(reported, 5000, Duration::from_millis(250));
        let expected = Turn::from([
            (Quantity::Counted, 1000.0),
            (Quantity::Errors, 1.0),
            (Quantity::Rate, 500.0),
            (Quantity::Mean, 9.0),
            (Quantity::ServerCost, 5.0),
            (Quantity::PerClientCpu, 4000.0),
        ]);
        assert_eq!(turn_of(&reported), expected);
        let nothing = turn_of(&Reported::default());
        assert_eq!(
            nothing.keys().collect::<Vec<_>>(),
            [&Quantity::Counted, &Quantity::Errors, &Quantity::PerClientCpu]
        );
    }

    #[test]
    fn the_cpu_time_of_a_child_that_ended_is_counted() {
        let before = of_children().unwrap();
        Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]).status().unwrap();
        assert!(of_children().unwrap() > before);
    }
}
