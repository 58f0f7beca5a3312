//! The results: plain data, filled by the workers of a run and read by the reports.
//!
//! Only the measured part of a run is included, without ramp-up and warm-up.

use crate::{Causes, Errors, Histogram, Statuses, Timeline};
use std::fmt;
use std::time::{Duration, SystemTime};

/// One run against one target.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Index of the target in the plan.
    pub target: usize,
    /// When measuring began.
    pub started: SystemTime,
    /// The measured time.
    pub elapsed: Duration,
    /// The counts of all workers together.
    pub tally: Tally,
    /// CPU time, user and system, of the generator's worker threads over the measured time.
    pub generator_cpu: Duration,
    /// How many worker threads there were.
    pub threads: usize,
    /// The server's cost, if its processes are on this machine and could be read.
    pub server: Option<ServerCost>,
    /// The CPUs of this machine that generator and server could use. `None`: not known, or the server is on this
    /// machine and its processes could not be read.
    pub room: Option<CpuRoom>,
    /// Whether the run completed.
    pub ended: Ended,
    /// The server's death, if it answered at first and no longer at the end.
    pub death: Option<Death>,
}

/// A server that stopped answering during a run and did not come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The time of its last response since measuring began; zero if that was before.
    pub at: Duration,
    /// The error of requests since then: `connection refused`. `None`: they were not answered in the time
    /// left.
    pub cause: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// As planned.
    #[default]
    Complete,
    /// The user stopped it.
    Interrupted,
}

/// Counts of one worker or of many; merging adds. Histograms hold nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// From the moment a request was due (open model) or sent (closed model) to the last byte of its answer.
    pub latency: Histogram,
    /// Open model only: from the moment the request was actually sent.
    pub uncorrected: Option<Histogram>,
    /// From the first attempt to a usable connection: TCP and TLS.
    pub connect: Histogram,
    /// The same for connections that became usable before measuring began: all of them, if connections are
    /// kept.
    pub connect_before: Histogram,
    /// From the sending of a request to the first byte of its answer.
    pub first_byte: Histogram,
    /// Complete answers by status code.
    pub statuses: Statuses,
    /// Failures, by kind.
    pub errors: Errors,
    /// The causes of failures. Unexpected statuses are not included: `statuses` has them.
    pub causes: Causes,
    /// Requests sent, whole.
    pub requests: u64,
    /// Complete final responses, successful or not.
    pub responses: u64,
    /// Bytes received, with heads and framing, without TLS.
    pub bytes_in: u64,
    /// Bytes sent, with heads and framing, without TLS.
    pub bytes_out: u64,
    /// Bytes of the answers' heads, as they were on the wire.
    pub bytes_head: u64,
    /// Bytes of the answers' content.
    pub bytes_content: u64,
    /// Connections that became usable.
    pub connections: u64,
    /// TLS handshakes that resumed a session.
    pub resumed: u64,
    /// What happened when, from the moment measuring began: `timeline.at(nanoseconds).responses += 1`.
    pub timeline: Timeline,
    /// A sample response, to show the server's content.
    pub sample: Option<Sample>,
}

impl Tally {
    /// Complete successful responses.
    pub fn successes(&self) -> u64 {
        self.responses.saturating_sub(self.errors.status + self.errors.content)
    }
}

/// The first answer of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The version of the response, whatever the request's: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2`.
    pub protocol: String,
    /// The negotiated parameters; none on a plain connection.
    pub tls: Option<TlsSpoken>,
    /// Its status.
    pub status: u16,
    /// Its fields in order, names in lower case.
    pub fields: Vec<(String, String)>,
    /// Bytes of its content.
    pub content: u64,
}

impl Sample {
    /// The first field of that name (lower case).
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// The negotiated parameters, by IANA names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSpoken {
    /// `TLSv1.3`
    pub version: String,
    /// `TLS_AES_128_GCM_SHA256`
    pub suite: String,
    /// `X25519`; none where a session was resumed without a key exchange.
    pub group: Option<String>,
    /// `h2`; none if the server selected no protocol (ALPN, RFC 7301).
    pub alpn: Option<String>,
}

impl fmt::Display for TlsSpoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.version, self.suite)?;
        self.group.iter().try_for_each(|group| write!(f, " {group}"))
    }
}

/// The resources that the server's processes used during the measured time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCost {
    /// The processes that listen or were named, then their children.
    pub processes: Vec<u32>,
    /// The name of the first process.
    pub name: String,
    /// CPU time in user space, of all processes.
    pub user: Duration,
    /// CPU time in the kernel, of all processes.
    pub system: Duration,
    /// The largest memory seen, in bytes: proportional set size where readable, else resident set size.
    pub memory: u64,
}

/// The CPUs of this machine that generator and server may use, by their numbers, and their use during the
/// measured time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuRoom {
    /// The generator's.
    pub generator: Vec<usize>,
    /// The server's; empty if it is on another machine.
    pub server: Vec<usize>,
    /// Time that all of them together worked for programs of any kind; interrupts are not counted.
    pub busy: Duration,
    /// Total idle time of all of them.
    pub idle: Duration,
}

impl CpuRoom {
    /// How many CPUs these are.
    pub fn cpus(&self) -> usize {
        self.generator.len() + self.server.iter().filter(|cpu| !self.generator.contains(cpu)).count()
    }

    /// Whether there is a CPU that both may use.
    pub fn is_shared(&self) -> bool {
        self.server.iter().any(|cpu| self.generator.contains(cpu))
    }
}

impl Outcome {
    /// CPU time that other programs took on the CPUs of generator and server. `None`: not known.
    pub fn others_cpu(&self) -> Option<Duration> {
        let server = self.server.as_ref().map(|server| server.user + server.system).unwrap_or_default();
        Some(self.room.as_ref()?.busy.saturating_sub(self.generator_cpu + server))
    }
}
