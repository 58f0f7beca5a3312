//! The data shared by all workers of a run: the plan, prepared so that requests cost little.

use super::origin::Sources;
use crate::distance::{Delay, Random};
use crate::plan::{
    Address, Expect, KeepAlive, Plan, Protocol, RequestTemplate, Target, TlsOptions, TlsVersions,
};
use hayami_http::FieldSection;
use hayami_net::dial::Peer;
use hayami_tls::{Alpn, Authorities, ClientSettings, Connector, Identity, Trust, Version};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A run against one target, as its workers see it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) peer: Peer,
    pub(crate) sources: Sources,
    pub(crate) host: String,
    /// The TLS connector; none on plain connections.
    pub(crate) connector: Option<Connector>,
    pub(crate) protocol: Protocol,
    pub(crate) pipeline: usize,
    /// Requests that a connection carries.
    pub(crate) per_connection: u64,
    pub(crate) templates: Vec<Template>,
    /// Sums of the templates' weights, the last one 1.
    shares: Vec<f64>,
    pub(crate) expect: Expect,
    pub(crate) delay: Option<Delay>,
    /// Nanoseconds.
    pub(crate) timeout: u64,
    pub(crate) h2: hayami_h2::Config,
}

/// A request, prepared for each protocol.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) method: Vec<u8>,
    pub(crate) target: Vec<u8>,
    pub(crate) authority: Vec<u8>,
    pub(crate) fields: FieldSection,
    pub(crate) body: Option<Arc<[u8]>>,
    /// HTTP/1: the whole request, and its version for the last request of a connection.
    pub(crate) wire: Vec<u8>,
    pub(crate) last_wire: Vec<u8>,
}

impl Job {
    /// # Errors
    /// A part of the plan is impossible; the error is a line for the user.
    pub(crate) fn new(plan: &Plan, target: &Target) -> Result<Self, String> {
        let per_connection = match plan.keep_alive {
            KeepAlive::On => u64::MAX,
            KeepAlive::Off => 1,
            KeepAlive::Requests(requests) => requests.max(1),
        };
        let total: f64 = target.requests.iter().map(|weighted| weighted.weight).sum();
        let mut sum = 0.0;
        let shares = target.requests.iter().map(|weighted| {
            sum += weighted.weight / total;
            sum
        });
        Ok(Self {
            peer: match &target.address {
                Address::Tcp(address) => Peer::Tcp(*address),
                Address::Unix(path) => Peer::Unix(path.clone()),
            },
            sources: Sources::new(plan, target),
            host: target.host.clone(),
            connector: target.secure.then(|| connector(&plan.tls, plan.protocol)).transpose()?,
            protocol: plan.protocol,
            pipeline: plan.pipeline.max(1),
            per_connection,
            shares: shares.collect(),
            templates: target.requests.iter().map(|w| Template::new(&w.request, plan.protocol)).collect(),
            expect: plan.expect.clone(),
            delay: plan.distance.map(Delay::new),
            timeout: plan.timeout.as_nanos().min(u128::from(u64::MAX / 4)) as u64,
            h2: h2_config(plan.streams.max(1)),
        })
    }

    /// Whether a connection writes again before it has an answer, which Nagle's algorithm would delay
    /// (RFC 9293 §3.7.4). If not, one system call per connection is saved.
    pub(crate) fn writes_twice(&self) -> bool {
        self.per_connection > 1 || self.connector.is_some() || self.protocol == Protocol::Http2
    }

    /// Whether every connection sends as soon as it is made.
    pub(crate) fn speaks_first(&self) -> bool {
        self.per_connection == 1 || self.connector.is_some() || self.protocol == Protocol::Http2
    }

    /// Whether the socket of a connection that the server has closed can be connected again.
    pub(crate) fn can_dial_again(&self) -> bool {
        let is_near = matches!(self.peer, Peer::Tcp(address) if address.ip().is_loopback());
        is_near && self.sources.is_one() && self.connector.is_none()
    }

    /// The index of the template that the next request is made of.
    #[inline]
    pub(crate) fn choose(&self, random: &mut Random) -> usize {
        if self.templates.len() == 1 {
            return 0;
        }
        let share = random.share();
        self.shares.partition_point(|sum| *sum <= share).min(self.templates.len() - 1)
    }
}

