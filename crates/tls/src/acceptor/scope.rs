//! What a session belongs to: to what the server has presented and required when it began.
//!
//! A session that is resumed brings neither a certificate nor a new look at the client's. So it is taken up only where
//! the full handshake would have been the same in that: by the same certificates, client authorities, versions, suites
//! and groups. That is told from their content. So listeners of one configuration share sessions, so do machines that
//! share a store or ticket keys, and a reload keeps those whose certificates stay.
//!
//! rustls leaves this to its callers (its documentation of `ServerConfig`, on sharing resumption storage); within a
//! scope it compares the server's name.

use crate::{Group, Settings, Suite};
use aws_lc_rs::digest::{SHA256, digest};

/// The scope of sessions that begin with these settings.
pub(super) fn of(settings: &Settings) -> Vec<u8> {
    let mut scope = b"hayami 1".to_vec();
    // The first certificate has the names and the key; those of its issuers say nothing more of the server.
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

/// Our own choice, which changes with hayami's version, goes by no names.
fn add_names<T: Copy>(scope: &mut Vec<u8>, chosen: Option<&[T]>, name: fn(T) -> &'static str) {
    scope.push(chosen.is_some().into());
    add(scope, chosen.unwrap_or_default().iter().map(|one| hash(name(*one).as_bytes())));
}

/// The order says nothing: it is one of them that a handshake chooses.
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
