//! From blocks of settings to configurations of handshakes, each made once.

use super::config::Handshakes;
use super::{Chosen, Shared, no_identity};
use crate::{Error, Identity, Resumption, Settings, Version};
use std::collections::HashMap;

/// The configurations so far.
pub(super) struct Builder<'a> {
    resumption: &'a Resumption,
    pub(super) configs: Vec<Shared>,
    /// Shared by blocks that differ only in their identities.
    handshakes: Vec<(Settings, Handshakes)>,
    /// By the index of those, and the identities.
    known: HashMap<(usize, Vec<usize>), usize>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(resumption: &'a Resumption) -> Self {
        Self { resumption, configs: Vec::new(), handshakes: Vec::new(), known: HashMap::new() }
    }

    /// The configurations of a block.
    ///
    /// # Errors
    /// The settings leave nothing to offer.
    pub(super) fn add(&mut self, settings: &Settings) -> Result<Chosen, Error> {
        let (raw, certificates): (Vec<_>, Vec<_>) =
            settings.identities.iter().cloned().partition(Identity::is_raw_public_key);
        let certificates = self.with(certificates, settings)?;
        let raw = match raw.first() {
            Some(identity) if settings.max_version < Version::Tls13 => {
                let file = identity.certificate_file().display();
                return Err(Error(format!(
                    "{file}: a raw public key is for TLS 1.3 only (RFC 7250), which maximum-version rules out"
                )));
            }
            _ => self.with(raw, &Settings { min_version: Version::Tls13, ..settings.clone() })?,
        };
        let some = certificates.or(raw).ok_or_else(no_identity)?;
        Ok(Chosen { certificates: certificates.unwrap_or(some), raw_public_keys: raw.unwrap_or(some) })
    }

    /// The configuration with these identities; `None` if there are none.
    fn with(&mut self, identities: Vec<Identity>, settings: &Settings) -> Result<Option<usize>, Error> {
        if identities.is_empty() {
            return Ok(None);
        }
        let key = (self.handshakes(settings)?, identities.iter().map(Identity::number).collect());
        if let Some(at) = self.known.get(&key) {
            return Ok(Some(*at));
        }
        let settings = Settings { identities, ..settings.clone() };
        self.configs.push(self.handshakes[key.0].1.with(&settings, self.resumption));
        self.known.insert(key, self.configs.len() - 1);
        Ok(Some(self.configs.len() - 1))
    }

    fn handshakes(&mut self, settings: &Settings) -> Result<usize, Error> {
        if let Some(at) = self.handshakes.iter().position(|(other, _)| other.shares_handshake_with(settings))
        {
            return Ok(at);
        }
        let built = Handshakes::new(settings, self.resumption)?;
        self.handshakes.push((Settings { identities: Vec::new(), ..settings.clone() }, built));
        Ok(self.handshakes.len() - 1)
    }
}
