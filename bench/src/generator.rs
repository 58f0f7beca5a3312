//! `hayami bench`, this tree's load generator: started on the load's core with one thread, stopped, and its
//! JSON report read. It says as well what the server paid while it measured (docs/bench.md), so that
//! warm-up and start-up are in no figure.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::race::Setup;
use crate::servers;
use crate::{guard, pin};

/// How often a run is looked at: often enough to end soon after it, seldom enough to cost nothing.
const LOOK: Duration = Duration::from_millis(5);
/// How long it may take to write its report when it is told to stop.
const STOPPING: Duration = Duration::from_secs(10);

/// What a run gave. A figure that is not known is not a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Responses that were complete and right.
    pub(crate) responses: u64,
    /// Everything else: refused and broken connections, time-outs, other statuses, wrong lengths.
    pub(crate) errors: u64,
    /// Octets received, heads included, those of unfinished responses too; without TLS.
    pub(crate) octets: u64,
    /// Octets of heads received; in HTTP/2 of field blocks.
    pub(crate) head_octets: u64,
    /// Connections that were opened.
    pub(crate) connections: u64,
    /// Those of them that resumed a TLS session.
    pub(crate) resumed: u64,
    /// How long it measured.
    pub(crate) seconds: f64,
    /// The median latency in microseconds.
    pub(crate) p50_us: f64,
    /// The latency 99 of 100 responses stayed within, in microseconds.
    pub(crate) p99_us: f64,
    /// CPU time of the server in its own code meanwhile, in microseconds.
    pub(crate) user_us: f64,
    /// The same in the kernel.
    pub(crate) system_us: f64,
    /// The part of its time that the generator's thread worked.
    pub(crate) generator_share: f64,
}

/// A run that goes on. Dropping it ends it.
pub(crate) struct Running {
    child: Child,
    report: PathBuf,
    log: PathBuf,
}

impl Setup {
    /// Runs `hayami bench` with these words against the server `pid`, for no longer than `limit`.
    ///
    /// # Errors
    /// It cannot be started or does not end, or nothing at all is answered: one line.
    pub(crate) fn generate(&self, words: &[String], pid: u32, limit: Duration) -> Result<Outcome, String> {
        self.start_generator(words, pid)?.wait(limit)
    }

    /// Starts `hayami bench` with these words.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start_generator(&self, words: &[String], pid: u32) -> Result<Running, String> {
        let (report, log) = (self.guard.folder.join("load.json"), self.guard.folder.join("load.log"));
        let _ = fs::remove_file(&report); // A run that writes none must not find the one before.
        let printed = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = Command::new(servers::hayami_binary());
        command.args(["bench", "-q", "-t", "1", "--server-pid"]).arg(pid.to_string());
        command.arg("--json").arg(&report).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(printed);
        let spawned = pin::on_core(self.client_core, || command.spawn());
        let child = spawned.map_err(|error| format!("hayami bench: {error}"))?;
        self.guard.watch(child.id());
        Ok(Running { child, report, log })
    }
}

impl Running {
    /// Waits until it ends by itself, and reads its report.
    ///
    /// # Errors
    /// It does not end in time, writes no report, or nothing at all was answered.
    pub(crate) fn wait(mut self, limit: Duration) -> Result<Outcome, String> {
        let in_time = self.ends_within(limit);
        if !in_time {
            return Err(format!("hayami bench did not end within {} s", limit.as_secs()));
        }
        self.read()
    }

    /// Lets it rest: connections stay as they are.
    pub(crate) fn pause(&self) {
        guard::signal(self.child.id(), Signal::STOP);
    }

    /// Stops it before its time; what it measured is of no interest.
    pub(crate) fn stop(mut self) {
        guard::signal(self.child.id(), Signal::CONT);
        guard::signal(self.child.id(), Signal::INT);
        self.ends_within(STOPPING);
    }

    /// Why it has ended, if it has.
    pub(crate) fn fault(&mut self) -> Option<String> {
        matches!(self.child.try_wait(), Ok(Some(_))).then(|| self.said())
    }

