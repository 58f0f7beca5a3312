//! The settings of an origin: addresses, protocol and timeouts.

use hayami_h1::Limits;
use hayami_net::dial::Peer;
use hayami_tls::Connector;
use std::time::Duration;

/// The settings of an origin.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Addresses of one name, tried in this order until a connection is established.
    pub peers: Vec<Peer>,
    /// The protocol to use.
    pub protocol: Protocol,
    /// TLS settings; `None` for cleartext.
    pub tls: Option<Tls>,
    /// Limits on responses.
    pub limits: Limits,
    /// Maximum concurrent calls on an HTTP/2 connection.
    pub streams: u32,
    /// Bytes of response content that may be buffered for the client over HTTP/2, so that other calls on the
    /// connection need not wait for it. Over HTTP/1.1 nothing is buffered beyond one read.
    pub buffer: u32,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Maximum number of idle connections; with 0, each connection serves one request.
    pub idle: usize,
}

/// Default for [`Origin::buffer`]: the bandwidth-delay product of 10 MB/s at a round trip of 100 ms.
pub const BUFFER: u32 = 1024 * 1024;

/// The protocol used with an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2 with prior knowledge (RFC 9113 §3.3).
    Http2,
    /// HTTP/2 if the upstream selects it by ALPN (RFC 7301), HTTP/1.1 otherwise; offered for this percentage of calls.
    Negotiated(u8),
    /// FastCGI.
    FastCgi,
}

/// TLS to an upstream.
#[derive(Clone, Debug)]
pub struct Tls {
    /// What to offer, and which certificates to trust.
    pub connector: Connector,
    /// The server name to send (SNI); the certificate must match it.
    pub name: String,
}

/// Timeouts of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To establish a connection, for each address tried.
    pub connect: Duration,
    /// From the end of the request to the end of the response head.
    pub first_byte: Duration,
    /// Between two successful reads or two successful writes.
    pub io: Duration,
    /// For the next request on an idle connection, before we close it.
    pub keep_alive: Duration,
}