impl Template {
    fn new(request: &RequestTemplate, protocol: Protocol) -> Self {
        let mut fields = FieldSection::default();
        for (name, value) in &request.fields {
            fields.append(name.as_bytes(), value.as_bytes());
        }
        Self {
            method: request.method.clone().into(),
            target: request.target.clone().into(),
            authority: request.authority.clone().into(),
            fields,
            body: request.body.clone(),
            wire: wire(request, protocol, false),
            last_wire: wire(request, protocol, true),
        }
    }
}

/// The bytes of a request in HTTP/1 (RFC 9112 §3).
fn wire(request: &RequestTemplate, protocol: Protocol, last: bool) -> Vec<u8> {
    let old = protocol == Protocol::Http10;
    let version = if old { "1.0" } else { "1.1" };
    // RFC 9112 §3.2: HTTP/1.0 has no Host, but current servers choose the site by it.
    let mut head =
        format!("{} {} HTTP/{version}\r\nhost: {}\r\n", request.method, request.target, request.authority);
    for (name, value) in &request.fields {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match (old, last) {
        (false, true) => head.push_str("connection: close\r\n"), // RFC 9112 §9.6
        (true, false) => head.push_str("connection: keep-alive\r\n"), // RFC 9112 §C.2.2
        _ => {}
    }
    if let Some(body) = &request.body {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let body = request.body.as_deref().unwrap_or_default();
    [head.as_bytes(), body].concat()
}

/// Windows as large as a browser's, and generous budgets: the behaviour of a server under load is counted,
/// not punished.
fn h2_config(streams: usize) -> hayami_h2::Config {
    use hayami_h2::{Budget, Budgets};
    let any = Budget::new(1 << 24, 1 << 24);
    let budgets = Budgets {
        rapid_reset: any,
        provoked_reset: any,
        refused: any,
        empty_data: any,
        settings: any,
        ping: any,
        priority: any,
        unknown: any,
        tiny_window: any,
        stale: any,
        large_head: any,
        ..Budgets::default()
    };
    hayami_h2::Config {
        max_concurrent_streams: u32::try_from(streams).unwrap_or(u32::MAX),
        budgets,
        ..hayami_h2::DEFAULT
    }
}

fn connector(options: &TlsOptions, protocol: Protocol) -> Result<Connector, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let text = |error: hayami_tls::Error| error.to_string();
    let trust = match (options.verify, &options.roots) {
        (false, _) => Trust::Anyone,
        (true, Some(roots)) => Trust::Only(Authorities::read(roots).map_err(text)?),
        (true, None) => Trust::Machine(None),
    };
    let mut settings = ClientSettings::new(trust);
    settings.alpn = match protocol {
        Protocol::Auto => vec![Alpn::H2, Alpn::Http11],
        Protocol::Http2 => vec![Alpn::H2],
        Protocol::Http10 | Protocol::Http11 => vec![Alpn::Http11],
    };
    (settings.min_version, settings.max_version) = match options.versions {
        TlsVersions::Both => (Version::Tls12, Version::Tls13),
        TlsVersions::Only12 => (Version::Tls12, Version::Tls12),
        TlsVersions::Only13 => (Version::Tls13, Version::Tls13),
    };
    (settings.suites_tls13, settings.suites_tls12) = options.suites();
    settings.groups = options.chosen_groups();
    settings.resumption = options.resume;
    if let Some((chain, key)) = &options.identity {
        settings.identity = Some(Identity::read(chain, key, now).map_err(text)?);
    }
    Connector::new(&settings).map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_once_for_each_version_of_http1() {
        let request = RequestTemplate {
            method: "PUT".into(),
            target: "/x?y".into(),
            authority: "a:81".into(),
            fields: vec![("x-a".into(), "b".into())],
            body: Some(b"hi".as_slice().into()),
        };
        let (length, a) = ("content-length: 2\r\n\r\nhi", "host: a:81\r\nx-a: b\r\n");
        let cases = [
            (Protocol::Http11, false, format!("PUT /x?y HTTP/1.1\r\n{a}{length}")),
            (Protocol::Http11, true, format!("PUT /x?y HTTP/1.1\r\n{a}connection: close\r\n{length}")),
            (Protocol::Http10, false, format!("PUT /x?y HTTP/1.0\r\n{a}connection: keep-alive\r\n{length}")),
            (Protocol::Http10, true, format!("PUT /x?y HTTP/1.0\r\n{a}{length}")),
        ];
        for (protocol, last, want) in cases {
            let bytes = wire(&request, protocol, last);
            assert_eq!(String::from_utf8_lossy(&bytes), want, "{protocol:?} {last}");
        }
    }
}
