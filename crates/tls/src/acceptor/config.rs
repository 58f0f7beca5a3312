//! The configuration of handshakes of one block of settings.

use super::resolver::Certificates;
use super::{Shared, scope};
use crate::{Error, Resumption, Settings, Version};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use std::sync::Arc;

/// The part shared by blocks that differ only in their identities.
pub(super) struct Handshakes(ServerConfig);

impl Handshakes {
    /// # Errors
    /// The settings leave nothing to offer.
    pub(super) fn new(settings: &Settings, resumption: &Resumption) -> Result<Self, Error> {
        let offer = settings.offer();
        let provider = Arc::new(offer.provider()?);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&offer.versions())
            .map_err(|error| Error(format!("these TLS settings are unusable: {error}")))?;
        let builder = match &settings.client_ca {
            None => builder.with_no_client_auth(),
            // As `ssl_verify_client on` in nginx: no certificate, no connection.
            Some(authorities) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(authorities.roots.clone(), provider)
                    .build()
                    .map_err(|error| Error(format!("client-ca-file: {error}")))?,
            ),
        };
        let mut config = builder.with_cert_resolver(Arc::new(Certificates::default()));
        config.ignore_client_order = settings.server_preference;
        config.enable_secret_extraction = true; // records are handled in `session::records`, not by rustls
        config.alpn_protocols = match settings.alpn_h2 {
            true => vec![b"h2".to_vec(), b"http/1.1".to_vec(), b"http/1.0".to_vec()],
            false => vec![b"http/1.1".to_vec(), b"http/1.0".to_vec()],
        };
        config.max_early_data_size = settings.early_data;
        // Requests in early data are answered at once, which is the purpose of early data (RFC 8446 §2.3).
        config.send_half_rtt_data = settings.early_data > 0;
        config.send_tls13_tickets = resumption.tickets_tls13;
        Ok(Self(config))
    }

    /// The configuration with the identities of `settings`, and the sessions that belong to them.
    pub(super) fn with(&self, settings: &Settings, resumption: &Resumption) -> Shared {
        let resumption = resumption.scoped(&scope::of(settings));
        let mut config = self.0.clone();
        config.cert_resolver = Arc::new(Certificates::new(&settings.identities));
        config.session_storage = resumption.sessions.clone();
        if settings.early_data == 0 {
            config.ticketer = resumption.tickets;
        } // otherwise none: a ticket can be used any number of times, a session in the store only once (RFC 8446 §8.1)
        let has_suite = config.crypto_provider().cipher_suites.iter().any(|suite| suite.tls13().is_some());
        let speaks_tls13 = settings.max_version >= Version::Tls13 && has_suite;
        Shared { config: Arc::new(config), sessions: resumption.sessions, speaks_tls13 }
    }
}