    fn ends_within(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if start.elapsed() > limit {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }

    fn read(&self) -> Result<Outcome, String> {
        let report = fs::read_to_string(&self.report).map_err(|_| self.said())?;
        read(&report).map_err(|error| format!("hayami bench: {error}"))
    }

    /// The last line that it printed as an error.
    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        format!("hayami bench: {}", last.unwrap_or("no report"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            guard::signal(self.child.id(), Signal::CONT);
            guard::end_tree(self.child.id());
        }
        let _ = self.child.wait();
    }
}

/// Reads the report on one target.
fn read(report: &str) -> Result<Outcome, String> {
    let document: Value = serde_json::from_str(report).map_err(|error| format!("its report: {error}"))?;
    let total = document.pointer("/targets/0/total").ok_or("its report has no target")?;
    let count = |path: &str| {
        let value = total.pointer(path).and_then(Value::as_u64);
        value.ok_or_else(|| format!("its report has no {path}"))
    };
    // What it could not find out is null.
    let number = |path: &str| total.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let outcome = Outcome {
        responses: count("/successes")?,
        errors: count("/errors/total")?,
        octets: count("/in_octets")?,
        head_octets: count("/head_octets")?,
        connections: count("/connections")?,
        resumed: count("/resumed")?,
        seconds: number("/elapsed_s"),
        p50_us: number("/latency_us/p50"),
        p99_us: number("/latency_us/p99"),
        user_us: number("/server/user_s") * 1e6,
        system_us: number("/server/system_s") * 1e6,
        generator_share: number("/generator/share"),
    };
    if outcome.responses == 0 && (outcome.octets == 0 || outcome.errors > 0) {
        return Err(format!("no response was right{}", kinds(total)));
    }
    Ok(outcome)
}

/// `: connect 3, reset 5`.
fn kinds(total: &Value) -> String {
    let errors = total.pointer("/errors").and_then(Value::as_object);
    let kinds: Vec<String> = errors
        .into_iter()
        .flatten()
        .filter_map(|(kind, count)| Some((kind, count.as_u64()?)))
        .filter(|(kind, count)| *count > 0 && *kind != "total")
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({ "targets": [{ "total": {
            "successes": 1000, "in_octets": 800_000, "head_octets": 180_000, "connections": 10, "resumed": 4,
            "elapsed_s": 2.5, "errors": { "total": 3, "reset": 2, "timeout": 1, "tls": 0 },
            "latency_us": { "p50": 101.5, "p99": 250.0 },
            "generator": { "share": 0.75 },
            "server": { "user_s": 0.5, "system_s": 1.25 },
        } }] })
    }

    #[test]
    fn the_report_gives_counts_times_and_what_the_server_paid() {
        let expected = Outcome {
            responses: 1000,
            errors: 3,
            octets: 800_000,
            head_octets: 180_000,
            connections: 10,
            resumed: 4,
            seconds: 2.5,
            p50_us: 101.5,
            p99_us: 250.0,
            user_us: 500_000.0,
            system_us: 1_250_000.0,
            generator_share: 0.75,
        };
        assert_eq!(read(&report().to_string()), Ok(expected));
    }

    #[test]
    fn what_the_generator_does_not_know_is_no_number() {
        let mut report = report();
        for unknown in ["server", "latency_us"] {
            report["targets"][0]["total"][unknown] = Value::Null;
        }
        let outcome = read(&report.to_string()).unwrap();
        assert!(outcome.user_us.is_nan() && outcome.p99_us.is_nan());
        assert_eq!(outcome.responses, 1000);
    }

    #[test]
    fn a_run_without_a_right_answer_is_a_fault_that_names_the_errors() {
        let mut report = report();
        let total = &mut report["targets"][0]["total"];
        total["successes"] = json!(0);
        assert_eq!(read(&report.to_string()).unwrap_err(), "no response was right: reset 2, timeout 1");
        // A large file may be under way all the time, which is no fault.
        report["targets"][0]["total"]["errors"] = json!({ "total": 0 });
        assert!(read(&report.to_string()).is_ok());
        report["targets"][0]["total"]["in_octets"] = json!(0);
        assert_eq!(read(&report.to_string()).unwrap_err(), "no response was right");
    }

    #[test]
    fn anything_else_is_no_report() {
        for (text, words) in [
            ("", "its report"),
            ("{}", "no target"),
            (r#"{"targets":[{"total":{"successes":1}}]}"#, "/errors/total"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
