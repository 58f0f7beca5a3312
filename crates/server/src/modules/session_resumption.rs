//! `ssl-session-resumption`: how clients that were here before are spared a whole handshake.
//!
//! Here the mapping is read; the stores and the ticket keys are in `hayami-tls`.

use crate::config::attribute::{self, Attribute};
use crate::config::directive::{Directive, Levels};
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Place};
pub use hayami_tls::resumption::Settings;
use hayami_tls::resumption::{
    CACHE_PREFIX, CacheStore, MEMCACHED_PORT, REDIS_PORT, RemoteKind, RemoteStore, TICKET_KEY, TicketStore,
};
use std::path::PathBuf;

/// The mapping, as far as it is read; stores and their addresses may come in any order.
pub(crate) struct Reading {
    cache: bool,
    tickets: bool,
    lifetime: u32,
    cache_store: Store,
    cache_threads: usize,
    cache_prefix: String,
    ticket_store: Store,
    ticket_file: Option<PathBuf>,
    ticket_key: String,
    secret_file: Option<PathBuf>,
    memcached: Option<RemoteStore>,
    redis: Option<RemoteStore>,
    warnings: Vec<ConfigError>,
}

/// Where something is kept, and where that is written.
#[derive(Clone, Copy)]
enum Store {
    Internal,
    File(Place),
    Memcached(Place),
    Redis(Place),
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            cache: true,
            tickets: true,
            lifetime: 3600,
            cache_store: Store::Internal,
            cache_threads: 1,
            cache_prefix: CACHE_PREFIX.to_owned(),
            ticket_store: Store::Internal,
            ticket_file: None,
            ticket_key: TICKET_KEY.to_owned(),
            secret_file: None,
            memcached: None,
            redis: None,
            warnings: Vec::new(),
        }
    }
}

/// A ticket is good for seven days at most (RFC 8446 §4.6.1).
const LONGEST: u64 = 7 * 86_400;

/// Every key of `ssl-session-resumption`.
pub(crate) const ATTRIBUTES: &[Attribute<Reading>] = &[
    Attribute {
        name: "mode",
        argument: "off | cache | ticket | all",
        default: "all",
        help: "Whether the server keeps sessions (cache), the clients do (ticket), both, or nobody.",
        set: |reading, node| {
            let mode = node.one_of(&["off", "cache", "ticket", "all"])?;
            (reading.cache, reading.tickets) = (mode & 1 != 0, mode & 2 != 0);
            Ok(())
        },
    },
    Attribute {
        name: "lifetime",
        argument: "seconds",
        default: "3600",
        help: "How long a session can be resumed, a week at most. A new key for tickets is made after a quarter \
               of it.",
        set: |reading, node| {
            reading.lifetime = node.whole_seconds(1..=LONGEST)? as u32;
            Ok(())
        },
    },
    Attribute {
        name: "cache-store",
        argument: "internal | memcached | redis",
        default: "internal",
        help: "Where sessions are kept: in memory, or where several machines find them.",
        set: |reading, node| {
            reading.cache_store = match node.one_of(&["internal", "memcached", "redis"])? {
                0 => Store::Internal,
                1 => Store::Memcached(node.at),
                _ => Store::Redis(node.at),
            };
            Ok(())
        },
    },
    Attribute {
        name: "cache-memcached-num-threads",
        argument: "a number",
        default: "1",
        help: "Threads that store sessions on another machine.",
        set: |reading, node| {
            reading.cache_threads = node.integer(1..=256)? as usize;
            Ok(())
        },
    },
    Attribute {
        name: "cache-memcached-prefix",
        argument: "a text",
        default: "h2o:ssl-session-cache:",
        help: "What the names of sessions in such a store begin with.",
        set: |reading, node| {
            reading.cache_prefix = name(node)?;
            Ok(())
        },
    },
    Attribute {
        name: "ticket-store",
        argument: "internal | file | memcached | redis",
        default: "internal",
        help: "Where the keys of tickets come from: made here, written to a file by somebody else, or shared by \
               several machines.",
        set: |reading, node| {
            reading.ticket_store = match node.one_of(&["internal", "file", "memcached", "redis"])? {
                0 => Store::Internal,
                1 => Store::File(node.at),
                2 => Store::Memcached(node.at),
                _ => Store::Redis(node.at),
            };
            Ok(())
        },
    },
    Attribute {
        name: "ticket-file",
        argument: "a file",
        default: "",
        help: "The file with ticket keys, in h2o's format. It is read again when it changes.",
        set: |reading, node| {
            reading.ticket_file = Some(path(node)?);
            Ok(())
        },
    },
    Attribute {
        name: "ticket-memcached-key",
        argument: "a text",
        default: "h2o:ssl-session-ticket",
        help: "The name of the ticket keys in a shared store.",
        set: |reading, node| {
            reading.ticket_key = name(node)?;
            Ok(())
        },
    },
    Attribute {
        name: "ticket-cipher",
        argument: "aes-256-cbc | aes-128-cbc",
        default: "",
        help: "Without effect: tickets that are made here are sealed with an AEAD.",
        set: |reading, node| old_cipher(reading, node, "ticket-cipher"),
    },
    Attribute {
        name: "ticket-hash",
        argument: "sha256",
        default: "",
        help: "Without effect: tickets that are made here are sealed with an AEAD.",
        set: |reading, node| old_cipher(reading, node, "ticket-hash"),
    },
    Attribute {
        name: "memcached",
        argument: "a mapping with `host`, `port` (11211) and `protocol`",
        default: "",
        help: "The memcached for both stores. `protocol: BINARY` means ASCII too, which every memcached speaks.",
        set: |reading, node| {
            reading.memcached = Some(remote(node, RemoteKind::Memcached)?);
            Ok(())
        },
    },
    Attribute {
        name: "redis",
        argument: "a mapping with `host`, `port` (6379) and `password`",
        default: "",
        help: "The Redis for both stores.",
        set: |reading, node| {
            reading.redis = Some(remote(node, RemoteKind::Redis)?);
            Ok(())
        },
    },
    Attribute {
        name: "store-secret-file",
        argument: "a file",
        default: "",
        help: "At least 32 random octets that all machines with the same store have: what goes to the store is \
               sealed with them, so that whoever reads or writes the store learns and forges nothing.",
        set: |reading, node| {
            reading.secret_file = Some(path(node)?);
            Ok(())
        },
    },
];

