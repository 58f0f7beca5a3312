//! The plan of a measurement: plain data that every other part reads and none changes.
//!
//! A [`Plan`] is the same for all its [`Target`]s; a run loads one target. Nothing here opens a file, resolves
//! a name or checks a rule: that happens where a plan is built.

mod list;
mod quantity;
#[cfg(test)]
pub(crate) mod testing;
mod tls;
mod url;

pub use list::{Line, What, read as read_list};
pub use quantity::{count, duration, field, method, rate, share, statuses};
pub use tls::{TlsOptions, TlsVersions, ciphers, groups};
pub use url::Url;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Everything about a measurement. Times are wall time; counts are over all threads.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The servers to load, in the order given. Never empty. Several are compared.
    pub targets: Vec<Target>,
    /// Connections held open at once. At least 1.
    pub connections: usize,
    /// Threads of the generator; each has its share of the connections. At least 1, at most `connections`.
    pub threads: usize,
    /// Concurrent requests on one HTTP/2 connection. At least 1; the server's limit may lower it.
    pub streams: usize,
    /// Concurrent requests on one HTTP/1.1 connection (pipelining). At least 1.
    pub pipeline: usize,
    /// When a run ends. The time or count of warm-up is not part of it.
    pub until: Until,
    /// How long load is generated before anything is counted.
    pub warm_up: Duration,
    /// Connections are opened evenly over this time instead of at once. It precedes the warm-up.
    pub ramp_up: Duration,
    /// Requests a second over all connections (open model): each is due at its time, regardless of earlier
    /// ones. `None`: the next request is sent after a response (closed model).
    pub rate: Option<f64>,
    /// The protocol to use.
    pub protocol: Protocol,
    /// How long a connection is used.
    pub keep_alive: KeepAlive,
    /// Which responses are successful.
    pub expect: Expect,
    /// The distance to emulate.
    pub distance: Option<Distance>,
    /// The TLS options for https targets.
    pub tls: TlsOptions,
    /// Local addresses to connect from, in turn. Empty: the system's choice.
    pub sources: Vec<IpAddr>,
    /// A connect, a handshake or a response that takes longer is an error, and its connection is closed.
    pub timeout: Duration,
    /// How often each target is measured, all targets in turn. At least 1.
    pub rounds: usize,
}

/// One server and its requests.
#[derive(Clone, Debug)]
pub struct Target {
    /// The user's text, which names the target in reports.
    pub name: String,
    /// Where to connect.
    pub address: Address,
    /// Whether the scheme is https.
    pub secure: bool,
    /// The host of the URL, without port and brackets: the name for TLS.
    pub host: String,
    /// The requests to make, with their weights. Never empty.
    pub requests: Vec<Weighted>,
}

/// Where connections go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// A request and how often it is made, compared with the others of its target.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    /// The share, above 0; shares need not add up to anything.
    pub weight: f64,
    /// The request.
    pub request: RequestTemplate,
}

/// A request as every protocol version can send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTemplate {
    /// The method's name, as it is sent.
    pub method: String,
    /// Path and query: the origin-form (RFC 9112 §3.2.1).
    pub target: String,
    /// For `Host` and `:authority`, with the port unless it is the scheme's own.
    pub authority: String,
    /// Further fields in order. No `Host`, `Connection`, `Content-Length`, `Transfer-Encoding`: those follow
    /// from the rest of the plan.
    pub fields: Vec<(String, String)>,
    /// The content; `None`: the request has none, and no `Content-Length`.
    pub body: Option<Arc<[u8]>>,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this much measured time.
    Elapsed(Duration),
    /// After this many measured answers and errors together.
    Requests(u64),
}

/// The protocol to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 if TLS negotiates it (ALPN), else HTTP/1.1.
    Auto,
    /// HTTP/1.0; kept alive by `Connection: keep-alive` where the plan keeps connections.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2: by ALPN over TLS, where any other choice of the server is an error; with prior knowledge on a
    /// plain connection (h2c, RFC 9113 §3.3).
    Http2,
}

/// How long a connection is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// As long as the server allows.
    On,
    /// For one request; HTTP/1.1 requests say `Connection: close`.
    Off,
    /// For this many requests; the last says `Connection: close`.
    Requests(u64),
}

/// Which responses are successful. Any other is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The expected statuses, as inclusive ranges. Empty: 200 to 399.
    pub status: Vec<(u16, u16)>,
    /// The length of the content, in bytes.
    pub length: Option<u64>,
    /// The content itself.
    pub body: Option<Arc<[u8]>>,
}

impl Expect {
    /// Whether a response with this status is successful.
    pub fn allows(&self, status: u16) -> bool {
        match self.status.as_slice() {
            [] => (200..400).contains(&status),
            ranges => ranges.iter().any(|&(low, high)| (low..=high).contains(&status)),
        }
    }
}

/// A distance between client and server that is emulated inside the generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The round trip time.
    pub rtt: Duration,
    /// A round trip takes up to this much more or less, evenly distributed.
    pub jitter: Duration,
    /// The share of connections, 0 to 1, that are lost in transit: aborted without a response.
    pub loss: f64,
}
