//! The configuration of resumption (h2o's `ssl-session-resumption`), as plain data.

use std::path::PathBuf;

/// The port of memcached, if none is given.
pub const MEMCACHED_PORT: u16 = 11211;
/// The port of Redis, if none is given.
pub const REDIS_PORT: u16 = 6379;
/// The prefix of session names in a remote store: h2o's `cache-memcached-prefix`.
pub const CACHE_PREFIX: &str = "h2o:ssl-session-cache:";
/// The name of the ticket keys in a remote store: h2o's `ticket-memcached-key`.
pub const TICKET_KEY: &str = "h2o:ssl-session-ticket";

/// How sessions are kept and resumed.
///
/// h2o's `mode` says which of `cache` and `tickets` there are: `off` neither, `all` both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where the server keeps sessions. `None`: it keeps none.
    pub cache: Option<CacheStore>,
    /// Where the keys of session tickets come from. `None`: no tickets are made.
    pub tickets: Option<TicketStore>,
    /// How long a session can be resumed, in seconds. A new ticket key is made after a quarter of it. At
    /// most seven days count (RFC 8446 §4.6.1).
    pub lifetime: u32,
    /// A file with at least 32 secret bytes, shared only by the machines that use the same remote store;
    /// hayami's own attribute `store-secret-file`. Everything sent to the store is sealed with it.
    ///
    /// Without it the ticket keys are stored in cleartext, as h2o does, and a session is sealed with its
    /// identifier only: a copy of the store alone reveals nothing, but a copy of the store *and* of the
    /// traffic does, and an attacker with write access to the store can forge sessions (including ones with
    /// client certificates).
    pub secret_file: Option<PathBuf>,
}

/// Where sessions are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheStore {
    /// In memory, shared by the workers.
    Internal,
    /// On another machine, shared with other servers.
    Remote {
        /// Which.
        store: RemoteStore,
        /// The prefix of its names; see [`CACHE_PREFIX`].
        prefix: String,
        /// How many threads store sessions there; h2o's `cache-memcached-num-threads`, 1 by default.
        threads: usize,
    },
}

/// Where ticket keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketStore {
    /// They are generated here, and kept in memory.
    Internal,
    /// Another program writes them to this file, in h2o's format.
    File(PathBuf),
    /// The servers that share this store generate them, and agree on them.
    Remote {
        /// Which.
        store: RemoteStore,
        /// The name of the keys there; see [`TICKET_KEY`].
        key: String,
    },
}

/// A memcached or Redis.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteStore {
    /// Which of the two.
    pub kind: RemoteKind,
    /// A name or an address.
    pub host: String,
    /// See [`MEMCACHED_PORT`] and [`REDIS_PORT`].
    pub port: u16,
    /// For Redis' AUTH. memcached's ASCII protocol has no authentication.
    pub password: Option<String>,
}

/// The protocol of a remote store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    /// memcached's ASCII protocol. Every memcached speaks it on the port of the binary one, so `protocol:
    /// BINARY` means this too.
    Memcached,
    /// RESP 2.
    Redis,
}

impl Default for Settings {
    /// h2o's: cache and tickets, both internal, for an hour.
    fn default() -> Self {
        Self {
            cache: Some(CacheStore::Internal),
            tickets: Some(TicketStore::Internal),
            lifetime: 3600,
            secret_file: None,
        }
    }
}

impl std::fmt::Display for RemoteStore {
    /// `memcached at 192.0.2.1:11211`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            RemoteKind::Memcached => "memcached",
            RemoteKind::Redis => "Redis",
        };
        if self.host.contains(':') {
            return write!(f, "{kind} at [{}]:{}", self.host, self.port);
        }
        write!(f, "{kind} at {}:{}", self.host, self.port)
    }
}

impl std::fmt::Debug for RemoteStore {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
