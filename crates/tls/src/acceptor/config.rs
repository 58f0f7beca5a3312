//! The configuration of handshakes of one block of settings.

use super::Shared;
use super::resolver::ByName;
use crate::choice::{suites_tls12, suites_tls13};
use crate::{Error, Group, Resumption, Settings, Suite, Version};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::WebPkiClientVerifier;
use rustls::{ServerConfig, SupportedCipherSuite, SupportedProtocolVersion, version};
use std::sync::Arc;

pub(super) fn build(settings: &Settings, by_name: ByName, resumption: &Resumption) -> Result<Shared, Error> {
    let provider = Arc::new(provider(settings)?);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions(settings))
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
        true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        false => vec![b"http/1.1".to_vec()],
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

fn versions(settings: &Settings) -> Vec<&'static SupportedProtocolVersion> {
    let spoken = |version: &Version| (settings.min_version..=settings.max_version).contains(version);
    let all = [(Version::Tls13, &version::TLS13), (Version::Tls12, &version::TLS12)];
    all.into_iter().filter(|(version, _)| spoken(version)).map(|(_, theirs)| theirs).collect()
}

fn provider(settings: &Settings) -> Result<CryptoProvider, Error> {
    if settings.min_version > settings.max_version {
        return Err(Error(format!(
            "minimum-version {} is above maximum-version {}; raise the one or lower the other",
            settings.min_version.name(),
            settings.max_version.name()
        )));
    }
    let mut provider = aws_lc_rs::default_provider();
    let ours = provider.cipher_suites;
    let of = |tls13: bool| ours.iter().copied().filter(move |suite| (suite.tls13().is_some()) == tls13);
    let tls13 = chosen(&settings.suites_tls13, of(true));
    let tls12 = chosen(&settings.suites_tls12, of(false));
    for (version, left, directive, can) in [
        (Version::Tls13, &tls13, "cipher-suite-tls1.3", every_name_tls13()),
        (Version::Tls12, &tls12, "cipher-suite", every_name_tls12()),
    ] {
        if left.is_empty() && (settings.min_version..=settings.max_version).contains(&version) {
            return Err(Error(format!("{directive} leaves no cipher suite; there are {can}")));
        }
    }
    provider.cipher_suites = tls13.into_iter().chain(tls12).collect();
    if let Some(groups) = &settings.groups {
        if groups.is_empty() {
            return Err(Error("key-exchange leaves no group; there are X25519MLKEM768, x25519, secp256r1, secp384r1, SecP256r1MLKEM768".to_owned()));
        }
        provider.kx_groups = groups.iter().map(|Group(group)| *group).collect();
    }
    Ok(provider)
}

fn chosen(
    wanted: &Option<Vec<Suite>>,
    ours: impl Iterator<Item = SupportedCipherSuite>,
) -> Vec<SupportedCipherSuite> {
    match wanted {
        Some(wanted) => wanted.iter().map(|Suite(suite)| *suite).collect(),
        None => ours.collect(),
    }
}

fn every_name_tls13() -> String {
    let names = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
    suites_tls13(names).chosen.into_iter().map(Suite::name).collect::<Vec<_>>().join(", ")
}

fn every_name_tls12() -> String {
    suites_tls12("ALL").chosen.into_iter().map(Suite::openssl_name).collect::<Vec<_>>().join(", ")
}
