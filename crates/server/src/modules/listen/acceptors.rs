//! The TLS acceptors of listeners.

use super::{bindings, ssl};
use crate::config::error::ConfigError;
use crate::config::settings::Settings;
use crate::config::yaml::Position;
use hayami_tls::ocsp::{Fetcher, Job};
use hayami_tls::resumption::Report;
use hayami_tls::{Acceptor, Identity, Resumption};
use std::collections::HashMap;
use std::sync::Arc;

/// The acceptors of all TLS addresses. Created once per process: workers share tickets and sessions.
#[derive(Debug)]
pub struct Acceptors {
    resumption: Resumption,
    /// Every distinct `ssl`, however many addresses and hosts share it.
    read: Vec<Read>,
    /// Indexes into `read`, by the position of the first certificate, which equal ones have in common.
    known: HashMap<Position, Vec<usize>>,
    /// By binding; `None` without TLS.
    addresses: Vec<Option<Arc<Acceptor>>>,
    /// Fetches OCSP responses, once started.
    fetcher: Option<Fetcher>,
}

/// An `ssl` mapping, and the contents of its files when they were last valid.
#[derive(Debug)]
struct Read {
    written: ssl::Settings,
    settings: hayami_tls::Settings,
}

impl Acceptors {
    /// Reads all files, and creates an acceptor for every address. OCSP responses that the acceptors `before`, which a
    /// reload replaces, have fetched for the same certificates are kept.
    ///
    /// # Errors
    /// A file cannot be used, or settings leave nothing to offer.
    pub fn new(
        settings: &Settings,
        resumption: Resumption,
        before: Option<&Self>,
    ) -> Result<Self, ConfigError> {
        let (read, known) = (Vec::new(), HashMap::new());
        let mut acceptors = Self { resumption, read, known, addresses: Vec::new(), fetcher: None };
        let before = Before::new(before);
        for binding in bindings(settings) {
            let mut blocks = Vec::new();
            for block in &binding.blocks {
                blocks.push((block.names.clone(), acceptors.load(block.ssl, &before)?));
            }
            let address = if blocks.is_empty() { None } else { Some(acceptors.address(blocks)?) };
            acceptors.addresses.push(address);
        }
        Ok(acceptors)
    }

    /// The acceptor of a binding's address; `None` without TLS.
    pub fn get(&self, binding: usize) -> Option<&Arc<Acceptor>> {
        self.addresses.get(binding)?.as_ref()
    }

    /// Whether no address uses TLS.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// Starts the threads that maintain ticket keys, remote session caches and OCSP responses, once the process has
    /// dropped its privileges. At most `updaters` threads fetch responses; later errors go to `report`.
    pub fn start(&mut self, updaters: usize, report: &Report) {
        if !self.is_empty() {
            self.resumption.start();
            self.fetcher = Some(Fetcher::start(self.jobs(), updaters, report));
        }
    }

    /// The fetch jobs of all OCSP responses.
    fn jobs(&self) -> Vec<Job> {
        self.read.iter().flat_map(Read::jobs).collect()
    }

    /// The index of an `ssl`, which is read if it is new.
    fn load(&mut self, written: &ssl::Settings, before: &Before<'_>) -> Result<usize, ConfigError> {
        let same = self.known.entry(written.identities[0].certificate.at).or_default();
        if let Some(index) = same.iter().find(|index| self.read[**index].written == *written) {
            return Ok(*index);
        }
        let mut read = Read { written: written.clone(), settings: written.load()? };
        read.take_staples(before);
        self.read.push(read);
        same.push(self.read.len() - 1);
        Ok(self.read.len() - 1)
    }

    /// The session resumption state, for the acceptors that replace these.
    pub fn resumption(&self) -> Resumption {
        self.resumption.clone()
    }

    fn address(&self, blocks: Vec<(Vec<String>, usize)>) -> Result<Arc<Acceptor>, ConfigError> {
        let first = &self.read[blocks[0].1].written;
        Acceptor::new(self.blocks(&blocks), &self.resumption)
            .map_err(|error| ConfigError::new(first.identities[0].certificate.at, error.to_string()))
    }

    fn blocks(&self, blocks: &[(Vec<String>, usize)]) -> Vec<(Vec<String>, hayami_tls::Settings)> {
        blocks.iter().map(|(names, index)| (names.clone(), self.read[*index].settings.clone())).collect()
    }
}

impl Read {
    fn jobs(&self) -> impl Iterator<Item = Job> {
        let identities = self.settings.identities.iter().zip(&self.written.identities);
        // Raw public keys have no OCSP responses.
        identities.filter(|(identity, _)| !identity.is_raw_public_key()).map(|(identity, files)| Job {
            certificate_file: files.certificate.path.clone(),
            chain: identity.chain().map(<[u8]>::to_vec).collect(),
            staple: Arc::clone(identity.staple()),
            settings: self.written.ocsp.settings(files),
        })
    }

    /// Keeps the OCSP responses fetched for the same certificates.
    fn take_staples(&mut self, before: &Before<'_>) {
        for (new, files) in self.settings.identities.iter_mut().zip(&self.written.identities) {
            if let Some(old) = before.of_chain(new).filter(|_| files.ocsp.is_none()) {
                *new = old.clone();
            }
        }
    }
}

/// The identities of acceptors that a reload replaces, by their chains.
struct Before<'a>(HashMap<Vec<&'a [u8]>, &'a Identity>);

impl<'a> Before<'a> {
    fn new(before: Option<&'a Acceptors>) -> Self {
        let all = before.iter().flat_map(|before| &before.read).flat_map(|read| &read.settings.identities);
        Self(all.map(|identity| (identity.chain().collect(), identity)).collect())
    }

    fn of_chain(&self, identity: &Identity) -> Option<&'a Identity> {
        self.0.get(&identity.chain().collect::<Vec<_>>()).copied()
    }
}
