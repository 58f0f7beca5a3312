//! The configuration of handshakes of one block of settings.

use super::Shared;
use super::resolver::ByName;
use crate::{Error, Resumption, Settings};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use std::sync::Arc;

pub(super) fn build(settings: &Settings, by_name: ByName, resumption: &Resumption) -> Result<Shared, Error> {
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
    let mut config = builder.with_cert_resolver(Arc::new(by_name));
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
    let resumption = match &settings.client_ca {
        None => resumption.clone(),
        // A session made where anyone may connect must not open the door here.
        Some(authorities) => resumption.scoped(&authorities.certificates().collect::<Vec<_>>().concat()),
    };
    let sessions = resumption.sessions;
    config.session_storage = sessions.clone();
    if settings.early_data == 0 {
        config.ticketer = resumption.tickets;
    } // else none: a ticket is good any number of times, a session in the store is taken once (RFC 8446 §8.1)
    Ok(Shared { config: Arc::new(config), sessions })
}
