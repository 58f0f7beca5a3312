//! HTTP/2 without TLS and over TLS (scenario S2 A), TLS handshakes, idle connections over TLS.

use super::{Behind, Document, Group, Handshake, Kind, LARGE_PAGE, PAGE, Use, Wire, Workload};
use crate::figure::Figure;
use crate::servers::Server;

/// All servers that the targets mention.
const SERVERS: &[Server] =
    &[Server::Hayami, Server::H2o, Server::Nghttpd, Server::NginxTuned, Server::NginxHttp2, Server::Caddy];

const X25519_SERVERS: &[Server] =
    &[Server::Hayami, Server::H2o, Server::NginxTuned, Server::NginxHttp2, Server::Caddy];

/// The workloads of HTTP/2 and TLS, in the order they run.
pub(super) const WORKLOADS: [Workload; 10] = [
    Workload {
        wire: Wire::Http2,
        servers: &[
            Server::Hayami,
            Server::H2o,
            Server::Nghttpd,
            Server::Bare,
            Server::NginxTuned,
            Server::NginxHttp2,
        ],
        ..streams("h2c", "612 bytes, HTTP/2 without TLS, 50 connections of 50 streams", PAGE, 50, 50)
    },
    streams("tls", "612 bytes, HTTP/2 over TLS, 50 connections of 50 streams", PAGE, 50, 50),
    streams("tls-1", "612 bytes, HTTP/2 over TLS, 1 connection of 1 stream", PAGE, 1, 1),
    streams("tls-500", "612 bytes, HTTP/2 over TLS, 500 connections of 1 stream", PAGE, 500, 1),
    Workload {
        columns: &[
            Figure::CostPerMegabyte,
            Figure::MegabyteRate,
            Figure::CoreUse,
            Figure::P50,
            Figure::P99,
            Figure::Errors,
        ],
        ..streams(
            "tls-513kb",
            "a page of 513 KB, HTTP/2 over TLS, 10 connections of 5 streams",
            LARGE_PAGE,
            10,
            5,
        )
    },
    // nghttpd does not support X25519.
    handshakes(
        "tls-full",
        "a full TLS 1.3 handshake per request, ECDSA P-256, X25519",
        Handshake::Full,
        X25519_SERVERS,
    ),
    handshakes(
        "tls-resumed",
        "a resumed TLS 1.3 handshake per request, tickets, X25519",
        Handshake::Resumed,
        X25519_SERVERS,
    ),
    // Debian's versions of the peers do not support the hybrid: hayami only, for context.
    handshakes(
        "tls-full-hybrid",
        "a full TLS 1.3 handshake per request, ECDSA P-256, X25519MLKEM768",
        Handshake::FullHybrid,
        &[Server::Hayami],
    ),
    idle(
        "idle-tls-settings",
        "10,000 HTTP/2 connections over TLS, SETTINGS exchanged: growth of the server's memory",
        false,
    ),
    idle(
        "idle-tls-asked",
        "10,000 HTTP/2 connections over TLS that have asked once: growth of the server's memory",
        true,
    ),
];

const fn streams(
    name: &'static str,
    about: &'static str,
    document: Document,
    connections: usize,
    streams: usize,
) -> Workload {
    const COLUMNS: &[Figure] = &[
        Figure::Cost,
        Figure::CostUser,
        Figure::CostSystem,
        Figure::PerCore,
        Figure::Rate,
        Figure::CoreUse,
        Figure::P50,
        Figure::P99,
        Figure::HeadBytes,
        Figure::Errors,
    ];
    let kind = Kind::Load { document, connections, with: Use::Streams(streams) };
    over_tls(name, about, kind, SERVERS, COLUMNS)
}

const fn handshakes(
    name: &'static str,
    about: &'static str,
    handshake: Handshake,
    servers: &'static [Server],
) -> Workload {
    const COLUMNS: &[Figure] = &[
        Figure::Cost,
        Figure::CostUser,
        Figure::CostSystem,
        Figure::PerCore,
        Figure::Rate,
        Figure::CoreUse,
        Figure::P50,
        Figure::P99,
        Figure::Resumed,
        Figure::Errors,
    ];
    const AT_ONCE: usize = 16;
    let kind = Kind::Load { document: PAGE, connections: AT_ONCE, with: Use::Handshakes(handshake) };
    over_tls(name, about, kind, servers, COLUMNS)
}

const fn idle(name: &'static str, about: &'static str, asked: bool) -> Workload {
    const COLUMNS: &[Figure] = &[
        Figure::MemoryPerConnection,
        Figure::ProportionalPerConnection,
        Figure::MemoryWithReserve,
        Figure::Alive,
        Figure::Errors,
    ];
    over_tls(name, about, Kind::Idle { connections: 10_000, asked }, SERVERS, COLUMNS)
}

const fn over_tls(
    name: &'static str,
    about: &'static str,
    kind: Kind,
    servers: &'static [Server],
    columns: &'static [Figure],
) -> Workload {
    let (group, wire) = (Group::Http2, Wire::Http2Tls);
    Workload { name, about, group, wire, kind, servers, columns, absent: &[], behind: Behind::Nothing }
}
