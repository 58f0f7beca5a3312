//! Session tickets: sessions that their clients keep, sealed with keys that all workers share (RFC 5077,
//! RFC 8446 §4.6.1).
//!
//! `key` is one key, `ring` the set of them and its ageing, `text` h2o's form of a set for files and stores,
//! `ticketer` the interface to rustls, `source` where the keys come from, `keeper` the thread that renews
//! them.
//!
//! A ticket is the key's name (16 bytes), nonce (12), the sealed session, tag (16). That is not the layout
//! of h2o's tickets (AES-CBC with HMAC), and the AES-GCM key is derived from the one in the file or store:
//! hayami and h2o may be given the same keys, but neither accepts the other's tickets.

mod keeper;
mod key;
mod ring;
mod source;
mod text;
mod ticketer;

pub(super) use keeper::keep;
pub(super) use ring::Ring;
pub(super) use source::{RemoteKeys, Source};
pub(super) use ticketer::{LONGEST, NoTickets, Ticketer};

/// The keys of a file as it would be written; `None` if it cannot be read.
#[cfg(feature = "fuzzing")]
pub fn round_trip(file: &str) -> Option<Vec<u8>> {
    text::read(file).ok().map(|ring| text::write(&ring).0.clone())
}
