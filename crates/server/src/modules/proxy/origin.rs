//! The origin of an upstream, from the `proxy.*` settings.

use super::{Settings, Streaming, Url};
use hayami_client::{Origin, Timeouts};
use hayami_net::dial::Peer;
use hayami_tls::Error;

/// Idle connections kept per upstream. All were busy a moment ago, so their number is limited by the load; this limits
/// what a burst leaves behind. A limit below the number of concurrent requests would be worse: each burst would open
/// again what was closed after the last.
const IDLE: usize = 16 * 1024;

/// The origin of an upstream with that URL and these addresses.
///
/// # Errors
/// TLS is required, and the system has no trusted certificates.
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
    // No limit: the content is forwarded, not stored.
    origin.limits.content = u64::MAX;
    Ok(origin)
}

impl Settings {
    /// Only the settings that affect connections: paths that agree on them share connections.
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
