//! What must hold for any bytes a peer can send. Each target is a plain function: libFuzzer calls it
//! with bytes it makes up, the ordinary tests with those of the corpus.
//!
//! A new target is a function here, its name in [`TARGETS`], a file in `fuzz_targets/`, a `[[bin]]` in
//! Cargo.toml and a folder in `corpus/`.
#![forbid(unsafe_code)]

mod client;
mod command_line;
mod conditions;
mod config;
mod fastcgi;
mod fields;
mod h2;
mod h2_client;
mod h2_windows;
mod heads;
mod hpack;
mod names;
mod pair;
mod proxy_protocol;
mod server;
mod targets;
mod tls;
mod tls_decoders;
mod tls_records;

pub use client::client_engine;
pub use command_line::{like, url};
pub use conditions::{conditional, etag};
pub use config::{config, log_format};
pub use fastcgi::fastcgi;
pub use fields::{date, negotiate, range};
pub use h2::{h2_frames, h2_server};
pub use h2_client::h2_client;
pub use heads::{chunked, request_head};
pub use hpack::hpack;
pub use names::dns_answer;
pub use pair::exchanges;
pub use proxy_protocol::proxy_protocol;
pub use server::server_engine;
pub use targets::{authority, path};
pub use tls::{tls, tls_client};
pub use tls_decoders::{certificate, ocsp_response, store_replies, ticket_keys};
pub use tls_records::tls_records;

/// A target: its name, which is that of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("request_head", request_head),
    ("chunked", chunked),
    ("server_engine", server_engine),
    ("client_engine", client_engine),
    ("exchanges", exchanges),
    ("h2_frames", h2_frames),
    ("h2_server", h2_server),
    ("h2_client", h2_client),
    ("path", path),
    ("authority", authority),
    ("range", range),
    ("negotiate", negotiate),
    ("date", date),
    ("etag", etag),
    ("conditional", conditional),
    ("config", config),
    ("log_format", log_format),
    ("hpack", hpack),
    ("tls", tls),
    ("tls_client", tls_client),
    ("tls_records", tls_records),
    ("ticket_keys", ticket_keys),
    ("store_replies", store_replies),
    ("ocsp_response", ocsp_response),
    ("certificate", certificate),
    ("dns_answer", dns_answer),
    ("like", like),
    ("url", url),
    ("fastcgi", fastcgi),
    ("proxy_protocol", proxy_protocol),
];

/// Limits that short inputs can reach.
pub(crate) const SMALL: hayami_h1::Limits = hayami_h1::Limits {
    request_line: 40,
    head: 120,
    fields: 4,
    content: 40,
    chunk_line: 12,
    chunk_extensions: 8,
    trailer: 24,
    interim: 2,
};

/// Reads decisions from the front of the bytes: a fuzzer's program.
pub(crate) struct Decisions<'a>(&'a [u8]);

impl<'a> Decisions<'a> {
    /// Nothing but decisions.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Splits bytes at the first NUL: decisions before it, the rest behind it.
    pub(crate) fn and_rest(bytes: &'a [u8]) -> (Self, &'a [u8]) {
        match bytes.iter().position(|byte| *byte == 0) {
            Some(at) => (Self(&bytes[..at]), &bytes[at + 1..]),
            None => (Self(&[]), bytes),
        }
    }

    /// The next decision; 255 when there are no more.
    pub(crate) fn next(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 255,
        }
    }

    /// Whether there are no more.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As many bytes as the next decision says, if there are so many.
    pub(crate) fn piece(&mut self) -> &'a [u8] {
        let len = usize::from(self.next()).min(self.0.len());
        let (piece, rest) = self.0.split_at(len);
        self.0 = rest;
        piece
    }

    /// All that are left, the first one being the highest byte of a number.
    pub(crate) fn number(&mut self) -> u64 {
        std::mem::take(&mut self.0).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
