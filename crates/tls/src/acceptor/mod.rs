//! The handshake configurations of a listener: settings and identities by server name.
//!
//! A block's names choose it; the first block is for every other name, and for clients that send none.
//! Blocks with the same settings and identities share a configuration, and the sessions that it may resume: see
//! `scope`.

mod builder;
mod config;
mod names;
mod resolver;
mod scope;

use crate::resumption::RemoteSessions;
use crate::{Error, Resumption, Settings};
use arc_swap::ArcSwap;
use builder::Builder;
use names::Names;
use rustls::ServerConfig;
use rustls::server::StoresServerSessions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The handshake configurations of a listener. Shared by the workers; [`Acceptor::replace`] is for a reload.
#[derive(Debug)]
pub struct Acceptor {
    table: ArcSwap<Table>,
}

/// The names of a block of settings: `www.example.com`, `*.example.com`.
pub type Block = (Vec<String>, Settings);

impl Acceptor {
    /// Blocks with the server names they are for; the first is for all other names too.
    ///
    /// # Errors
    /// The settings leave nothing to offer.
    pub fn new(blocks: Vec<Block>, resumption: &Resumption) -> Result<Arc<Self>, Error> {
        let table = ArcSwap::from_pointee(Table::new(blocks, resumption)?);
        Ok(Arc::new(Self { table }))
    }

    /// Replaces the blocks for new connections. Existing connections keep theirs.
    ///
    /// # Errors
    /// As `new`; then nothing changes.
    pub fn replace(&self, blocks: Vec<Block>, resumption: &Resumption) -> Result<(), Error> {
        self.table.store(Arc::new(Table::new(blocks, resumption)?));
        Ok(())
    }

    /// Distinguishes handshakes that require client certificates of different authorities, for any server
    /// name; `None` if none is required. It changes with the certificates in the files of authorities.
    pub fn client_requirement(&self) -> Option<u64> {
        self.table.load().client_requirement
    }

    pub(crate) fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }
}

/// One state of an acceptor.
#[derive(Debug)]
pub(crate) struct Table {
    configs: Vec<Shared>,
    names: Names<Chosen>,
    /// For all other names.
    first: Chosen,
    remote: Option<Arc<dyn RemoteSessions>>,
    client_requirement: Option<u64>,
}

/// A configuration of handshakes, and the sessions that it may resume.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) sessions: Arc<dyn StoresServerSessions>,
    /// TLS 1.3 is used if the client offers it.
    pub(crate) speaks_tls13: bool,
}

/// The configurations of a block.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    certificates: usize,
    /// For clients that prefer a raw public key; the same if there is only one of the two.
    raw_public_keys: usize,
}

impl Table {
    fn new(blocks: Vec<Block>, resumption: &Resumption) -> Result<Self, Error> {
        let client_requirement = client_requirement(&blocks);
        let mut builder = Builder::new(resumption);
        let (mut first, mut names) = (None, Names::default());
        for (served, settings) in blocks {
            let chosen = builder.add(&settings)?;
            first.get_or_insert(chosen);
            names.insert(&served, chosen);
        }
        let first = first.ok_or_else(no_identity)?;
        Ok(Self {
            configs: builder.configs,
            names,
            first,
            remote: resumption.remote.clone(),
            client_requirement,
        })
    }

    /// The configuration for this name. `raw`: the client prefers a raw public key to a certificate.
    pub(crate) fn choose(&self, name: Option<&str>, raw: bool) -> &Shared {
        let chosen = name.and_then(|name| self.names.get(name)).unwrap_or(&self.first);
        &self.configs[if raw { chosen.raw_public_keys } else { chosen.certificates }]
    }

    pub(crate) fn remote(&self) -> Option<&Arc<dyn RemoteSessions>> {
        self.remote.as_ref()
    }
}

/// The names with the authorities whose certificates they require.
fn client_requirement(blocks: &[Block]) -> Option<u64> {
    if blocks.iter().all(|(_, settings)| settings.client_ca.is_none()) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    for (names, settings) in blocks {
        names.hash(&mut hasher);
        let authorities = settings.client_ca.as_ref();
        let certificates: Option<Vec<_>> = authorities.map(|own| own.certificates().collect());
        certificates.hash(&mut hasher);
    }
    Some(hasher.finish())
}

fn no_identity() -> Error {
    Error("TLS requires a certificate: set certificate-file and key-file".to_owned())
}
