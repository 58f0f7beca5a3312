//! Servers in front of upstreams: 1 KB from the bare loop by reverse proxy, a PHP page over FastCGI.

use super::{Behind, Document, GIGABYTE, Group, KILOBYTE, Kind, SCRIPT, Use, Wire, Workload};
use crate::figure::Figure;
use crate::servers::Server;

const ONE_BY_ONE: Use = Use::KeepAlive { depth: 1 };
const FAR: Use = Use::OldPerRequest { rtt_ms: 100 };
const FRONT_ENDS: &[Server] = &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Haproxy];
/// Number of requests for which upstream connections are counted.
const REQUESTS: u64 = 100_000;

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
const FAR_COLUMNS: &[Figure] = &[
    Figure::Rate,
    Figure::Cost,
    Figure::CoreUse,
    Figure::LoadCoreUse,
    Figure::P50,
    Figure::P99,
    Figure::PeakInAll,
    Figure::Errors,
];

/// The workloads of proxies, in the order they run.
pub(super) const WORKLOADS: [Workload; 10] = [
    Workload {
        // Includes nginx as shipped, which opens a connection for each request.
        servers: &[
            Server::Hayami,
            Server::NginxTuned,
            Server::H2o,
            Server::Haproxy,
            Server::Bare,
            Server::Nginx,
        ],
        ..load("proxy", "1 KB from a fast upstream, keep-alive, 100 connections", 100, ONE_BY_ONE)
    },
    Workload {
        servers: &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Haproxy, Server::Bare],
        ..load("proxy-new", "the same, a client connection per request, 100 at once", 100, Use::PerRequest)
    },
    Workload {
        wire: Wire::Http2Tls,
        servers: &[Server::Hayami, Server::NginxTuned, Server::H2o],
        ..load(
            "proxy-h2",
            "the same, HTTP/2 over TLS to the client, 50 connections of 50 streams",
            50,
            Use::Streams(50),
        )
    },
    far("proxy-far-10000", "S1, 100 ms away: a connection per request, HTTP/1.0, c=10000", 10_000),
    far("proxy-far-20000", "S1, 100 ms away: a connection per request, HTTP/1.0, c=20000", 20_000),
    opened(
        "proxy-opened-1",
        "100,000 requests on 100 connections, one worker: connections to the upstream",
        1,
    ),
    opened("proxy-opened-2", "the same, two workers", 2),
    opened("proxy-opened-8", "the same, eight workers", 8),
    Workload {
        behind: Behind::Files,
        kind: Kind::Download(GIGABYTE),
        columns: &[Figure::PeakInAll, Figure::MegabyteRate, Figure::Errors],
        ..load("proxy-1gb", "1 GiB through the proxy to a slow client: peak of memory", 1, ONE_BY_ONE)
    },
    Workload {
        behind: Behind::Php,
        servers: &[Server::Hayami, Server::NginxTuned, Server::H2o],
        kind: Kind::Load { document: SCRIPT, connections: 16, with: ONE_BY_ONE },
        ..load("php", "612 bytes from PHP-FPM by FastCGI, keep-alive, 16 connections", 16, ONE_BY_ONE)
    },
];

const fn load(name: &'static str, about: &'static str, connections: usize, with: Use) -> Workload {
    const DOCUMENT: Document = KILOBYTE;
    Workload {
        name,
        about,
        group: Group::Proxy,
        wire: Wire::Http1,
        kind: Kind::Load { document: DOCUMENT, connections, with },
        servers: FRONT_ENDS,
        columns: COLUMNS,
        absent: &[],
        behind: Behind::Loop,
    }
}

const fn far(name: &'static str, about: &'static str, connections: usize) -> Workload {
    let servers = &[Server::Hayami, Server::NginxTuned];
    Workload { columns: FAR_COLUMNS, servers, ..load(name, about, connections, FAR) }
}

const fn opened(name: &'static str, about: &'static str, workers: usize) -> Workload {
    const CONNECTIONS: usize = 100;
    Workload {
        kind: Kind::Opened { connections: CONNECTIONS, requests: REQUESTS, workers },
        servers: &[Server::Hayami, Server::NginxTuned, Server::H2o, Server::Haproxy],
        columns: &[Figure::Opened, Figure::Reused, Figure::Rate, Figure::Errors],
        ..load(name, about, CONNECTIONS, ONE_BY_ONE)
    }
}
