//! The running example: started and stopped by its own command; CPU time and counters of its processes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::example;
use crate::process::free_address;
use crate::race::Setup;
use crate::{guard, pin, servers};

/// The processes, in the order in which a request passes them.
pub(super) const PROCESSES: [&str; 3] = ["hayami", "api1", "database"];

/// The sides on which connections are pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pooling {
    Neither,
    Database,
    Api,
    Both,
}

impl Pooling {
    pub(super) const ALL: [Self; 4] = [Self::Neither, Self::Database, Self::Api, Self::Both];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Neither => "neither is pooled",
            Self::Database => "API to database pooled",
            Self::Api => "hayami to API pooled",
            Self::Both => "both pooled, as shipped",
        }
    }

    /// Arguments for the example's command. 0 disables pooling on both sides of it.
    fn words(self) -> [&'static str; 4] {
        let (keepalive, pool) = match self {
            Self::Neither => ("0", "0"),
            Self::Database => ("0", "100"),
            Self::Api => ("60000", "0"),
            Self::Both => ("60000", "100"),
        };
        ["--keepalive", keepalive, "--pool", pool]
    }
}

/// The example. Dropping it stops it.
pub(super) struct Stack {
    folder: PathBuf,
    processes: [u32; 3],
    /// hayami's port.
    pub(super) port: u16,
    api: u16,
    database: u16,
}

/// CPU time and counters since the processes were started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counters {
    /// CPU time of each of [`PROCESSES`], in microseconds.
    pub(super) cpu_us: [f64; 3],
    /// Requests received by the API.
    pub(super) requests: f64,
    /// Connections opened to the API.
    pub(super) connections: f64,
    /// Connections opened by the API to the database.
    pub(super) database_connections: f64,
}

impl Stack {
    /// Prepares a folder with new data; starts nothing.
    ///
    /// # Errors
    /// No port is available.
    pub(super) fn new(setup: &Setup) -> Result<Self, String> {
        let folder = setup.guard.folder.join("rest-api");
        let (port, api, database) = (free_port()?, free_port()?, free_port()?);
        Ok(Self { folder, processes: [0; 3], port, api, database })
    }

    /// Starts it, pinned to the server core. The database keeps running: its virtual machine takes a while to
    /// warm up, and that is not what is compared.
    ///
    /// # Errors
    /// It does not start; the last line of its output.
    pub(super) fn start(&mut self, setup: &Setup, pooling: Pooling) -> Result<(), String> {
        self.processes[..2].iter().filter(|id| **id > 0).for_each(|id| guard::end_tree(*id));
        let mut command = self.command("start");
        for (option, port) in [("-p", self.port), ("-a", self.api), ("-m", self.database)] {
            command.arg(option).arg(port.to_string());
        }
        command.args(pooling.words()).env("HAYAMI", servers::hayami_binary());
        let log = setup.guard.folder.join("rest-api.log");
        let said = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        command.stderr(said);
        let status = pin::on_core(setup.server_core, || command.status());
        self.processes = PROCESSES.map(|name| process(&self.folder, name));
        self.processes.iter().filter(|id| **id > 0).for_each(|id| setup.guard.watch(*id));
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => {
                Err(fs::read_to_string(&log).unwrap_or_default().lines().last().unwrap_or("?").to_owned())
            }
            Err(error) => Err(format!("examples/rest-api/run: {error}")),
        }
    }

    fn command(&self, word: &str) -> Command {
        let mut command = Command::new(example().join("run"));
        command.arg(word).arg("-d").arg(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// hayami's process.
    pub(super) fn hayami(&self) -> u32 {
        self.processes[0]
    }

    /// The current counters.
    ///
    /// # Errors
    /// The API does not answer.
    pub(super) fn counters(&self) -> Result<Counters, String> {
        let health = self.health().map_err(|error| format!("the API's counters: {error}"))?;
        let (_, content) = health.split_once("\r\n\r\n").unwrap_or_default();
        let health: Value = serde_json::from_str(content).map_err(|error| format!("counters: {error}"))?;
        let count = |name: &str| health.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
        Ok(Counters {
            cpu_us: self.processes.map(cpu_us),
            requests: count("requests"),
            connections: count("connections"),
            database_connections: count("database_connections"),
        })
    }

    fn health(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.api))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// The database and the versions of Go and Java.
    pub(super) fn versions(&self) -> String {
        let first = |program: &str, word: &str| {
            let output = Command::new(program).arg(word).stdin(Stdio::null()).output().ok()?;
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            text.lines().next().map(str::to_owned)
        };
        let program = fs::read_to_string(format!("/proc/{}/comm", self.processes[2])).unwrap_or_default();
        let database = match program.trim() {
            "java" => format!(
                "mongo-java-server with H2 on {}",
                first("java", "-version").unwrap_or_else(|| "Java".to_owned())
            ),
            other => first(other, "--version").unwrap_or_else(|| other.to_owned()),
        };
        format!("{}; {database}", first("go", "version").unwrap_or_default())
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // The guard ends what this leaves.
        let _ = self.command("stop").status();
    }
}

impl Counters {
    /// The difference to `before`, less the request that read the counters.
    pub(super) fn since(&self, before: &Self) -> Self {
        let cpu_us = [0, 1, 2].map(|process| self.cpu_us[process] - before.cpu_us[process]);
        Self {
            cpu_us,
            requests: self.requests - before.requests - 1.0,
            connections: self.connections - before.connections - 1.0,
            database_connections: self.database_connections - before.database_connections,
        }
    }
}

fn free_port() -> Result<u16, String> {
    Ok(free_address()?.port())
}

/// The id of the process with this name; 0 if there is none.
fn process(folder: &Path, name: &str) -> u32 {
    let text = fs::read_to_string(folder.join(format!("{name}.pid"))).unwrap_or_default();
    text.split(' ').next().and_then(|id| id.parse().ok()).unwrap_or(0)
}

/// CPU time of a process, user and system, in microseconds: fields 14 and 15 of its `stat` (proc(5)).
fn cpu_us(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    ticks(&stat).map_or(f64::NAN, |ticks| ticks * 1e6 / rustix::param::clock_ticks_per_second() as f64)
}

fn ticks(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11);
    Some(times.next()?.parse::<f64>().ok()? + times.next()?.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_whatever_the_process_is_called() {
        for name in ["java", "a b", "a) b"] {
            let stat = format!("7 ({name}) S 1 7 7 0 -1 4194304 1 0 0 0 30 12 5 6 20 0 1 0 99 1 1\n");
            assert_eq!(ticks(&stat), Some(42.0), "{name}");
        }
        assert_eq!(ticks("7 (x) S 1"), None);
    }

    #[test]
    fn counters_are_compared_without_the_question_for_them() {
        let before =
            Counters { cpu_us: [1.0; 3], requests: 10.0, connections: 5.0, database_connections: 2.0 };
        let now = Counters { cpu_us: [4.0; 3], requests: 31.0, connections: 8.0, database_connections: 3.0 };
        let wanted =
            Counters { cpu_us: [3.0; 3], requests: 20.0, connections: 2.0, database_connections: 1.0 };
        assert_eq!(now.since(&before), wanted);
    }
}
