//! System calls per request, counted by `strace -c -f` while a known number of requests is answered.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cost;
use crate::figure::{Figure, Sample};
use crate::guard;
use crate::load::{expectation, split};
use crate::pin;
use crate::race::{Row, Setup, Start, Table};
use crate::servers::Server;
use crate::workload::{Kind, Workload};

const RECEIVE: &[&str] = &["read", "readv", "recvfrom", "recvmsg", "recvmmsg"];
const SEND: &[&str] = &["write", "writev", "sendto", "sendmsg", "sendmmsg", "sendfile"];
const WAIT: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"];
/// Timeout for strace to attach and to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Timeout for the requests: a traced call takes some tens of microseconds.
const TRACED: Duration = Duration::from_secs(180);

impl Setup {
    /// Runs a workload that counts system calls.
    pub(crate) fn count_calls(&self, workload: &Workload) -> Table {
        let mut notes = Vec::new();
        let mut rows: Vec<Row> = self.servers_of(workload).into_iter().map(Row::new).collect();
        for row in &mut rows {
            match self.count_of(workload, row) {
                Ok(summary) if row.server == Server::Hayami => {
                    notes.push(format!("hayami under strace:\n\n```\n{}\n```", summary.trim_end()));
                }
                Ok(_) => {}
                Err(fault) => row.fault = Some(fault),
            }
        }
        Table::new(*workload, rows, notes)
    }

    /// Counts for one server; returns strace's own summary.
    fn count_of(&self, workload: &Workload, row: &mut Row) -> Result<String, String> {
        let Kind::Calls { connections, requests } = workload.kind else { unreachable!("counts calls") };
        let (process, bytes) = self.start(row.server, workload, Start::default())?;
        row.bytes = bytes;
        let mut words = split(&format!("-c {connections} -n {requests}"));
        words.extend(self.protocol(workload.wire, None));
        words.extend(expectation(workload.document()));
        words.push(workload.url(&process.address.to_string()));
        let file = self.guard.folder.join("strace.txt");
        let mut strace = self.attach(process.id(), &file)?;
        let asked = self.generate(&words, process.id(), TRACED);
        guard::signal(strace.id(), Signal::INT);
        wait(&mut strace)?;
        let outcome = asked?;
        row.peak_memory = cost::peak_memory(process.id());
        let summary = fs::read_to_string(&file).map_err(|error| format!("strace: {error}"))?;
        row.samples.push(sample(&parse(&summary), outcome.responses as f64));
        Ok(summary)
    }

    /// Starts strace on all processes of a tree and waits until it has attached to every thread.
    fn attach(&self, root: u32, file: &Path) -> Result<Child, String> {
        let mut command = Command::new("strace");
        command.args(["-c", "-f", "-o"]).arg(file);
        for pid in cost::tree(root) {
            command.arg("-p").arg(pid.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let spawned = pin::on_core(self.client_core, || command.spawn());
        let mut strace = spawned.map_err(|error| format!("strace: {error} (Debian package strace)"))?;
        self.guard.watch(strace.id());
        let start = Instant::now();
        while !cost::tree(root).into_iter().all(is_traced) {
            if matches!(strace.try_wait(), Ok(Some(_))) || start.elapsed() > PATIENCE {
                guard::end_tree(strace.id());
                let _ = strace.wait();
                return Err("strace cannot attach: is tracing allowed here?".to_owned());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(strace)
    }
}

/// Whether every thread of a process has a tracer.
fn is_traced(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut statuses = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    statuses.all(|status| !status.contains("TracerPid:\t0\n"))
}

fn wait(strace: &mut Child) -> Result<(), String> {
    let start = Instant::now();
    while let Ok(None) = strace.try_wait() {
        if start.elapsed() > PATIENCE {
            guard::end_tree(strace.id());
            let _ = strace.wait();
            return Err("strace does not end".to_owned());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The calls and their counts in the table of `strace -c`.
fn parse(summary: &str) -> Vec<(&str, u64)> {
    let row = |line| {
        let fields: Vec<&str> = str::split_ascii_whitespace(line).collect();
        // % time, seconds, usecs/call, calls, [errors], syscall
        let name = *fields.last()?;
        (fields.len() >= 5 && name != "total").then_some((name, fields[3].parse().ok()?))
    };
    summary.lines().filter_map(row).collect()
}

fn sample(calls: &[(&str, u64)], requests: f64) -> Sample {
    let per_request = |wanted: &dyn Fn(&str) -> bool| {
        calls.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| *count).sum::<u64>() as f64 / requests
    };
    let known = |name: &str| [RECEIVE, SEND, WAIT].iter().any(|names| names.contains(&name));
    Sample::from([
        (Figure::ReceiveCalls, per_request(&|name| RECEIVE.contains(&name))),
        (Figure::SendCalls, per_request(&|name| SEND.contains(&name))),
        (Figure::WaitCalls, per_request(&|name| WAIT.contains(&name))),
        (Figure::OtherCalls, per_request(&|name| !known(name))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.40    0.135822          13     10000           sendto
 37.99    0.084041           8     10100       100 recvfrom
  0.60    0.001335          13       100           epoll_wait
  0.01    0.000010          10         1           statx
------ ----------- ----------- --------- --------- ----------------
100.00    0.221208          10     20201       100 total
";

    #[test]
    fn the_summary_of_strace_gives_calls_with_and_without_errors() {
        let expected = [("sendto", 10_000), ("recvfrom", 10_100), ("epoll_wait", 100), ("statx", 1)];
        assert_eq!(parse(SUMMARY), expected);
    }

    #[test]
    fn calls_are_sorted_into_receiving_sending_waiting_and_others() {
        let sample = sample(&parse(SUMMARY), 10_000.0);
        for (figure, expected) in [
            (Figure::ReceiveCalls, 1.01),
            (Figure::SendCalls, 1.0),
            (Figure::WaitCalls, 0.01),
            (Figure::OtherCalls, 0.0001),
        ] {
            assert!((sample[&figure] - expected).abs() < 1e-9, "{figure:?}");
        }
    }
}
