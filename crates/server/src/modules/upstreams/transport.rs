//! How upstreams are spoken to: what the paths that use a group say, each for itself.

use crate::modules::fastcgi;
use crate::modules::proxy::{self, Url};
use hayami_client::Origin;
use hayami_net::dial::Peer;
use hayami_tls::Error;

/// What is spoken, with the timeouts and whatever else belongs to a connection. Paths that say the same share
/// connections.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// HTTP, as `proxy.*` says.
    Http(Box<proxy::Settings>),
    /// FastCGI, as `fastcgi.*` says.
    FastCgi(Box<fastcgi::Settings>),
}

impl Transport {
    /// An upstream that is spoken to so.
    ///
    /// # Errors
    /// This machine trusts nobody, and TLS is to be spoken.
    pub(super) fn origin(&self, url: &Url, peers: Vec<Peer>) -> Result<Origin, Error> {
        match self {
            Self::Http(settings) => proxy::origin(url, peers, settings),
            Self::FastCgi(settings) => Ok(settings.origin(peers)),
        }
    }

    /// What connections begin with that are for nobody else.
    pub(super) fn proxy_header(&self) -> Option<Vec<u8>> {
        match self {
            Self::Http(settings) => settings.proxy_options.own_announcement(),
            Self::FastCgi(_) => None,
        }
    }
}
