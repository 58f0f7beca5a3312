//! What is measured, and a sample of it.

use std::collections::BTreeMap;

use crate::outcome::Outcome;

/// A quantity that a round can provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Figure {
    /// Server cost: CPU microseconds, user and system, per successful response.
    Cost,
    /// The part of [`Figure::Cost`] spent in the server's own code.
    CostUser,
    /// The part of [`Figure::Cost`] spent in the kernel.
    CostSystem,
    /// CPU microseconds per million bytes of response.
    CostPerMegabyte,
    /// Responses per second of wall time.
    Rate,
    /// Millions of bytes received per second of wall time.
    MegabyteRate,
    /// Responses per second of CPU time: the throughput of one fully used server core.
    PerCore,
    /// How much of its core the server used, in percent. Below 100 the client was the bottleneck.
    CoreUse,
    /// Median latency, microseconds.
    P50,
    /// 99th percentile of the latency, microseconds.
    P99,
    /// How much of its core the generator used, in percent. Near 100 it was the bottleneck.
    LoadCoreUse,
    /// The share of connections that resumed a TLS session, in percent.
    Resumed,
    /// Bytes of field blocks per response.
    HeadBytes,
    /// Correct responses.
    Succeeded,
    /// Incorrect responses in all runs together.
    LostInAll,
    /// The peak of the resident size over all runs, millions of bytes.
    PeakInAll,
    /// Connections opened to the upstream.
    Opened,
    /// Requests to the upstream on a reused connection, in percent.
    Reused,
    /// Incorrect responses and broken connections.
    Errors,
    /// Bytes by which resident memory grows per idle connection.
    MemoryPerConnection,
    /// The same by proportional size (PSS): shared pages are counted once.
    ProportionalPerConnection,
    /// The same, including what the server reserved at its start for the allowed number of connections.
    MemoryWithReserve,
    /// Connections still open when memory was read.
    Alive,
    /// Calls that receive (read, recvfrom …) per request.
    ReceiveCalls,
    /// Calls that send (write, writev, sendto, sendfile …) per request.
    SendCalls,
    /// Calls that wait (epoll_wait …) per request; shared by all connections that are ready.
    WaitCalls,
    /// All other system calls per request.
    OtherCalls,
}

impl Figure {
    /// The heading in tables and the key in JSON, with its unit.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Cost => "cost µs/response",
            Self::CostUser => "user",
            Self::CostSystem => "system",
            Self::CostPerMegabyte => "cost µs/MB",
            Self::Rate => "responses/s",
            Self::MegabyteRate => "MB/s",
            Self::PerCore => "responses per CPU s",
            Self::CoreUse => "core %",
            Self::P50 => "p50 µs",
            Self::P99 => "p99 µs",
            Self::LoadCoreUse => "load core %",
            Self::Resumed => "resumed %",
            Self::HeadBytes => "head bytes/response",
            Self::Succeeded => "succeeded",
            Self::LostInAll => "lost in all runs",
            Self::PeakInAll => "peak MB of all runs",
            Self::Opened => "upstream connections",
            Self::Reused => "reused %",
            Self::Errors => "errors",
            Self::MemoryPerConnection => "bytes/connection",
            Self::ProportionalPerConnection => "PSS bytes/connection",
            Self::MemoryWithReserve => "bytes/connection with reserve",
            Self::Alive => "alive",
            Self::ReceiveCalls => "receive calls/request",
            Self::SendCalls => "send calls/request",
            Self::WaitCalls => "wait calls/request",
            Self::OtherCalls => "other calls/request",
        }
    }

    /// Significant digits after the decimal point.
    pub(crate) fn decimals(self) -> usize {
        match self {
            Self::Cost | Self::CostUser | Self::CostSystem => 2,
            Self::HeadBytes | Self::PeakInAll => 1,
            Self::Reused | Self::ReceiveCalls | Self::SendCalls | Self::WaitCalls | Self::OtherCalls => 3,
            _ => 0,
        }
    }
}

/// The figures of one round for one server.
pub(crate) type Sample = BTreeMap<Figure, f64>;

/// The sample of a round of load.
pub(crate) fn of_load(outcome: &Outcome) -> Sample {
    let responses = outcome.responses as f64;
    let total = outcome.user_us + outcome.system_us;
    Sample::from([
        (Figure::Cost, total / responses),
        (Figure::CostUser, outcome.user_us / responses),
        (Figure::CostSystem, outcome.system_us / responses),
        (Figure::CostPerMegabyte, total / (outcome.bytes as f64 / 1e6)),
        (Figure::Rate, responses / outcome.seconds),
        (Figure::MegabyteRate, outcome.bytes as f64 / 1e6 / outcome.seconds),
        (Figure::PerCore, responses / (total / 1e6)),
        (Figure::CoreUse, total / 1e4 / outcome.seconds),
        (Figure::LoadCoreUse, outcome.generator_share * 100.0),
        (Figure::P50, outcome.p50_us),
        (Figure::P99, outcome.p99_us),
        (Figure::HeadBytes, outcome.head_bytes as f64 / responses),
        (Figure::Resumed, outcome.resumed as f64 * 100.0 / outcome.connections as f64),
        (Figure::Succeeded, responses),
        (Figure::Errors, outcome.errors as f64),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_sample_divides_cpu_time_by_successful_responses() {
        let sample = of_load(&Outcome {
            responses: 1000,
            bytes: 2_000_000,
            seconds: 2.0,
            user_us: 2000.0,
            system_us: 6000.0,
            ..Outcome::default()
        });
        for (figure, expected) in [
            (Figure::Cost, 8.0),
            (Figure::CostUser, 2.0),
            (Figure::CostSystem, 6.0),
            (Figure::CostPerMegabyte, 4000.0),
            (Figure::Rate, 500.0),
            (Figure::MegabyteRate, 1.0),
            (Figure::PerCore, 125_000.0),
            (Figure::CoreUse, 0.4),
        ] {
            assert!((sample[&figure] - expected).abs() < 1e-9, "{figure:?}: {}", sample[&figure]);
        }
    }
}
