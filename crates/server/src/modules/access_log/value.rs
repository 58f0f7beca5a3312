//! Writes the values of a log line. Every function returns `false` if the value is missing.

use super::Escape;
use super::specifier::{FieldName, Value};
use crate::calendar::Moment;
use crate::upstream_trace::UpstreamTrace;
use hayami_http::ResponseHead;
use hayami_net::Instant;
use hayami_net::service::{Address, Ended, Request};
use hayami_tls::{Alpn, Info};
use std::io::Write;
use std::time::Duration;

/// The values known when a request is routed.
pub(super) struct LogContext<'a> {
    pub(super) request: &'a Request<'a>,
    /// The client's address.
    pub(super) client: &'a Address,
    pub(super) host: &'a str,
    pub(super) at: Moment,
}

impl LogContext<'_> {
    pub(super) fn push(&self, value: &Value, escape: Escape, out: &mut Vec<u8>) -> bool {
        let request = self.request;
        let (head, connection) = (&*request.head, request.connection);
        let text = |bytes: &[u8], out: &mut Vec<u8>| text(bytes, escape, out);
        match value {
            Value::LocalAddress => address(&connection.local, out),
            Value::LocalPort => port(&connection.local, out),
            Value::ClientAddress => address(self.client, out),
            Value::ClientPort => port(self.client, out),
            Value::PeerAddress => address(&connection.peer, out),
            Value::ConnectionId => number(connection.id, out),
            Value::ConnectTime => duration(request.begun.saturating_duration_since(connection.accepted), out),
            Value::RequestIndex => number(u64::from(request.index) + 1, out),
            Value::StreamId => request.stream.is_some_and(|stream| number(u64::from(stream), out)),
            Value::TlsVersion
            | Value::TlsSuite
            | Value::TlsSuiteBits
            | Value::TlsResumed
            | Value::TlsServerName
            | Value::TlsAlpn
            | Value::TlsClientSubject
            | Value::TlsClientFingerprint => {
                connection.tls.as_ref().is_some_and(|tls| of_tls(value, tls, escape, out))
            }
            Value::RequestHeaderTime => {
                duration(request.received.saturating_duration_since(request.begun), out)
            }
            // Content has not been received when a request is routed; without any, it took no time.
            Value::RequestContentTime => request.content_length == Some(0) && duration(Duration::ZERO, out),
            Value::RequestTotalTime => {
                request.content_length == Some(0)
                    && duration(request.received.saturating_duration_since(request.begun), out)
            }
            Value::Method => text(head.method_name(), out),
            Value::Path => text(head.path(), out),
            Value::Query => query(head.query(), escape, out),
            Value::Protocol => !head.method_name().is_empty() && verbatim(head.version().name(), out),
            Value::RequestLine => request_line(request, escape, out),
            // Without an authority, the host that responds counts as the requested one.
            Value::Authority => text(head.authority(), out) || text(self.host.as_bytes(), out),
            Value::Host => text(self.host.as_bytes(), out),
            Value::RequestField(FieldName::Known(known)) => {
                head.get(*known).is_some_and(|v| field(v, escape, out))
            }
            Value::RequestField(FieldName::Other(name)) => {
                head.fields().get_named(name).is_some_and(|v| field(v, escape, out))
            }
            Value::Text(own) => field(own.as_bytes(), escape, out),
            Value::Time(time) => {
                time.push(&self.at, out);
                true
            }
            _ => false,
        }
    }
}

/// Appends a value negotiated in the TLS handshake.
#[cold]
fn of_tls(value: &Value, tls: &Info, escape: Escape, out: &mut Vec<u8>) -> bool {
    let client = tls.client.as_ref();
    match value {
        Value::TlsVersion => verbatim(tls.version.name(), out),
        Value::TlsSuite => verbatim(tls.suite.openssl_name(), out),
        Value::TlsSuiteBits => {
            verbatim(if tls.suite.name().contains("AES_128") { "128" } else { "256" }, out)
        }
        Value::TlsResumed => number(u64::from(tls.resumed), out),
        Value::TlsServerName => {
            tls.server_name.as_ref().is_some_and(|name| text(name.as_bytes(), escape, out))
        }
        Value::TlsAlpn => {
            tls.alpn.is_some_and(|alpn| verbatim(if alpn == Alpn::H2 { "h2" } else { "http/1.1" }, out))
        }
        Value::TlsClientSubject => client.is_some_and(|client| text(client.subject.as_bytes(), escape, out)),
        Value::TlsClientFingerprint => client.is_some_and(|client| {
            // Writing to a Vec cannot fail.
            client.fingerprint.iter().for_each(|byte| drop(write!(out, "{byte:02x}")));
            true
        }),
        _ => false,
    }
}

