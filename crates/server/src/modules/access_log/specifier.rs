//! The values that can be logged, and their names in a format.

use super::timestamp::TimeFormat;
use crate::upstream_trace::{Part, UpstreamTime};
use hayami_http::Known;

/// When a value becomes known. A record is filled in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request has been routed.
    Request,
    /// The handler has responded.
    Original,
    /// Filters have changed the response.
    Response,
    /// The response has been sent.
    End,
}

/// A value of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    LocalAddress,
    LocalPort,
    /// Of the client, possibly as forwarded by a trusted proxy (`real-ip`).
    ClientAddress,
    ClientPort,
    /// Of the connection's other end.
    PeerAddress,
    ConnectionId,
    ConnectTime,
    RequestIndex,
    StreamId,
    TlsVersion,
    TlsSuite,
    TlsSuiteBits,
    TlsResumed,
    TlsServerName,
    TlsAlpn,
    /// The subject of the client's certificate.
    TlsClientSubject,
    /// Its SHA-256, in hexadecimal.
    TlsClientFingerprint,
    RequestHeaderTime,
    RequestContentTime,
    RequestTotalTime,
    Method,
    Path,
    Query,
    Protocol,
    RequestLine,
    Authority,
    /// The name of the host as written in the configuration.
    Host,
    RequestField(FieldName),
    /// Replaced by [`Value::Text`] when the path is known.
    Environment(String),
    Text(String),
    Time(TimeFormat),
    /// The authenticated user, unless `setenv` names another one.
    User,
    Error,
    Status(Stage),
    ResponseField(FieldName, Stage),
    ContentBytes,
    ProcessTime,
    ResponseTime,
    TotalTime,
    /// The upstreams that were tried, in order.
    Upstreams,
    /// From the request's head to the first attempt.
    UpstreamIdle,
    UpstreamTime(UpstreamTime),
    UpstreamRequest(Part),
    UpstreamResponse(Part),
    /// Never available in this server: `%l`, values of unsupported protocols.
    Nothing,
}

impl Value {
    /// When the value is known.
    pub(super) fn stage(&self) -> Stage {
        match self {
            Self::Status(stage) | Self::ResponseField(_, stage) => *stage,
            Self::Error | Self::User => Stage::Response,
            Self::ContentBytes
            | Self::ProcessTime
            | Self::ResponseTime
            | Self::TotalTime
            | Self::Upstreams
            | Self::UpstreamIdle
            | Self::UpstreamTime(_)
            | Self::UpstreamRequest(_)
            | Self::UpstreamResponse(_) => Stage::End,
            _ => Stage::Request,
        }
    }

    /// Whether it is about the upstreams of a request.
    pub(super) fn is_of_upstreams(&self) -> bool {
        matches!(
            self,
            Self::Upstreams
                | Self::UpstreamIdle
                | Self::UpstreamTime(_)
                | Self::UpstreamRequest(_)
                | Self::UpstreamResponse(_)
        )
    }

    /// Whether it is a duration.
    pub(super) fn is_duration(&self) -> bool {
        matches!(
            self,
            Self::ConnectTime
                | Self::RequestHeaderTime
                | Self::RequestContentTime
                | Self::RequestTotalTime
                | Self::ProcessTime
                | Self::ResponseTime
                | Self::TotalTime
                | Self::UpstreamIdle
                | Self::UpstreamTime(_)
        )
    }
}

/// A field name: known ones are found without comparing text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldName {
    Known(Known),
    Other(Box<[u8]>),
}

impl FieldName {
    fn new(name: &str) -> Self {
        Known::of(name.as_bytes())
            .map_or_else(|| Self::Other(name.to_ascii_lowercase().into_bytes().into()), Self::Known)
    }

    /// The name in lower case.
    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Known(known) => known.name(),
            Self::Other(name) => name,
        }
    }
}

/// The value of `%` with this letter, or of `%<` if `original`: `%h`.
pub(super) fn plain(letter: char, original: bool) -> Option<Value> {
    Some(match letter {
        'A' => Value::LocalAddress,
        'b' => Value::ContentBytes,
        'H' => Value::Protocol,
        'h' => Value::ClientAddress,
        'l' => Value::Nothing,
        'm' => Value::Method,
        'p' => Value::LocalPort,
        'q' => Value::Query,
        'r' => Value::RequestLine,
        's' => Value::Status(response_stage(original)),
        't' => Value::Time(TimeFormat::Bracketed),
        'U' => Value::Path,
        'u' => Value::User,
        'V' => Value::Authority,
        'v' => Value::Host,
        _ => return None,
    })
}

