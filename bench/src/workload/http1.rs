//! HTTP/1.1 in clear: scenarios S0, S3 and S4, connections per request, pipelining, large files,
//! idle connections, system calls.

use super::{Document, GIGABYTE, GREETING, Group, HELLO, Kind, MEGABYTE, PAGE, Tool, Use, Wire, Workload};
use crate::figure::Figure;
use crate::servers::Server;

/// All that speak it.
const SERVERS: &[Server] = &[
    Server::Hayami,
    Server::NginxTuned,
    Server::H2o,
    Server::Bare,
    Server::Nginx,
    Server::Lighttpd,
    Server::Apache,
];

/// The workloads of HTTP/1.1 in clear, in the order they run.
pub(super) const WORKLOADS: [Workload; 11] = [
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
        group: Group::Http1,
        wire: Wire::Http1,
        kind: Kind::Idle { connections: 18_000, asked: true },
        servers: SERVERS,
        columns: &[Figure::MemoryPerConnection, Figure::MemoryWithReserve, Figure::Alive, Figure::Errors],
    },
    Workload {
        name: "strace",
        about: "system calls per request, 612 octets, keep-alive, 100 connections, steady state (strace -c -f)",
        group: Group::Http1,
        wire: Wire::Http1,
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
    Workload { name, about, group: Group::Http1, wire: Wire::Http1, kind, servers: SERVERS, columns: COLUMNS }
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
    const WITH_FILES: &[Server] =
        &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Nginx, Server::Lighttpd, Server::Apache];
    Workload {
        name,
        about,
        group: Group::Http1,
        wire: Wire::Http1,
        kind,
        servers: WITH_FILES,
        columns: COLUMNS,
    }
}