fn old_cipher(reading: &mut Reading, node: &Node, name: &str) -> Result<(), ConfigError> {
    node.text()?;
    let why = format!("`{name}` has no effect: tickets are sealed with an AEAD");
    reading.warnings.push(node.error(why));
    Ok(())
}

fn path(node: &Node) -> Result<PathBuf, ConfigError> {
    match node.text() {
        Ok(path) if !path.is_empty() => Ok(PathBuf::from(path)),
        _ => Err(node.expected("the name of a file")),
    }
}

/// A name in a store: memcached takes no spaces and no more than 250 octets, some of which are needed
/// behind a prefix.
fn name(node: &Node) -> Result<String, ConfigError> {
    let fits = |text: &str| (1..=180).contains(&text.len()) && text.bytes().all(|o| o.is_ascii_graphic());
    match node.text() {
        Ok(text) if fits(text) => Ok(text.to_owned()),
        _ => Err(node.expected("at most 180 characters without spaces")),
    }
}

fn remote(node: &Node, kind: RemoteKind) -> Result<RemoteStore, ConfigError> {
    let default = if kind == RemoteKind::Redis { REDIS_PORT } else { MEMCACHED_PORT };
    let mut store = RemoteStore { kind, host: String::new(), port: default, password: None };
    for (key, value) in node.mapping().map_err(|_| node.expected("a mapping with `host` and `port`"))? {
        match (key.text().unwrap_or_default(), kind) {
            ("host", _) => value.text()?.clone_into(&mut store.host),
            ("port", _) => store.port = value.integer(1..=65_535)? as u16,
            ("protocol", RemoteKind::Memcached) => drop(value.one_of(&["BINARY", "ASCII"])?),
            ("password", RemoteKind::Redis) => store.password = Some(value.text()?.to_owned()),
            (_, RemoteKind::Memcached) => return Err(key.expected("`host`, `port` or `protocol`")),
            (_, RemoteKind::Redis) => return Err(key.expected("`host`, `port` or `password`")),
        }
    }
    if store.host.is_empty() {
        return Err(node.error("`host` is missing: the name or address of the store"));
    }
    Ok(store)
}

impl Reading {
    fn settings(self) -> Result<Settings, ConfigError> {
        let cache = self.cache.then(|| self.cache()).transpose()?;
        let tickets = self.tickets.then(|| self.tickets()).transpose()?;
        Ok(Settings { cache, tickets, lifetime: self.lifetime, secret_file: self.secret_file })
    }

    fn cache(&self) -> Result<CacheStore, ConfigError> {
        Ok(match self.remote(self.cache_store)? {
            None => CacheStore::Internal,
            Some(store) => {
                CacheStore::Remote { store, prefix: self.cache_prefix.clone(), threads: self.cache_threads }
            }
        })
    }

    fn tickets(&self) -> Result<TicketStore, ConfigError> {
        if let Store::File(at) = self.ticket_store {
            let error = ConfigError::new(at, "`ticket-store: file` needs `ticket-file`");
            return self.ticket_file.clone().map(TicketStore::File).ok_or(error);
        }
        Ok(match self.remote(self.ticket_store)? {
            None => TicketStore::Internal,
            Some(store) => TicketStore::Remote { store, key: self.ticket_key.clone() },
        })
    }

