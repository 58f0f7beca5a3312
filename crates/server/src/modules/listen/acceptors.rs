//! What the listeners answer handshakes with, and the certificates read again.

use super::{bindings, ssl};
use crate::config::error::ConfigError;
use crate::config::settings::Settings;
use crate::config::yaml::Place;
use hayami_tls::ocsp::{Fetcher, Job};
use hayami_tls::resumption::Report;
use hayami_tls::{Acceptor, Resumption};
use std::collections::HashMap;
use std::sync::Arc;

/// The acceptors of all addresses that speak TLS. One for the process: the workers share what it gives out.
#[derive(Debug)]
pub struct Acceptors {
    resumption: Resumption,
    /// Every `ssl` once, however many addresses and hosts share it.
    read: Vec<Read>,
    /// Indexes of these by the place of their first certificate, which equal ones have in common.
    known: HashMap<Place, Vec<usize>>,
    /// By binding; `None` without TLS.
    addresses: Vec<Option<Address>>,
    /// Keeps OCSP responses up to date, once started.
    fetcher: Option<Fetcher>,
}

/// An `ssl` mapping, and what its files held when they were good last.
#[derive(Debug)]
struct Read {
    written: ssl::Settings,
    settings: hayami_tls::Settings,
}

#[derive(Debug)]
struct Address {
    acceptor: Arc<Acceptor>,
    /// Server names, and which of the `ssl` is for them; the default first.
    blocks: Vec<(Vec<String>, usize)>,
}

/// What came of reading certificates again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Certificates that were read.
    pub certificates: usize,
    /// Those among them that are others than before.
    pub changed: usize,
    /// Why something stays as it was, a line each.
    pub failed: Vec<String>,
}

impl Acceptors {
    /// Reads all files, and makes an acceptor for every address.
    ///
    /// # Errors
    /// A file cannot be used, or settings leave nothing to offer.
    pub fn new(settings: &Settings, resumption: Resumption) -> Result<Self, ConfigError> {
        let (read, known) = (Vec::new(), HashMap::new());
        let mut acceptors = Self { resumption, read, known, addresses: Vec::new(), fetcher: None };
        for binding in bindings(settings) {
            let mut blocks = Vec::new();
            for block in &binding.blocks {
                blocks.push((block.names.clone(), acceptors.load(block.ssl)?));
            }
            let address = if blocks.is_empty() { None } else { Some(acceptors.address(blocks)?) };
            acceptors.addresses.push(address);
        }
        Ok(acceptors)
    }

    /// What answers handshakes on a binding's address; `None` without TLS.
    pub fn get(&self, binding: usize) -> Option<&Arc<Acceptor>> {
        self.addresses.get(binding)?.as_ref().map(|address| &address.acceptor)
    }

    /// Whether any address speaks TLS.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// Starts the threads that keep ticket keys, sessions on other machines and OCSP responses, once the
    /// process has the rights it keeps. At most `updaters` of them fetch responses; `report` hears what is
    /// wrong later.
    pub fn start(&mut self, updaters: usize, report: &Report) {
        if !self.is_empty() {
            self.resumption.start();
            self.fetcher = Some(Fetcher::start(self.jobs(), updaters, report));
        }
    }

    /// Every OCSP response there is to keep.
    fn jobs(&self) -> Vec<Job> {
        self.read.iter().flat_map(Read::jobs).collect()
    }

    /// Reads all files again. What is good is used for the connections that come; what is not stays as it
    /// was.
    pub fn reload(&mut self, updaters: usize, report: &Report) -> Reloaded {
        let reloaded = self.read_again();
        // The one before ends; what it has fetched stays until there is something newer.
        self.fetcher = self.fetcher.take().map(|_| Fetcher::start(self.jobs(), updaters, report));
        reloaded
    }

    fn read_again(&mut self) -> Reloaded {
        let mut reloaded = Reloaded::default();
        for read in &mut self.read {
            read.reload(&mut reloaded);
        }
        for address in self.addresses.iter().flatten() {
            let replaced = address.acceptor.replace(self.blocks(&address.blocks), &self.resumption);
            reloaded.failed.extend(replaced.err().map(|error| error.to_string()));
        }
        reloaded
    }

    /// The index of an `ssl`, read if it is a new one.
    fn load(&mut self, written: &ssl::Settings) -> Result<usize, ConfigError> {
        let same = self.known.entry(written.identities[0].certificate.at).or_default();
        if let Some(index) = same.iter().find(|index| self.read[**index].written == *written) {
            return Ok(*index);
        }
        self.read.push(Read { written: written.clone(), settings: written.load()? });
        same.push(self.read.len() - 1);
        Ok(self.read.len() - 1)
    }

    fn address(&self, blocks: Vec<(Vec<String>, usize)>) -> Result<Address, ConfigError> {
        let first = &self.read[blocks[0].1].written;
        let acceptor = Acceptor::new(self.blocks(&blocks), &self.resumption)
            .map_err(|error| ConfigError::new(first.identities[0].certificate.at, error.to_string()))?;
        Ok(Address { acceptor, blocks })
    }

    fn blocks(&self, blocks: &[(Vec<String>, usize)]) -> Vec<(Vec<String>, hayami_tls::Settings)> {
        blocks.iter().map(|(names, index)| (names.clone(), self.read[*index].settings.clone())).collect()
    }
}

impl Read {
    fn jobs(&self) -> impl Iterator<Item = Job> {
        let identities = self.settings.identities.iter().zip(&self.written.identities);
        // Nobody says of a raw public key whether it was revoked.
        identities.filter(|(identity, _)| !identity.is_raw_public_key()).map(|(identity, files)| Job {
            certificate_file: files.certificate.path.clone(),
            chain: identity.chain().map(<[u8]>::to_vec).collect(),
            staple: Arc::clone(identity.staple()),
            settings: self.written.ocsp.settings(files),
        })
    }

    fn reload(&mut self, reloaded: &mut Reloaded) {
        match self.written.load() {
            Ok(mut new) => {
                reloaded.certificates += new.identities.len();
                let files = self.written.identities.iter();
                for ((new, old), files) in new.identities.iter_mut().zip(&self.settings.identities).zip(files)
                {
                    if !new.chain().eq(old.chain()) {
                        reloaded.changed += 1;
                    } else if files.ocsp.is_none() {
                        // With the OCSP response that was fetched for it.
                        *new = old.clone();
                    }
                }
                self.settings = new;
            }
            Err(error) => {
                let line = error.line();
                // One file may be named in several places.
                if !reloaded.failed.contains(&line) {
                    reloaded.failed.push(line);
                }
            }
        }
    }
}
