//! The scope of a session: what the server presented and required when the session began.
//!
//! Resumption neither sends a certificate nor verifies the client's again. So a session is resumed only where
//! the full handshake would have been equivalent: with the same certificates, client authorities, versions,
//! suites and groups. The scope is a digest of their content. Listeners with the same configuration share
//! sessions, and so do machines that share a store or ticket keys; a reload keeps the sessions whose
//! certificates stay.
//!
//! rustls leaves this to its callers (its documentation of `ServerConfig`, on sharing resumption storage); within a
//! scope it compares the server's name.

use crate::{Group, Settings, Suite};
use aws_lc_rs::digest::{SHA256, digest};

/// The scope of sessions that begin with these settings.
pub(super) fn of(settings: &Settings) -> Vec<u8> {
    let mut scope = b"hayami 1".to_vec();
    // The first certificate has the names and the key; those of its issuers add nothing about the server.
    let certificates = settings.identities.iter().filter_map(|identity| identity.chain().next());
    add(&mut scope, certificates.map(hash));
    let authorities = settings.client_ca.iter().flat_map(|authorities| authorities.certificates());
    scope.push(settings.client_ca.is_some().into());
    add(&mut scope, authorities.map(hash));
    for version in [settings.min_version, settings.max_version] {
        scope.extend_from_slice(version.name().as_bytes());
    }
    for suites in [&settings.suites_tls12, &settings.suites_tls13] {
        add_names(&mut scope, suites.as_deref(), Suite::name);
    }
    add_names(&mut scope, settings.groups.as_deref(), Group::name);
    scope
}

/// The default choice, which changes with hayami's version, adds no names.
fn add_names<T: Copy>(scope: &mut Vec<u8>, chosen: Option<&[T]>, name: fn(T) -> &'static str) {
    scope.push(chosen.is_some().into());
    add(scope, chosen.unwrap_or_default().iter().map(|one| hash(name(*one).as_bytes())));
}

/// The order is irrelevant: a handshake chooses one of them.
fn add(scope: &mut Vec<u8>, hashes: impl Iterator<Item = [u8; 32]>) {
    let mut hashes: Vec<_> = hashes.collect();
    hashes.sort_unstable();
    scope.extend_from_slice(&(hashes.len() as u64).to_be_bytes());
    scope.extend(hashes.into_iter().flatten());
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}
