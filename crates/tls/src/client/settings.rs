//! What a client offers, and whom it believes.

use crate::choice::Offer;
use crate::{Alpn, Group, Identity, Suite, Trust, Version};
use std::time::Duration;

/// The settings of a [`crate::Connector`]: plain data, all files read.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Whose certificates are believed.
    pub trust: Trust,
    /// The protocols to be asked for (RFC 7301), most wanted first; with none the server isn't asked.
    pub alpn: Vec<Alpn>,
    /// The lowest version offered.
    pub min_version: Version,
    /// The highest version offered.
    pub max_version: Version,
    /// TLS 1.2 suites, most wanted first; `None` for ours.
    pub suites_tls12: Option<Vec<Suite>>,
    /// TLS 1.3 suites, most wanted first; `None` for ours.
    pub suites_tls13: Option<Vec<Suite>>,
    /// Groups of the key exchange, most wanted first (the first one's key goes with the ClientHello); `None`
    /// for ours, the post-quantum hybrid first.
    pub groups: Option<Vec<Group>>,
    /// Who we say we are, to servers that ask.
    pub identity: Option<Identity>,
    /// What to ask for by SNI (RFC 6066 §3) and to find in the certificate, whatever the server's name is.
    pub server_name: Option<String>,
    /// Sessions are taken up again: tickets of TLS 1.3 once each, the last session of TLS 1.2.
    pub resumption: bool,
    /// What bounds them.
    pub sessions: Sessions,
}

/// What bounds the sessions that are kept to be taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// For how long one is of use, if the server did not say less.
    pub lifetime: Duration,
    /// How many are kept, of all servers together.
    pub capacity: usize,
}

impl Default for Sessions {
    /// A day, and 4,096: those of h2o.
    fn default() -> Self {
        Self { lifetime: Duration::from_secs(86_400), capacity: 4096 }
    }
}

impl ClientSettings {
    /// Everything we can, HTTP/2 before HTTP/1.1, with resumption.
    pub fn new(trust: Trust) -> Self {
        Self {
            trust,
            alpn: vec![Alpn::H2, Alpn::Http11],
            min_version: Version::Tls12,
            max_version: Version::Tls13,
            suites_tls12: None,
            suites_tls13: None,
            groups: None,
            identity: None,
            server_name: None,
            resumption: true,
            sessions: Sessions::default(),
        }
    }

    pub(crate) fn offer(&self) -> Offer<'_> {
        Offer {
            min_version: self.min_version,
            max_version: self.max_version,
            suites_tls12: self.suites_tls12.as_deref(),
            suites_tls13: self.suites_tls13.as_deref(),
            groups: self.groups.as_deref(),
        }
    }
}
