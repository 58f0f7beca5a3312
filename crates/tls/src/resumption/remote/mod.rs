//! Clients of memcached and Redis, for threads that may block.
//!
//! `wire` is a connection with a deadline, `memcached` and `redis` are the protocols on it, `store` is the
//! state between calls: connections, and whether the store answers. Workers never call these.
//!
//! The reason for custom clients: four commands are needed, with a deadline for the whole call. The
//! `memcache` crate brings OpenSSL and a pool, `redis` about thirty crates; neither bounds a call as a whole.

mod memcached;
mod redis;
mod store;
mod wire;

pub(super) use store::Store;

use std::io;
use wire::Wire;

/// Reads, stores, removes and swaps on a store with these replies, until a call fails; returns the values
/// that were read.
#[cfg(feature = "fuzzing")]
pub fn replies(kind: super::RemoteKind, stream: std::net::TcpStream) -> Vec<Vec<u8>> {
    use super::RemoteKind;
    let wire = Wire::over(stream, std::time::Duration::from_secs(10));
    let mut client = match kind {
        RemoteKind::Memcached => Client::Memcached(memcached::Memcached { wire }),
        RemoteKind::Redis => Client::Redis(redis::Redis { wire }),
    };
    let mut values = Vec::new();
    let mut calls = || -> io::Result<()> {
        loop {
            values.extend(client.get("key")?);
            client.put("key", b"value", 1)?;
            client.remove("key")?;
            client.swap("key", Some(b"old"), b"new", 1)?;
            client.swap("key", None, b"new", 1)?;
        }
    };
    let _ = calls(); // it ends when the replies run out
    values
}

/// A connection, by its protocol. After an error it cannot be used again.
#[derive(Debug)]
enum Client {
    Memcached(memcached::Memcached),
    Redis(redis::Redis),
}

impl Client {
    fn wire(&mut self) -> &mut Wire {
        match self {
            Self::Memcached(client) => &mut client.wire,
            Self::Redis(client) => &mut client.wire,
        }
    }

    /// The value of `key`.
    fn get(&mut self, key: &str) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Memcached(client) => client.get(key),
            Self::Redis(client) => client.get(key),
        }
    }

    /// Keeps `value` for `lifetime` seconds.
    fn put(&mut self, key: &str, value: &[u8], lifetime: u32) -> io::Result<()> {
        match self {
            Self::Memcached(client) => client.put(key, value, lifetime),
            Self::Redis(client) => client.put(key, value, lifetime),
        }
    }

    /// Removes `key`; whether it existed. Of several concurrent callers, one gets `true`.
    fn remove(&mut self, key: &str) -> io::Result<bool> {
        match self {
            Self::Memcached(client) => client.remove(key),
            Self::Redis(client) => client.remove(key),
        }
    }

    /// Puts `new` in the place of `old` (`None`: of nothing); `false` if something else is there.
    fn swap(&mut self, key: &str, old: Option<&[u8]>, new: &[u8], lifetime: u32) -> io::Result<bool> {
        match self {
            Self::Memcached(client) => client.swap(key, old, new, lifetime),
            Self::Redis(client) => client.swap(key, old, new, lifetime),
        }
    }
}

/// The store violated its protocol, or reported an error.
fn broken(answer: &[u8]) -> io::Error {
    let start = &answer[..answer.len().min(80)];
    io::Error::new(io::ErrorKind::InvalidData, format!("answers \"{}\"", start.escape_ascii()))
}
