//! Internals for fuzz targets only.

use crate::resumption::fuzzing as resumption;
use crate::session::State;
use crate::{ClientSession, Session};

pub use resumption::{Store, store_replies, ticket_keys};

/// A session that does what regular ones never do. Before the handshake is complete, and after the end, it
/// does nothing.
pub trait Unruly {
    /// Seals content of any type, right or wrong.
    fn seal_as(&mut self, kind: u8, content: &[u8], out: &mut Vec<u8>);
    /// Changes its key; `asks` also requests that the peer change its key.
    fn change_key(&mut self, asks: bool, out: &mut Vec<u8>);
}

macro_rules! unruly {
    ($($session:ty)*) => {$(
        impl Unruly for $session {
            fn seal_as(&mut self, kind: u8, content: &[u8], out: &mut Vec<u8>) {
                if let State::Open(open) = &mut self.state {
                    open.seal_as(kind, content, out);
                }
            }

            fn change_key(&mut self, asks: bool, out: &mut Vec<u8>) {
                if let State::Open(open) = &mut self.state {
                    open.change_key(asks, out);
                }
            }
        }
    )*};
}

unruly!(Session ClientSession);

/// Whether this OCSP response for the first certificate of `chain` would be stapled, and until when.
///
/// # Errors
/// Why it would not be.
pub fn ocsp_response(der: &[u8], chain: &[Vec<u8>], now: u64) -> Result<Option<u64>, &'static str> {
    crate::ocsp::check_response(der, chain, now)
}

/// The subject of a certificate, and from when until when it is good.
pub fn certificate(der: &[u8]) -> Option<(String, (u64, u64))> {
    let certificate = crate::certificate::Certificate::read(der)?;
    Some((certificate.subject(), certificate.validity))
}
