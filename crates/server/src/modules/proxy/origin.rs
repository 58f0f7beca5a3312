//! How an upstream is spoken to, as `proxy.*` says.

use super::{Settings, Streaming, Url};
use hayami_client::{Origin, Timeouts};
use hayami_net::dial::Peer;
use hayami_tls::Error;

/// Connections to an upstream that may wait for requests. They were all busy a moment ago, so what bounds
/// them is the load; this bounds what a burst leaves behind. Fewer than there are requests at a time would be worse: each
/// burst would open what the one before has closed.
const IDLE: usize = 16 * 1024;

/// An upstream with that URL and these addresses.
///
/// # Errors
/// It is spoken to over TLS, and this machine trusts nobody.
pub(in crate::modules) fn origin(url: &Url, peers: Vec<Peer>, settings: &Settings) -> Result<Origin, Error> {
    let super::Timeouts { io, connect, first_byte, keep_alive } = settings.timeouts;
    let (connect, first_byte) = (connect.unwrap_or(io), first_byte.unwrap_or(io));
    let tls = settings.tls.origin(url)?;
    let mut origin = Origin {
        peers,
        protocol: settings.http2.protocol(tls.is_some()),
        tls,
        limits: Default::default(),
        streams: settings.http2.streams,
        buffer: settings.http2.buffer,
        timeouts: Timeouts { connect, first_byte, io, keep_alive },
        idle: if keep_alive.is_zero() || settings.proxy_options.announce.is_some() { 0 } else { IDLE },
    };
    // An upstream is trusted with lengths: what it sends is passed on, not kept.
    origin.limits.content = u64::MAX;
    Ok(origin)
}

impl Settings {
    /// What makes a difference to connections, and nothing else: paths in which it is the same share them.
    pub(super) fn of_connections(&self) -> Self {
        let proxy_options = self.proxy_options.of_connections();
        Self {
            preserve_host: false,
            commands: Vec::new(),
            underscores: false,
            keeps_location: false,
            streaming: Streaming::default(),
            proxy_options,
            ..self.clone()
        }
    }
}
