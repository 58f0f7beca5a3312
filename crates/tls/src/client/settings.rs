//! What a client offers, and which certificates it trusts.

use crate::choice::Offer;
use crate::{Alpn, Group, Identity, Suite, Trust, Version};
use std::time::Duration;

/// The settings of a [`crate::Connector`]: plain data, all files read.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Which certificates are trusted.
    pub trust: Trust,
    /// The ALPN protocols (RFC 7301), in order of preference; with none, ALPN is not sent.
    pub alpn: Vec<Alpn>,
    /// The lowest version offered.
    pub min_version: Version,
    /// The highest version offered.
    pub max_version: Version,
    /// TLS 1.2 suites, in order of preference; `None` for the defaults.
    pub suites_tls12: Option<Vec<Suite>>,
    /// TLS 1.3 suites, in order of preference; `None` for the defaults.
    pub suites_tls13: Option<Vec<Suite>>,
    /// Groups of the key exchange, in order of preference (the ClientHello carries a key share of the first);
    /// `None` for the defaults, the post-quantum hybrid first.
    pub groups: Option<Vec<Group>>,
    /// The client certificate for servers that request one.
    pub identity: Option<Identity>,
    /// The name sent as SNI (RFC 6066 §3) and verified in the certificate, instead of the server's name.
    pub server_name: Option<String>,
    /// Sessions are resumed: TLS 1.3 tickets once each, the last session of TLS 1.2.
    pub resumption: bool,
    /// Their bounds.
    pub sessions: Sessions,
}

/// The bounds of the sessions kept for resumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// How long a session can be resumed, unless the server says less.
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
    /// Everything supported, HTTP/2 before HTTP/1.1, with resumption.
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
