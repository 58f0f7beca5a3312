//! The protocol and options of connections to upstreams, as set by each path that uses a group.

use crate::modules::fastcgi;
use crate::modules::proxy::{self, Url};
use hayami_client::Origin;
use hayami_net::dial::Peer;
use hayami_tls::Error;

/// The protocol, with timeouts and other options of connections. Paths with equal transports share connections.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// HTTP, with the `proxy.*` settings.
    Http(Box<proxy::Settings>),
    /// FastCGI, with the `fastcgi.*` settings.
    FastCgi(Box<fastcgi::Settings>),
}

impl Transport {
    /// The origin for an upstream with these addresses.
    ///
    /// # Errors
    /// TLS is required, and the system has no trusted certificates.
    pub(super) fn origin(&self, url: &Url, peers: Vec<Peer>) -> Result<Origin, Error> {
        match self {
            Self::Http(settings) => proxy::origin(url, peers, settings),
            Self::FastCgi(settings) => Ok(settings.origin(peers)),
        }
    }

    /// The PROXY protocol header of connections that carry no client's request: health checks.
    pub(super) fn proxy_header(&self) -> Option<Vec<u8>> {
        match self {
            Self::Http(settings) => settings.proxy_options.own_announcement(),
            Self::FastCgi(_) => None,
        }
    }
}
