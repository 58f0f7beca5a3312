//! The published measurements, S0 to S4, a workload for each table or column, with the servers of its rows.
//! Where a row cannot be run, `absent` gives the reason.

use super::{Behind, Document, Flood, GREETING, Group, HELLO, Kind, PAGE, Use, Wire, Workload, flood};
use crate::figure::Figure;
use crate::servers::Server;

const ONE_BY_ONE: Use = Use::KeepAlive { depth: 1 };
/// S1: the front ends that are tuned for it or need no tuning.
const FRONT_ENDS: &[Server] = &[Server::Hayami, Server::NginxTuned, Server::H2o];
/// The default part of S2 B: 5.1 GB per run.
const PART: f64 = 0.1;

const COLUMNS: &[Figure] = &[
    Figure::Cost,
    Figure::CostUser,
    Figure::CostSystem,
    Figure::PerCore,
    Figure::Rate,
    Figure::CoreUse,
    Figure::LoadCoreUse,
    Figure::P50,
    Figure::P99,
    Figure::Errors,
];

/// Far clients send so little that the rate decides; with a hundred of them the CPU time of a round is only a
/// few ticks of a hundredth of a second.
const FAR_COLUMNS: &[Figure] = &[
    Figure::Rate,
    Figure::Cost,
    Figure::CoreUse,
    Figure::LoadCoreUse,
    Figure::P50,
    Figure::P99,
    Figure::Errors,
];

/// The workloads of the scenarios, in the order they run.
pub(super) const WORKLOADS: [Workload; 13] = [
    Workload {
        servers: &[
            Server::Hayami,
            Server::Nginx,
            Server::NginxWide,
            Server::NginxFiles,
            Server::NginxFilesDelay,
            Server::NginxTuned,
            Server::H2o,
        ],
        absent: &[(
            "h2o, num-threads 16, max-connections 10240",
            "one core has room for one thread, and 100 connections are below h2o's own limit: it is the row h2o",
        )],
        ..load("s0-tuning", "S0: 612 bytes, keep-alive, 100 connections", PAGE, 100, ONE_BY_ONE)
    },
    front_end("s1-kept-100", "S1, same host: 612 bytes, HTTP/1.0 keep-alive, c=100", 100, Use::OldKeepAlive),
    front_end(
        "s1-kept-1000",
        "S1, same host: 612 bytes, HTTP/1.0 keep-alive, c=1000",
        1000,
        Use::OldKeepAlive,
    ),
    Workload {
        absent: &[("other host, no delay", "needs a second machine")],
        ..front_end("s1-new-100", "S1, same host: a connection per request, HTTP/1.0, c=100", 100, NEAR)
    },
    front_end("s1-new-1000", "S1, same host: a connection per request, HTTP/1.0, c=1000", 1000, NEAR),
    front_end("s1-far-100", "S1, 100 ms away: a connection per request, HTTP/1.0, c=100", 100, FAR),
    front_end("s1-far-1000", "S1, 100 ms away: a connection per request, HTTP/1.0, c=1000", 1000, FAR),
    front_end("s1-far-10000", "S1, 100 ms away: a connection per request, HTTP/1.0, c=10000", 10_000, FAR),
    front_end("s1-far-20000", "S1, 100 ms away: a connection per request, HTTP/1.0, c=20000", 20_000, FAR),
    Workload {
        wire: Wire::Http2Tls,
        servers: &[Server::Hayami, Server::Nghttpd, Server::H2o, Server::NginxTuned],
        ..load(
            "s2a",
            "S2 A: 612 bytes, HTTP/2 over TLS, 50 connections of 50 streams",
            PAGE,
            50,
            Use::Streams(50),
        )
    },
    Workload {
        group: Group::Scenarios,
        ..flood::flood(
            "s2b-part",
            "S2 B: pages of 513 KB, HTTP/2 over TLS, 1,020 connections of 1,020 streams, three runs, a part of them",
            Flood { part: PART, ..flood::page(None) },
        )
    },
    Workload {
        servers: &[Server::Hayami, Server::H2o, Server::Apache],
        absent: &[
            (
                "OpenResty, content_by_lua",
                "no package of nginx's Lua module is installed; hayami has no Lua handler yet",
            ),
            ("Apache + mod_php", "no package of mod_php is installed; hayami has no FastCGI yet"),
            ("Raspberry Pi 2, 100 Mbit Ethernet", "this machine, by loopback, stands for it"),
        ],
        ..load("s3-hello", "S3: 14 bytes, keep-alive, 100 connections", GREETING, 100, ONE_BY_ONE)
    },
    Workload {
        servers: &[Server::Hayami, Server::Nginx, Server::NginxDelay, Server::NginxTuned, Server::H2o],
        absent: &[
            ("G-WAN", "no source code, no package, no longer offered"),
            ("Starlet", "an application server behind the front end: hayami has no handler for it yet"),
        ],
        ..load("s4-hello", "S4: 12 bytes, keep-alive, 300 connections", HELLO, 300, ONE_BY_ONE)
    },
];

const NEAR: Use = Use::OldPerRequest { rtt_ms: 0 };
const FAR: Use = Use::OldPerRequest { rtt_ms: 100 };

const fn front_end(name: &'static str, about: &'static str, connections: usize, with: Use) -> Workload {
    let columns = if let Use::OldPerRequest { rtt_ms: 1.. } = with { FAR_COLUMNS } else { COLUMNS };
    Workload { servers: FRONT_ENDS, columns, ..load(name, about, PAGE, connections, with) }
}

const fn load(
    name: &'static str,
    about: &'static str,
    document: Document,
    connections: usize,
    with: Use,
) -> Workload {
    Workload {
        name,
        about,
        group: Group::Scenarios,
        wire: Wire::Http1,
        kind: Kind::Load { document, connections, with },
        servers: &[],
        columns: COLUMNS,
        absent: &[],
        behind: Behind::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_hayami_and_a_peer() {
        for workload in WORKLOADS {
            let servers = workload.servers;
            assert!(servers.contains(&Server::Hayami) && servers.len() > 1, "{}", workload.name);
            assert_eq!(workload.group, Group::Scenarios, "{}", workload.name);
        }
    }
}
