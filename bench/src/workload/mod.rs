//! The workloads, by name: their building blocks here, the workloads themselves in a file per group.

mod flood;
mod http1;
mod http2;
mod proxy;
mod scenarios;

use crate::figure::Figure;
use crate::servers::Server;

/// A page of the size of nginx's welcome page, which the published rows served.
pub(crate) const PAGE: Document = Document { target: "/", file: "index.html", bytes: 612 };
/// `Hello, world.` and a line feed.
pub(crate) const GREETING: Document = Document { target: "/greeting.txt", file: "greeting.txt", bytes: 14 };
/// `hello world` and a line feed.
pub(crate) const HELLO: Document = Document { target: "/hello.txt", file: "hello.txt", bytes: 12 };
/// A file that fits no socket buffer.
pub(crate) const MEGABYTE: Document = Document { target: "/1mb.bin", file: "1mb.bin", bytes: 1 << 20 };
/// A file that fits no cache but the kernel's.
pub(crate) const GIGABYTE: Document = Document { target: "/1gb.bin", file: "1gb.bin", bytes: 1 << 30 };
/// The page of scenario S2 B: 100,000 of them are the published 51 GB.
pub(crate) const LARGE_PAGE: Document = Document { target: "/img.html", file: "img.html", bytes: 513_000 };

/// The size of a small application response.
pub(crate) const KILOBYTE: Document = Document { target: "/1kb", file: "1kb", bytes: 1024 };
/// The output of the script of `Behind::Php`.
pub(crate) const SCRIPT: Document = Document { target: "/page.php", file: "page.php", bytes: 612 };

/// A file to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The request target.
    pub(crate) target: &'static str,
    /// The name in the folder of documents.
    pub(crate) file: &'static str,
    /// Its size.
    pub(crate) bytes: u64,
}

/// A group of workloads that are run and reported together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// HTTP/1.1 in cleartext.
    Http1,
    /// HTTP/2, and TLS.
    Http2,
    /// The published measurements, S0 to S4, table by table.
    Scenarios,
    /// Scenario S2 B: many gigabytes. Run only when asked for.
    Flood,
    /// Servers in front of others: reverse proxy and FastCGI.
    Proxy,
}

/// The protocol to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// HTTP/1.1 in cleartext.
    Http1,
    /// HTTP/2 without TLS, by prior knowledge (RFC 9113 §3.3).
    Http2,
    /// HTTP/2 over TLS.
    Http2Tls,
}

/// How connections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// HTTP/1.1 with persistent connections, `depth` requests pipelined.
    KeepAlive { depth: usize },
    /// HTTP/1.1 with a connection per request and `Connection: close`.
    PerRequest,
    /// HTTP/1.0 with `Connection: keep-alive`, as sent by ab with `-k`.
    OldKeepAlive,
    /// HTTP/1.0 with a connection per request, as sent by ab, from clients at this round-trip time in
    /// milliseconds (0: none added).
    OldPerRequest { rtt_ms: u64 },
    /// HTTP/2 with this many concurrent requests on each connection.
    Streams(usize),
    /// HTTP/1.1 over TLS, a handshake per request.
    Handshakes(Handshake),
}

/// The kind of a TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// Full, with certificate and signature, key exchange by X25519.
    Full,
    /// Full, with the post-quantum hybrid X25519MLKEM768.
    FullHybrid,
    /// Resumed with a ticket from an earlier connection (RFC 8446 §2.2), key exchange by X25519.
    Resumed,
}

/// What a workload does and measures.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Load for a period of time; CPU time, rate and latency.
    Load { document: Document, connections: usize, with: Use },
    /// Connections that stay open, each after one request or none; growth of memory.
    Idle { connections: usize, asked: bool },
    /// A fixed number of requests under `strace -c -f`; system calls per request.
    Calls { connections: usize, requests: usize },
    /// A fixed number of requests over HTTP/2, several times.
    Flood(Flood),
    /// A fixed number of requests to a server with this many threads or processes; connections to the upstream.
    Opened { connections: usize, requests: u64, workers: usize },
    /// One response, read slowly; peak of memory.
    Download(Document),
}

/// The upstream behind the servers of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// None: they serve files.
    Nothing,
    /// The bare loop, which answers with the document's number of bytes.
    Loop,
    /// hayami, which serves the documents.
    Files,
    /// PHP-FPM, over FastCGI.
    Php,
}

/// A fixed number of requests in three runs against the same process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flood {
    /// The document; with `images`, the first of them.
    pub(crate) document: Document,
    /// Whether all images are requested instead of the one document.
    pub(crate) images: bool,
    pub(crate) requests: usize,
    pub(crate) connections: usize,
    pub(crate) streams: usize,
    /// The server's limit of open files, soft and hard; `None`: this program's.
    pub(crate) open_files: Option<u64>,
    /// The default share of the requests to send: above 0 and up to 1.
    pub(crate) part: f64,
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
    /// What it does.
    pub(crate) kind: Kind,
    /// The participating servers.
    pub(crate) servers: &'static [Server],
    /// The columns of the report.
    pub(crate) columns: &'static [Figure],
    /// Rows of the published table that cannot be run here, each with the reason.
    pub(crate) absent: &'static [(&'static str, &'static str)],
    pub(crate) behind: Behind,
}

/// All workloads, in the order they run.
pub(crate) fn all() -> impl Iterator<Item = Workload> {
    http1::WORKLOADS
        .into_iter()
        .chain(http2::WORKLOADS)
        .chain(scenarios::WORKLOADS)
        .chain(flood::WORKLOADS)
        .chain(proxy::WORKLOADS)
}

/// The workload with a name.
pub(crate) fn named(name: &str) -> Option<Workload> {
    all().find(|workload| workload.name == name)
}

impl Group {
    pub(crate) const ALL: [Self; 5] = [Self::Http1, Self::Http2, Self::Scenarios, Self::Flood, Self::Proxy];

    /// Whether its workloads run by default: they are this project's own races.
    pub(crate) fn is_default(self) -> bool {
        matches!(self, Self::Http1 | Self::Http2)
    }

    /// The name for `--group`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            Self::Scenarios => "scenarios",
            Self::Flood => "flood",
            Self::Proxy => "proxy",
        }
    }
}

impl Workload {
    /// The requested document.
    pub(crate) fn document(&self) -> Document {
        match self.kind {
            Kind::Load { document, .. } | Kind::Flood(Flood { document, .. }) => document,
            Kind::Download(document) => document,
            Kind::Opened { .. } => KILOBYTE,
            Kind::Idle { .. } | Kind::Calls { .. } => PAGE,
        }
    }

    /// Whether each request has its own connection.
    pub(crate) fn is_per_request(&self) -> bool {
        matches!(
            self.kind,
            Kind::Load { with: Use::PerRequest | Use::OldPerRequest { .. } | Use::Handshakes(_), .. }
        )
    }

    /// The URL of the document, for a server at `host`.
    pub(crate) fn url(&self, host: &str) -> String {
        let scheme = if self.wire == Wire::Http2Tls { "https" } else { "http" };
        format!("{scheme}://{host}{}", self.document().target)
    }
}

impl Use {
    /// Round-trip time between client and server, in milliseconds.
    pub(crate) fn rtt_ms(self) -> u64 {
        if let Self::OldPerRequest { rtt_ms } = self { rtt_ms } else { 0 }
    }
}