/// The value `%{name}letter`, or what is wrong with it.
pub(super) fn named(name: &str, letter: char, original: bool) -> Result<Value, String> {
    match (letter, name) {
        (_, "") => Err(format!("`%{{}}{letter}` has no name between the braces")),
        ('i', _) => Ok(Value::RequestField(FieldName::new(name))),
        ('o', _) => Ok(Value::ResponseField(FieldName::new(name), response_stage(original))),
        ('e', _) => Ok(Value::Environment(name.to_owned())),
        // As in Apache: the connection's address, regardless of trusted proxies.
        ('h', "c") => Ok(Value::PeerAddress),
        ('h', _) => Err(format!("unknown specifier `%{{{name}}}h`; supported: %h and %{{c}}h")),
        ('t', _) => TimeFormat::new(name).map(Value::Time),
        ('p', "local") => Ok(Value::LocalPort),
        ('p', "remote") => Ok(Value::ClientPort),
        ('p', _) => Err(format!("unknown specifier `%{{{name}}}p`; supported: %{{local}}p and %{{remote}}p")),
        ('x', _) => extended(&name.to_ascii_lowercase())
            .ok_or_else(|| format!("unknown specifier `%{{{name}}}x`: no such extension")),
        _ => Err(format!(
            "unknown specifier `%{{{name}}}{letter}`: the letter after the braces must be i, o, e, h, t, p or x"
        )),
    }
}

fn response_stage(original: bool) -> Stage {
    if original { Stage::Original } else { Stage::Response }
}

/// `%{name}x`.
fn extended(name: &str) -> Option<Value> {
    Some(match name {
        "connection-id" => Value::ConnectionId,
        "connect-time" => Value::ConnectTime,
        "request-header-time" => Value::RequestHeaderTime,
        "request-body-time" => Value::RequestContentTime,
        "request-total-time" => Value::RequestTotalTime,
        "process-time" => Value::ProcessTime,
        "response-time" => Value::ResponseTime,
        "duration" | "total-time" => Value::TotalTime,
        "error" => Value::Error,
        "http1.request-index" => Value::RequestIndex,
        "http2.stream-id" => Value::StreamId,
        "ssl.protocol-version" => Value::TlsVersion,
        "ssl.cipher" => Value::TlsSuite,
        "ssl.cipher-bits" => Value::TlsSuiteBits,
        "ssl.session-reused" => Value::TlsResumed,
        "ssl.server-name" => Value::TlsServerName,
        "ssl.negotiated-protocol" => Value::TlsAlpn,
        "ssl.client-subject" => Value::TlsClientSubject,
        "ssl.client-fingerprint" => Value::TlsClientFingerprint,
        "proxy.upstream" => Value::Upstreams,
        "proxy.idle-time" => Value::UpstreamIdle,
        "proxy.connect-time" => Value::UpstreamTime(UpstreamTime::Connect),
        "proxy.request-time" => Value::UpstreamTime(UpstreamTime::Request),
        "proxy.process-time" => Value::UpstreamTime(UpstreamTime::Process),
        "proxy.response-time" => Value::UpstreamTime(UpstreamTime::Response),
        "proxy.total-time" => Value::UpstreamTime(UpstreamTime::Total),
        "proxy.request-bytes" => Value::UpstreamRequest(Part::Both),
        "proxy.request-bytes-header" => Value::UpstreamRequest(Part::Head),
        "proxy.request-bytes-body" => Value::UpstreamRequest(Part::Content),
        "proxy.response-bytes" => Value::UpstreamResponse(Part::Both),
        "proxy.response-bytes-header" => Value::UpstreamResponse(Part::Head),
        "proxy.response-bytes-body" => Value::UpstreamResponse(Part::Content),
        _ if NOT_HERE.contains(&name) => Value::Nothing,
        _ => return None,
    })
}

/// Values of h2o about connections and requests that this server does not have (yet).
const NOT_HERE: &[&str] = &[
    "http2.priority.received",
    "http2.priority.received.exclusive",
    "http2.priority.received.parent",
    "http2.priority.received.weight",
    "http2.priority.actual",
    "http2.priority.actual.parent",
    "http2.priority.actual.weight",
    "http3.stream-id",
    "http3.quic-stats",
    "http3.quic-version",
    "cc.name",
    "delivery-rate",
    "ssl.session-id",
    "ssl.ech.config-id",
    "ssl.ech.kem",
    "ssl.ech.cipher",
    "ssl.ech.cipher-bits",
    "ssl.backend",
    "proxy.ssl.protocol-version",
    "proxy.ssl.session-reused",
    "proxy.ssl.cipher",
    "proxy.ssl.cipher-bits",
    "proxy.ssl.session-id",
    "proxy.ssl.server-name",
];