    /// The machine that keeps what is not kept here.
    fn remote(&self, store: Store) -> Result<Option<RemoteStore>, ConfigError> {
        let (at, remote, name) = match store {
            Store::Memcached(at) => (at, &self.memcached, "memcached"),
            Store::Redis(at) => (at, &self.redis, "redis"),
            Store::Internal | Store::File(_) => return Ok(None),
        };
        let error = ConfigError::new(at, format!("the store needs `{name}`"));
        let error = error.help(format!("write `{name}: {{host: …}}` beside it"));
        remote.clone().map(Some).ok_or(error)
    }
}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "ssl-session-resumption",
        levels: Levels::GLOBAL,
        argument: "a mapping",
        default: "{mode: all, lifetime: 3600}",
        help: "How TLS sessions are kept, so that a client that comes again is spared a whole handshake. By \
               default the server keeps them in memory and gives tickets out, for an hour; the keys of tickets \
               change by themselves.",
        set: |scope, node| {
            let mut reading = Reading::default();
            attribute::read(ATTRIBUTES, "ssl-session-resumption", &mut reading, node)?;
            std::mem::take(&mut reading.warnings).into_iter().for_each(|warning| scope.warn(warning));
            scope.global.session_resumption = reading.settings()?;
            Ok(())
        },
    },
    Directive {
        name: "num-ocsp-updaters",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "10",
        help: "How many OCSP responses are fetched at once.",
        set: |scope, node| {
            scope.global.ocsp_updaters.0 = node.integer(1..=256)? as usize;
            Ok(())
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_text;

    fn load(mapping: &str) -> Result<(Settings, usize), String> {
        let text = format!("ssl-session-resumption: {mapping}\nlisten: 80\nhosts: {{a: {{paths: {{}}}}}}\n");
        match load_text("test", &text) {
            Ok(loaded) => Ok((loaded.settings.global.session_resumption, loaded.warnings.len())),
            Err(errors) => Err(errors.errors[0].message.clone()),
        }
    }

    #[test]
    fn modes_say_who_keeps_sessions() {
        for (mode, cache, tickets) in
            [("off", false, false), ("cache", true, false), ("ticket", false, true), ("all", true, true)]
        {
            let (settings, _) = load(&format!("{{mode: {mode}}}")).expect(mode);
            assert_eq!((settings.cache.is_some(), settings.tickets.is_some()), (cache, tickets), "{mode}");
        }
        assert_eq!(load("{}"), Ok((Settings::default(), 0)));
    }

    #[test]
    fn stores_of_h2o_and_their_addresses_are_read_in_any_order() {
        let memcached = RemoteStore {
            kind: RemoteKind::Memcached,
            host: "192.168.0.4".into(),
            port: 11_212,
            password: None,
        };
        let (settings, warnings) = load(
            "
  cache-store: memcached
  ticket-store: memcached
  cache-memcached-num-threads: 8
  memcached: {host: 192.168.0.4, port: 11212, protocol: BINARY}",
        )
        .expect("read");
        let prefix = CACHE_PREFIX.to_owned();
        let store = memcached.clone();
        assert_eq!(settings.cache, Some(CacheStore::Remote { store, prefix, threads: 8 }));
        let key = TICKET_KEY.to_owned();
        assert_eq!(settings.tickets, Some(TicketStore::Remote { store: memcached, key }));
        assert_eq!(warnings, 0);
        let (settings, warnings) =
            load("{mode: ticket, ticket-store: file, ticket-file: /k, ticket-hash: sha256}").expect("read");
        assert_eq!(settings.tickets, Some(TicketStore::File("/k".into())));
        assert_eq!(warnings, 1);
    }

    #[test]
    fn what_is_missing_or_unknown_is_said() {
        for (mapping, want) in [
            (
                "ON",
                "`ssl-session-resumption`: expected a mapping, such as `ssl-session-resumption: {mode: …}`, \
                    found `ON`",
            ),
            ("{mode: tickets}", "`mode`: expected one of off, cache, ticket, all, found `tickets`"),
            ("{cache-store: redis}", "the store needs `redis`"),
            ("{ticket-store: file}", "`ticket-store: file` needs `ticket-file`"),
            ("{lifetime: 0}", "`lifetime`: expected a time from 1 s to 604800 s, found `0`"),
            ("{redis: {port: 1}}", "`host` is missing: the name or address of the store"),
            ("{redis: {host: a, user: b}}", "`redis`: expected `host`, `port` or `password`, found `user`"),
            ("{tickets: internal}", "`ssl-session-resumption` has no key `tickets`"),
        ] {
            let message = load(mapping).expect_err(mapping);
            assert!(message.ends_with(want), "{mapping}: {message}");
        }
    }
}