/// Appends a value of a response: status, field or error.
pub(super) fn push_answer(
    value: &Value,
    head: &ResponseHead,
    error: &str,
    escape: Escape,
    out: &mut Vec<u8>,
) -> bool {
    match value {
        Value::Status(_) => number(u64::from(head.status().code()), out),
        Value::ResponseField(name, _) => lines(head, name.as_bytes(), escape, out),
        // Not `-`: that would look like an error of that name.
        Value::Error => field(error.as_bytes(), escape, out),
        _ => false,
    }
}

/// All lines of a name if it is `set-cookie`, the only field whose lines are not a list; otherwise the first.
fn lines(head: &ResponseHead, name: &[u8], escape: Escape, out: &mut Vec<u8>) -> bool {
    let mut lines = head.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let Some(first) = lines.next() else { return false };
    field(first, escape, out);
    if name == b"set-cookie" {
        lines.for_each(|line| {
            out.extend_from_slice(b", ");
            field(line, escape, out);
        });
    }
    true
}

/// The values known when a response has been sent.
pub(super) struct Times<'a> {
    pub(super) begun: Instant,
    pub(super) received: Instant,
    pub(super) end: &'a Ended,
    pub(super) upstreams: Option<&'a UpstreamTrace>,
}

impl Times<'_> {
    pub(super) fn push(&self, value: &Value, out: &mut Vec<u8>) -> bool {
        let end = self.end;
        match value {
            Value::ContentBytes => number(end.content_bytes, out),
            Value::ProcessTime => duration(end.began.saturating_duration_since(self.received), out),
            Value::ResponseTime => duration(end.ended.saturating_duration_since(end.began), out),
            Value::TotalTime => duration(end.ended.saturating_duration_since(self.begun), out),
            _ => self.push_of_upstreams(value, out).unwrap_or(false),
        }
    }

    fn push_of_upstreams(&self, value: &Value, out: &mut Vec<u8>) -> Option<bool> {
        let trace = self.upstreams?;
        match value {
            Value::Upstreams => {
                verbatim(&trace.upstreams(), out);
                Some(!trace.upstreams().is_empty())
            }
            Value::UpstreamIdle => trace.idle(self.received).map(|time| duration(time, out)),
            Value::UpstreamTime(time) => trace.time(*time).map(|time| duration(time, out)),
            Value::UpstreamRequest(part) => trace.request_bytes(*part).map(|bytes| number(bytes, out)),
            Value::UpstreamResponse(part) => trace.response_bytes(*part).map(|bytes| number(bytes, out)),
            _ => None,
        }
    }
}

/// Appends bytes; they count as missing if empty.
pub(super) fn text(bytes: &[u8], escape: Escape, out: &mut Vec<u8>) -> bool {
    escape.push(bytes, out);
    !bytes.is_empty()
}

/// Appends bytes, which may be empty.
fn field(bytes: &[u8], escape: Escape, out: &mut Vec<u8>) -> bool {
    escape.push(bytes, out);
    true
}

fn verbatim(text: &str, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(text.as_bytes());
    true
}

fn query(query: Option<&[u8]>, escape: Escape, out: &mut Vec<u8>) -> bool {
    if let Some(query) = query {
        out.push(b'?');
        escape.push(query, out);
    }
    true
}

fn request_line(request: &Request<'_>, escape: Escape, out: &mut Vec<u8>) -> bool {
    if request.head.method_name().is_empty() {
        return false;
    }
    escape.push(request.head.method_name(), out);
    out.push(b' ');
    escape.push(request.head.target(), out);
    out.push(b' ');
    verbatim(request.head.version().name(), out)
}

pub(super) fn number(number: u64, out: &mut Vec<u8>) -> bool {
    verbatim(itoa::Buffer::new().format(number), out)
}

fn address(address: &Address, out: &mut Vec<u8>) -> bool {
    let is_ip = matches!(address, Address::Ip(_));
    if is_ip {
        address.push(out);
    }
    is_ip
}

fn port(address: &Address, out: &mut Vec<u8>) -> bool {
    // A proxy that forwards its client's address usually omits the port.
    address.port() != 0 && number(u64::from(address.port()), out)
}

/// Seconds, with six decimals unless it is a whole number of them, as in h2o.
pub(super) fn duration(duration: Duration, out: &mut Vec<u8>) -> bool {
    let micros = duration.subsec_micros();
    number(duration.as_secs(), out);
    if micros != 0 {
        // Writing to a Vec cannot fail.
        let _ = write!(out, ".{micros:06}");
    }
    true
}
