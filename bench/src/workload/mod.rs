//! The workloads, by name: what one is made of here, the workloads themselves in a file per group.

mod flood;
mod http1;
mod http2;

use crate::figure::Figure;
use crate::servers::Server;

/// A page of the size of nginx's welcome page, which the published rows served.
pub(crate) const PAGE: Document = Document { target: "/", file: "index.html", octets: 612 };
/// `Hello, world.` and a line feed.
pub(crate) const GREETING: Document = Document { target: "/greeting.txt", file: "greeting.txt", octets: 14 };
/// `hello world` and a line feed.
pub(crate) const HELLO: Document = Document { target: "/hello.txt", file: "hello.txt", octets: 12 };
/// A file that fits in no socket buffer.
pub(crate) const MEGABYTE: Document = Document { target: "/1mb.bin", file: "1mb.bin", octets: 1 << 20 };
/// A file that fits in no cache but the kernel's.
pub(crate) const GIGABYTE: Document = Document { target: "/1gb.bin", file: "1gb.bin", octets: 1 << 30 };
/// The page of scenario S2 B: 100,000 of them are the published 51 GB.
pub(crate) const LARGE_PAGE: Document = Document { target: "/img.html", file: "img.html", octets: 513_000 };

/// A file to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The request target.
    pub(crate) target: &'static str,
    /// The name in the folder of documents.
    pub(crate) file: &'static str,
    /// Its size.
    pub(crate) octets: u64,
}

/// What workloads are run and reported together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// HTTP/1.1 in clear.
    Http1,
    /// HTTP/2, and TLS.
    Http2,
    /// Scenario S2 B: many gigabytes. Run only when asked for.
    Flood,
}

/// What a server is to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// HTTP/1.1 in clear.
    Http1,
    /// HTTP/2 in clear, by prior knowledge (RFC 9113 §3.3).
    Http2,
    /// HTTP/2 over TLS.
    Http2Tls,
}

/// What makes the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// wrk when it is installed, or else our client.
    Wrk,
    /// Our client.
    Own,
}

/// How connections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Requests follow each other, `depth` at once.
    KeepAlive { depth: usize },
    /// Each request has its connection, and says `Connection: close`.
    PerRequest,
}

/// What a TLS handshake is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// With certificate and signature, keys by X25519.
    Full,
    /// The same with the post-quantum hybrid X25519MLKEM768.
    FullHybrid,
    /// With a ticket of the connection before (RFC 8446 §2.2), keys by X25519.
    Resumed,
}

/// What is done and measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Load for a time; CPU time, rate and latency.
    Load { document: Document, connections: usize, with: Use, tool: Tool },
    /// The same over HTTP/2, so many streams on each connection, made by h2load.
    Streams { document: Document, connections: usize, streams: usize },
    /// TLS handshakes for a time, each on a connection of its own that is closed after it.
    Handshakes(Handshake),
    /// Connections that are there and stay, and that have asked once or not; growth of memory.
    Idle { connections: usize, asked: bool },
    /// A fixed number of requests under `strace -c -f`; system calls per request.
    Calls { connections: usize, requests_each: usize },
    /// A fixed number of requests over HTTP/2, several times.
    Flood(Flood),
}

/// A fixed number of requests in three runs of h2load against one and the same process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flood {
    /// The document; with `images` the first of them.
    pub(crate) document: Document,
    /// All images are asked for instead of the one document.
    pub(crate) images: bool,
    pub(crate) requests: usize,
    pub(crate) connections: usize,
    pub(crate) streams: usize,
    /// The server's limit of open files, soft and hard; `None`: this program's.
    pub(crate) open_files: Option<u64>,
}

/// A named workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// The name for `--only`.
    pub(crate) name: &'static str,
    /// One line for the report.
    pub(crate) about: &'static str,
    pub(crate) group: Group,
    pub(crate) wire: Wire,
    /// What is done.
    pub(crate) kind: Kind,
    /// Who takes part.
    pub(crate) servers: &'static [Server],
    /// What the report shows, in columns.
    pub(crate) columns: &'static [Figure],
}

/// All workloads, in the order they run.
pub(crate) fn all() -> impl Iterator<Item = Workload> {
    http1::WORKLOADS.into_iter().chain(http2::WORKLOADS).chain(flood::WORKLOADS)
}

/// The workload with a name.
pub(crate) fn named(name: &str) -> Option<Workload> {
    all().find(|workload| workload.name == name)
}

impl Group {
    pub(crate) const ALL: [Self; 3] = [Self::Http1, Self::Http2, Self::Flood];

    /// The name for `--group`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            Self::Flood => "flood",
        }
    }
}

impl Workload {
    /// The document that is asked for.
    pub(crate) fn document(&self) -> Document {
        match self.kind {
            Kind::Load { document, .. }
            | Kind::Streams { document, .. }
            | Kind::Flood(Flood { document, .. }) => document,
            Kind::Handshakes(_) | Kind::Idle { .. } | Kind::Calls { .. } => PAGE,
        }
    }

    /// Whether each request has its own connection.
    pub(crate) fn is_per_request(&self) -> bool {
        matches!(self.kind, Kind::Load { with: Use::PerRequest, .. })
    }

    /// The HTTP/1.1 request, for a server at `host`.
    pub(crate) fn request(&self, host: &str) -> Vec<u8> {
        let close = if self.is_per_request() { "Connection: close\r\n" } else { "" };
        format!("GET {} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n", self.document().target).into_bytes()
    }

    /// The URL of the document, for a server at `host`.
    pub(crate) fn url(&self, host: &str) -> String {
        let scheme = if self.wire == Wire::Http2Tls { "https" } else { "http" };
        format!("{scheme}://{host}{}", self.document().target)
    }
}
