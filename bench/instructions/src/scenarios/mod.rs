//! The hot paths, without a network but for the last: each runs as often as it is told to.

mod fields;
mod protocols;
mod routes;
mod site;
mod tls;

use crate::forward;
use std::process::Command;

/// A hot path.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// How often it is run in front of twice as often.
    pub(crate) times: u32,
    pub(crate) run: Run,
}

/// Where it runs.
pub(crate) enum Run {
    /// In this program.
    Here(fn(u32)),
    /// In a process of its own, which the given command starts.
    Process(fn(Command, u32) -> Result<(), String>),
}

/// In the order in which they are counted.
pub(crate) const SCENARIOS: &[Scenario] = &[
    // A browser's request read, and the answer with a page of 612 bytes written.
    Scenario { name: "h1-exchange", times: 2_000, run: Run::Here(protocols::h1) },
    Scenario { name: "h2-exchange", times: 2_000, run: Run::Here(protocols::h2) },
    // The head of that answer, and of that request.
    Scenario { name: "hpack-encode", times: 2_000, run: Run::Here(protocols::hpack_encode) },
    Scenario { name: "hpack-decode", times: 2_000, run: Run::Here(protocols::hpack_decode) },
    // A record of 1,024 bytes sealed by a server and opened by its client. Handshakes differ by up to
    // 300,000 instructions, so there are many records.
    Scenario { name: "tls-record", times: 60_000, run: Run::Here(tls::records) },
    // A page in the cache, through host, path, filters and the access log.
    Scenario { name: "cached-file", times: 2_000, run: Run::Here(site::cached_file) },
    // A redirect of one host of many, and of one path of many: their number must not matter.
    Scenario { name: "hosts-10", times: 20_000, run: Run::Here(routes::hosts_10) },
    Scenario { name: "hosts-10000", times: 20_000, run: Run::Here(routes::hosts_10_000) },
    Scenario { name: "paths-10", times: 20_000, run: Run::Here(routes::paths_10) },
    Scenario { name: "paths-1000", times: 20_000, run: Run::Here(routes::paths_1_000) },
    // A worker between a client and an upstream, over sockets.
    Scenario { name: "forwarded", times: 1_000, run: Run::Process(forward::run) },
];
