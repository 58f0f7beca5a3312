//! OCSP staples: a certificate's proof that it isn't revoked, sent with it (RFC 6066 §8, RFC 6960).
//!
//! Here is the [`Staple`] that handshakes send. `Fetcher` keeps staples fresh: its threads query the
//! responder that the certificate names (`request`, `http`), run a command (`command`) or watch a file;
//! `response` checks a response before it is stapled, `signature` its signer, and `subject` reads the
//! certificate. A failure is reported and never stops the server.

mod command;
mod fetcher;
mod http;
mod request;
mod response;
mod settings;
mod signature;
mod subject;
#[cfg(test)]
mod tests;

pub use fetcher::{Fetcher, Job};
pub use settings::{Settings, Source};

use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The current OCSP response for one certificate, if there is one: replaced while handshakes continue.
#[derive(Debug, Default)]
pub struct Staple {
    response: ArcSwapOption<Vec<u8>>,
    version: AtomicU64,
}

impl Staple {
    /// The response (DER), for the next handshakes.
    pub fn current(&self) -> Option<Arc<Vec<u8>>> {
        self.response.load_full()
    }

    /// Replaces the response, or removes it.
    pub fn set(&self, response: Option<Vec<u8>>) {
        self.response.store(response.map(Arc::new));
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Differs after every `set`.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

/// A checked response: until when it is valid. For fuzz targets.
#[cfg(feature = "fuzzing")]
pub(crate) fn check_response(der: &[u8], chain: &[Vec<u8>], now: u64) -> Result<Option<u64>, &'static str> {
    response::check(der, chain, now).map(|checked| checked.next_update)
}
