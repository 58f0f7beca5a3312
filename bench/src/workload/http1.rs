//! HTTP/1.1 in cleartext: scenarios S0, S3 and S4, connections per request, pipelining, large files, idle
//! connections, system calls.

use super::{Behind, Document, GIGABYTE, GREETING, Group, HELLO, Kind, MEGABYTE, PAGE, Use, Wire, Workload};
use crate::figure::Figure;
use crate::servers::Server;

const ONE_BY_ONE: Use = Use::KeepAlive { depth: 1 };

/// All servers with HTTP/1.1.
const SERVERS: &[Server] = &[
    Server::Hayami,
    Server::NginxTuned,
    Server::H2o,
    Server::Bare,
    Server::Nginx,
    Server::Lighttpd,
    Server::Apache,
];

/// The workloads of HTTP/1.1 in cleartext, in the order they run.
pub(super) const WORKLOADS: [Workload; 10] = [
    load("s0", "612 bytes, keep-alive, 100 connections", PAGE, 100, ONE_BY_ONE),
    load("s3", "14 bytes, keep-alive, 100 connections", GREETING, 100, ONE_BY_ONE),
    load("s4", "12 bytes, keep-alive, 300 connections", HELLO, 300, ONE_BY_ONE),
    load("close-200", "612 bytes, a connection per request, 200 at once", PAGE, 200, Use::PerRequest),
    load("close-1000", "612 bytes, a connection per request, 1,000 at once", PAGE, 1000, Use::PerRequest),
    load(
        "pipeline-16",
        "612 bytes, 100 connections, 16 requests pipelined on each",
        PAGE,
        100,
        Use::KeepAlive { depth: 16 },
    ),
    file("1mb", "a file of 1 MiB, keep-alive, 16 connections", MEGABYTE, 16),
    file("1gb", "a file of 1 GiB, keep-alive, 4 connections", GIGABYTE, 4),
    Workload {
        name: "idle-18000",
        about: "18,000 keep-alive connections that have asked once: growth of the server's resident memory",
        group: Group::Http1,
        wire: Wire::Http1,
        kind: Kind::Idle { connections: 18_000, asked: true },
        servers: SERVERS,
        columns: &[Figure::MemoryPerConnection, Figure::MemoryWithReserve, Figure::Alive, Figure::Errors],
        absent: &[],
        behind: Behind::Nothing,
    },
    Workload {
        name: "strace",
        about: "system calls per request, 612 bytes, keep-alive, 100 connections, steady state (strace -c -f)",
        group: Group::Http1,
        wire: Wire::Http1,
        kind: Kind::Calls { connections: 100, requests: 100_000 },
        servers: &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Bare],
        columns: &[Figure::ReceiveCalls, Figure::SendCalls, Figure::WaitCalls, Figure::OtherCalls],
        absent: &[],
        behind: Behind::Nothing,
    },
];

const fn load(
    name: &'static str,
    about: &'static str,
    document: Document,
    connections: usize,
    with: Use,
) -> Workload {
    let kind = Kind::Load { document, connections, with };
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
    in_clear(name, about, kind, SERVERS, COLUMNS)
}

const fn file(name: &'static str, about: &'static str, document: Document, connections: usize) -> Workload {
    let kind = Kind::Load { document, connections, with: ONE_BY_ONE };
    const COLUMNS: &[Figure] = &[
        Figure::CostPerMegabyte,
        Figure::MegabyteRate,
        Figure::CoreUse,
        Figure::P50,
        Figure::P99,
        Figure::Errors,
    ];
    // The bare loop has a constant answer in memory and no sendfile, so it is no limit for files.
    const WITH_FILES: &[Server] =
        &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Nginx, Server::Lighttpd, Server::Apache];
    in_clear(name, about, kind, WITH_FILES, COLUMNS)
}

const fn in_clear(
    name: &'static str,
    about: &'static str,
    kind: Kind,
    servers: &'static [Server],
    columns: &'static [Figure],
) -> Workload {
    let (group, wire) = (Group::Http1, Wire::Http1);
    Workload { name, about, group, wire, kind, servers, columns, absent: &[], behind: Behind::Nothing }
}
