//! What a listener answers handshakes with: configurations and identities by server name.
//!
//! A block's names choose it; the first block is for every other name, and for clients that send none.
//! Blocks with the same settings and identities share a configuration, and the sessions that it may resume: see
//! `scope`.

mod config;
mod names;
mod resolver;
mod scope;

use crate::resumption::RemoteSessions;
use crate::{Error, Identity, Resumption, Settings};
use arc_swap::ArcSwap;
use config::Handshakes;
use names::Names;
use rustls::ServerConfig;
use rustls::server::StoresServerSessions;
use std::collections::HashMap;
use std::sync::Arc;

/// What a listener answers handshakes with. Shared by the workers; [`Acceptor::replace`] is for a reload.
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
    /// Settings that leave nothing to offer.
    pub fn new(blocks: Vec<Block>, resumption: &Resumption) -> Result<Arc<Self>, Error> {
        let table = ArcSwap::from_pointee(Table::new(blocks, resumption)?);
        Ok(Arc::new(Self { table }))
    }

    /// Puts other blocks in the place of those so far, for the connections that come. Those there are keep
    /// theirs.
    ///
    /// # Errors
    /// As `new`; then nothing changes.
    pub fn replace(&self, blocks: Vec<Block>, resumption: &Resumption) -> Result<(), Error> {
        self.table.store(Arc::new(Table::new(blocks, resumption)?));
        Ok(())
    }

    pub(crate) fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }
}

/// One state of an acceptor.
#[derive(Debug)]
pub(crate) struct Table {
    /// The first is that of the first block.
    configs: Vec<Shared>,
    names: Names<usize>,
    remote: Option<Arc<dyn RemoteSessions>>,
}

/// A configuration of handshakes, and the sessions that it may resume.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) sessions: Arc<dyn StoresServerSessions>,
    /// A client that offers TLS 1.3 gets it.
    pub(crate) speaks_tls13: bool,
}

impl Table {
    fn new(blocks: Vec<Block>, resumption: &Resumption) -> Result<Self, Error> {
        if blocks.is_empty() {
            return Err(Error("TLS without a certificate: name certificate-file and key-file".to_owned()));
        }
        let (mut configs, mut names) = (Vec::new(), Names::default());
        let mut handshakes: Vec<(Settings, Handshakes)> = Vec::new();
        let mut known = HashMap::new();
        for (served, settings) in blocks {
            if settings.identities.is_empty() {
                return Err(Error(
                    "TLS without a certificate: name certificate-file and key-file".to_owned(),
                ));
            }
            let alike = handshakes.iter().position(|(other, _)| other.shakes_hands_as(&settings));
            let alike = alike.map_or_else(
                || {
                    let built = Handshakes::new(&settings, resumption)?;
                    handshakes.push((Settings { identities: Vec::new(), ..settings.clone() }, built));
                    Ok(handshakes.len() - 1)
                },
                Ok,
            )?;
            let identities = settings.identities.iter().map(Identity::number).collect::<Vec<_>>();
            let at = *known.entry((alike, identities)).or_insert_with(|| {
                configs.push(handshakes[alike].1.with(&settings, resumption));
                configs.len() - 1
            });
            names.insert(&served, at);
        }
        Ok(Self { configs, names, remote: resumption.remote.clone() })
    }

    /// The configuration for this name.
    pub(crate) fn choose(&self, name: Option<&str>) -> &Shared {
        &self.configs[name.and_then(|name| self.names.get(name)).copied().unwrap_or(0)]
    }

    pub(crate) fn remote(&self) -> Option<&Arc<dyn RemoteSessions>> {
        self.remote.as_ref()
    }
}
