//! What is said of an origin once: its addresses, what is spoken to them, and how patiently.

use hayami_h1::Limits;
use hayami_net::dial::Peer;
use hayami_tls::Connector;
use std::time::Duration;

/// Where requests go, and how patiently.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Addresses of one name, tried in this order until a connection is made.
    pub peers: Vec<Peer>,
    /// What is spoken to them.
    pub protocol: Protocol,
    /// What it is spoken over; `None`: in clear.
    pub tls: Option<Tls>,
    /// Limits of responses.
    pub limits: Limits,
    /// Calls under way at once on a connection that speaks HTTP/2.
    pub streams: u32,
    /// Bytes of a response's content that may wait in memory for whoever takes it, over HTTP/2, where nobody else on the
    /// connection waits for that. Over HTTP/1.1 nothing waits beyond what one read brings.
    pub buffer: u32,
    /// How long is waited for what.
    pub timeouts: Timeouts,
    /// Connections that may wait for a request; with 0, every connection serves one.
    pub idle: usize,
}

/// What may wait of a response by default: as much as a round trip of 100 ms brings at 10 MB a second.
pub const BUFFER: u32 = 1024 * 1024;

/// What is spoken to an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2, whatever the upstream says (RFC 9113 §3.3).
    Http2,
    /// HTTP/2 if the upstream agrees to it (RFC 7301), HTTP/1.1 otherwise; so many of 100 connections offer it.
    Negotiated(u8),
    /// FastCGI.
    FastCgi,
}

/// TLS to an upstream.
#[derive(Clone, Debug)]
pub struct Tls {
    /// What is offered, and who is believed.
    pub connector: Connector,
    /// The name that is asked for, and has to be in the certificate.
    pub name: String,
}

/// How long an upstream may take for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To take a connection, for each address that is tried.
    pub connect: Duration,
    /// From the end of the request to the end of the response's head.
    pub first_byte: Duration,
    /// Between two reads or two writes that get anywhere.
    pub io: Duration,
    /// For the next request of a connection; then we close it.
    pub keep_alive: Duration,
}
