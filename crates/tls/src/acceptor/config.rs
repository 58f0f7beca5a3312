//! The configuration of handshakes of one block of settings.

use super::resolver::Certificates;
use super::{Shared, scope};
use crate::{Error, Resumption, Settings, Version};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use std::sync::Arc;

/// What blocks have in common that differ in their identities only.
pub(super) struct Handshakes(ServerConfig);

impl Handshakes {
    /// # Errors
    /// Settings that leave nothing to offer.
    pub(super) fn new(settings: &Settings, resumption: &Resumption) -> Result<Self, Error> {
        let offer = settings.offer();
        let provider = Arc::new(offer.provider()?);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&offer.versions())
            .map_err(|error| Error(format!("these TLS settings can't be served: {error}")))?;
        let builder = match &settings.client_ca {
            None => builder.with_no_client_auth(),
            // As `ssl_verify_client on` elsewhere: no certificate, no connection.
            Some(authorities) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(authorities.roots.clone(), provider)
                    .build()
                    .map_err(|error| Error(format!("client-ca-file: {error}")))?,
            ),
        };
        let mut config = builder.with_cert_resolver(Arc::new(Certificates::default()));
        config.ignore_client_order = settings.server_preference;
        config.enable_secret_extraction = true; // the record layer is ours: `session::records`
        config.alpn_protocols = match settings.alpn_h2 {
            true => vec![b"h2".to_vec(), b"http/1.1".to_vec(), b"http/1.0".to_vec()],
            false => vec![b"http/1.1".to_vec(), b"http/1.0".to_vec()],
        };
        config.max_early_data_size = settings.early_data;
        // What early data asked for is answered at once, which is what a client sends it for (RFC 8446 §2.3).
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
        } // else none: a ticket is good any number of times, a session in the store is taken once (RFC 8446 §8.1)
        let has_suite = config.crypto_provider().cipher_suites.iter().any(|suite| suite.tls13().is_some());
        let speaks_tls13 = settings.max_version >= Version::Tls13 && has_suite;
        Shared { config: Arc::new(config), sessions: resumption.sessions, speaks_tls13 }
    }
}
