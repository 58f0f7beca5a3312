//! What a listener answers handshakes with: configurations and identities by server name.
//!
//! A block's names choose it; the first block is for every other name, and for clients that send none.
//! Blocks that differ in their identities only share a configuration.

mod config;
mod names;
mod resolver;

use crate::resumption::RemoteSessions;
use crate::{Error, Resumption, Settings};
use arc_swap::ArcSwap;
use names::Names;
use resolver::ByName;
use rustls::ServerConfig;
use rustls::server::StoresServerSessions;
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
}

impl Table {
    fn new(blocks: Vec<Block>, resumption: &Resumption) -> Result<Self, Error> {
        if blocks.is_empty() {
            return Err(Error("TLS without a certificate: name certificate-file and key-file".to_owned()));
        }
        let mut names = Names::default();
        let mut groups: Vec<(Settings, ByName)> = Vec::new();
        for (served, mut settings) in blocks {
            if settings.identities.is_empty() {
                return Err(Error(
                    "TLS without a certificate: name certificate-file and key-file".to_owned(),
                ));
            }
            let identities = std::mem::take(&mut settings.identities);
            let at = groups.iter().position(|(other, _)| other.shakes_hands_as(&settings));
            let at = at.unwrap_or_else(|| {
                groups.push((settings, ByName::default()));
                groups.len() - 1
            });
            names.insert(&served, at);
            groups[at].1.insert(&served, &identities);
        }
        let configs =
            groups.into_iter().map(|(settings, by_name)| config::build(&settings, by_name, resumption));
        Ok(Self { configs: configs.collect::<Result<_, _>>()?, names, remote: resumption.remote.clone() })
    }

    /// The configuration for this name.
    pub(crate) fn choose(&self, name: Option<&str>) -> &Shared {
        &self.configs[name.and_then(|name| self.names.get(name)).copied().unwrap_or(0)]
    }

    pub(crate) fn remote(&self) -> Option<&Arc<dyn RemoteSessions>> {
        self.remote.as_ref()
    }
}
