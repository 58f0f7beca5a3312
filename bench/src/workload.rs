//! The workloads, by name.

use crate::figure::Figure;
use crate::servers::{ALL, Server};

/// A page of the size of nginx's welcome page, which the published rows served.
pub(crate) const PAGE: Document = Document { target: "/", file: "index.html", octets: 612 };
/// `Hello, world.` and a line feed.
pub(crate) const GREETING: Document = Document { target: "/greeting.txt", file: "greeting.txt", octets: 14 };
/// `hello world` and a line feed.
pub(crate) const HELLO: Document = Document { target: "/hello.txt", file: "hello.txt", octets: 12 };
/// A file that fits in no socket buffer.
pub(crate) const MEGABYTE: Document = Document { target: "/1mb.bin", file: "1mb.bin", octets: 1 << 20 };
/// A file that fits in no cache but the kernel's.
pub(crate) const GIGABYTE: Document = Document { target: "/1gb.bin", file: "1gb.bin", octets: 1 << 30 };

/// A file to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The request target.
    pub(crate) target: &'static str,
    /// The name in the folder of documents.
    pub(crate) file: &'static str,
    /// Its size.
    pub(crate) octets: u64,
}

/// What makes the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// wrk when it is installed, or else our client.
    Wrk,
    /// Our client.
    Own,
}

/// How connections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Requests follow each other, `depth` at once.
    KeepAlive { depth: usize },
    /// Each request has its connection, and says `Connection: close`.
    PerRequest,
}

/// What is done and measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Load for a time; CPU time, rate and latency.
    Load { document: Document, connections: usize, with: Use, tool: Tool },
    /// Connections that asked once and stay; growth of memory.
    Idle { connections: usize },
    /// A fixed number of requests under `strace -c -f`; system calls per request.
    Calls { connections: usize, requests_each: usize },
}

/// A named workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// The name for `--only`.
    pub(crate) name: &'static str,
    /// One line for the report.
    pub(crate) about: &'static str,
    /// What is done.
    pub(crate) kind: Kind,
    /// Who takes part.
    pub(crate) servers: &'static [Server],
    /// What the report shows, in columns.
    pub(crate) columns: &'static [Figure],
}

/// All workloads, in the order they run.
pub(crate) const WORKLOADS: [Workload; 11] = [
    load("s0", "612 octets, keep-alive, 100 connections", PAGE, 100, Use::KeepAlive { depth: 1 }, Tool::Wrk),
    load(
        "s3",
        "14 octets, keep-alive, 100 connections",
        GREETING,
        100,
        Use::KeepAlive { depth: 1 },
        Tool::Wrk,
    ),
    load("s4", "12 octets, keep-alive, 300 connections", HELLO, 300, Use::KeepAlive { depth: 1 }, Tool::Wrk),
    load(
        "close-200",
        "612 octets, a connection per request, 200 at once",
        PAGE,
        200,
        Use::PerRequest,
        Tool::Wrk,
    ),
    load(
        "close-1000",
        "612 octets, a connection per request, 1,000 at once",
        PAGE,
        1000,
        Use::PerRequest,
        Tool::Wrk,
    ),
    load(
        "close-200-own",
        "as close-200, the load made by the client of this package",
        PAGE,
        200,
        Use::PerRequest,
        Tool::Own,
    ),
    load(
        "pipeline-16",
        "612 octets, 100 connections, 16 requests pipelined on each",
        PAGE,
        100,
        Use::KeepAlive { depth: 16 },
        Tool::Own,
    ),
    file("1mb", "a file of 1 MiB, keep-alive, 16 connections", MEGABYTE, 16),
    file("1gb", "a file of 1 GiB, keep-alive, 4 connections", GIGABYTE, 4),
    Workload {
        name: "idle-18000",
        about: "18,000 keep-alive connections that have asked once: growth of the server's resident memory",
        kind: Kind::Idle { connections: 18_000 },
        servers: &ALL,
        columns: &[Figure::MemoryPerConnection, Figure::MemoryWithReserve, Figure::Alive, Figure::Errors],
    },
    Workload {
        name: "strace",
        about: "system calls per request, 612 octets, keep-alive, 100 connections, steady state (strace -c -f)",
        kind: Kind::Calls { connections: 100, requests_each: 100 },
        servers: &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Bare],
        columns: &[Figure::ReceiveCalls, Figure::SendCalls, Figure::WaitCalls, Figure::OtherCalls],
    },
];

const fn load(
    name: &'static str,
    about: &'static str,
    document: Document,
    connections: usize,
    with: Use,
    tool: Tool,
) -> Workload {
    let kind = Kind::Load { document, connections, with, tool };
    const COLUMNS: &[Figure] = &[
        Figure::Cost,
        Figure::CostUser,
        Figure::CostSystem,
        Figure::PerCore,
        Figure::Rate,
        Figure::CoreUse,
        Figure::P50,
        Figure::P99,
        Figure::Errors,
    ];
    Workload { name, about, kind, servers: &ALL, columns: COLUMNS }
}

const fn file(name: &'static str, about: &'static str, document: Document, connections: usize) -> Workload {
    let with = Use::KeepAlive { depth: 1 };
    let kind = Kind::Load { document, connections, with, tool: Tool::Own };
    const COLUMNS: &[Figure] = &[
        Figure::CostPerMegabyte,
        Figure::MegabyteRate,
        Figure::CoreUse,
        Figure::P50,
        Figure::P99,
        Figure::Errors,
    ];
    // The bare loop has a constant answer in memory and no sendfile: no limit for files.
    const SERVERS: &[Server] =
        &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Nginx, Server::Lighttpd, Server::Apache];
    Workload { name, about, kind, servers: SERVERS, columns: COLUMNS }
}

impl Workload {
    /// The document that is asked for.
    pub(crate) fn document(&self) -> Document {
        match self.kind {
            Kind::Load { document, .. } => document,
            Kind::Idle { .. } | Kind::Calls { .. } => PAGE,
        }
    }

    /// Whether each request has its own connection.
    pub(crate) fn is_per_request(&self) -> bool {
        matches!(self.kind, Kind::Load { with: Use::PerRequest, .. })
    }

    /// The request, for a server at `host`.
    pub(crate) fn request(&self, host: &str) -> Vec<u8> {
        let close = if self.is_per_request() { "Connection: close\r\n" } else { "" };
        format!("GET {} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n", self.document().target).into_bytes()
    }
}
