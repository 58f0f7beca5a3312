//! The client's role: a [`Connector`] built from [`ClientSettings`], and the [`ClientSession`]s started with it.
//!
//! `session` differs from the server's only in its first bytes; `side` has what the shared code needs from a
//! role. `trust` verifies certificates, `store` keeps resumable sessions, `tls_error` describes why a
//! handshake failed.

mod session;
mod settings;
mod side;
mod store;
#[cfg(test)]
mod tests;
mod tls_error;
mod trust;

pub use session::{ClientSession, ClientSide};
pub use settings::{ClientSettings, Sessions};
pub use trust::Trust;

use crate::{Alpn, Error};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use std::sync::Arc;

/// The configuration of connections to servers: offers, trust, and the sessions that may be resumed. A clone
/// shares the sessions.
#[derive(Clone, Debug)]
pub struct Connector {
    config: Arc<ClientConfig>,
    /// Replaces every server name.
    server_name: Option<ServerName<'static>>,
}

impl Connector {
    /// # Errors
    /// The settings leave nothing to offer or no authority to trust, or the name is invalid.
    pub fn new(settings: &ClientSettings) -> Result<Self, Error> {
        let offer = settings.offer();
        let provider = Arc::new(offer.provider()?);
        let verifier = settings.trust.verifier(&provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&offer.versions())
            .map_err(|error| Error(format!("these TLS settings are unusable: {error}")))?
            .dangerous() // rustls calls every custom verifier so
            .with_custom_certificate_verifier(verifier);
        let mut config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some(identity) if identity.is_raw_public_key() => {
                let file = identity.certificate_file().display();
                return Err(Error(format!(
                    "{file}: a public key is not a certificate; clients must present certificates"
                )));
            }
            Some(identity) => {
                let certified = CertifiedKey::new(identity.chain.clone(), identity.key.clone());
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
            }
        };
        config.enable_secret_extraction = true; // records are handled in `session::records`, not by rustls
        config.alpn_protocols = settings.alpn.iter().map(|alpn| Alpn::id(*alpn).to_vec()).collect();
        config.resumption = match settings.resumption {
            true => Resumption::store(Arc::new(store::Store::new(settings.sessions))),
            false => Resumption::disabled(),
        };
        let server_name = settings.server_name.as_deref().map(name).transpose()?;
        Ok(Self { config: Arc::new(config), server_name })
    }

    /// Checks that a session can be begun with a server of that name.
    ///
    /// # Errors
    /// It is neither a name nor an address.
    pub fn check_name(server_name: &str) -> Result<(), Error> {
        name(server_name).map(drop)
    }
}

/// A name or address as URLs have it; IPv6 with or without its brackets (RFC 3986 §3.2.2).
fn name(text: &str) -> Result<ServerName<'static>, Error> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    // The trailing dot is not part of the name that is sent (RFC 6066 §3).
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    let name = ServerName::try_from(bare).map_err(|_| {
        Error(format!(
            "'{text}' is neither a host name nor an address; a certificate can't be checked for it"
        ))
    })?;
    Ok(name.to_owned())
}
