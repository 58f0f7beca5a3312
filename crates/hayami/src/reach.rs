//! Checks whether the server's user can reach what the configuration names: directories to serve, sockets of
//! upstreams, keys.

use crate::access::{first_closed, may_connect, may_read, whoami};
use crate::exit::Failure;
use crate::explain::{Explain, SYSTEM};
use crate::user;
use hayami_server::config::error::ConfigError;
use hayami_server::config::settings::Settings;
use hayami_server::modules::{access, auth, file, listen, rate_limit, upstreams};
use nix::unistd::User;
use std::path::Path;

/// Checks the served files as the user that the server becomes.
///
/// # Errors
/// It cannot enter a directory, or read a file, that it has to serve.
pub(crate) fn check(
    settings: &Settings,
    user: Option<&User>,
    dev_tls: bool,
    explain: &Explain<'_>,
) -> Result<(), Failure> {
    let (errors, missing, warnings) = user::with_rights_of(user, || {
        let (denied, missing): (Vec<_>, Vec<_>) =
            file::unreachable(settings).into_iter().partition(file::Unreachable::is_denied);
        let missing: Vec<_> = missing.iter().map(|own| absence(own, explain)).collect();
        let mut warnings = closed_sockets(settings);
        // Those of --dev-tls are created again by the next start.
        warnings.extend(closed_keys(settings).filter(|_| !dev_tls));
        warnings.extend(closed_lists(settings));
        (denied.iter().map(|own| denial(own, user, explain)).collect::<Vec<_>>(), missing, warnings)
    })?;
    explain.warn(&missing);
    for warning in warnings {
        explain.warn_of(&warning);
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(explain.failures(SYSTEM, &errors)),
    }
}

/// A warning about keys that only root may read: they are read again at SIGHUP, by the server's user.
fn closed_keys(settings: &Settings) -> Option<String> {
    let files: Vec<_> = listen::tls_files(settings).into_iter().filter(|path| !may_read(path)).collect();
    let first = files.first()?.display();
    let others = match files.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "the user {} cannot read {first}{others}: SIGHUP will not renew these certificates; let that user read the \
         files, or restart the server when they change",
        whoami()
    ))
}

/// Warnings about files of addresses and users that the server's user may not read: they are read again by it when they
/// change.
fn closed_lists(settings: &Settings) -> Vec<String> {
    let mut files: Vec<_> =
        access::files(settings).chain(auth::files(settings)).chain(rate_limit::files(settings)).collect();
    files.sort_unstable();
    files.dedup();
    let closed = files.into_iter().filter(|path| !may_read(path));
    closed
        .map(|path| {
            let (user, path) = (whoami(), path.display());
            format!(
                "the user {user} cannot read {path}: changes of this file will not take effect; let that user read \
                 it, or restart the server when it changes"
            )
        })
        .collect()
}

/// A directory or file that is missing, or not what its directive serves.
fn absence(own: &file::Unreachable, explain: &Explain<'_>) -> ConfigError {
    let (fault, remedy) = own.fault();
    explain.at_path(own.directive, &own.written, fault).help(remedy)
}

/// A directory that the server's user cannot enter, and the remedies.
fn denial(own: &file::Unreachable, user: Option<&User>, explain: &Explain<'_>) -> ConfigError {
    let subject = match user {
        Some(user) => format!("the user `{}`, which the server runs as,", user.name),
        None => format!("the user {}", whoami()),
    };
    let path = own.written.display();
    let Some(closed) = first_closed(&own.path) else {
        let message = format!("{subject} cannot read {path}");
        let help = format!("allow it (`chmod o+r {path}`)");
        return explain.at_path(own.directive, &own.written, message).help(help);
    };
    let message = format!("{subject} cannot enter the directory {closed}, so {path} cannot be served");
    let other = match explain.is_folder() {
        true => "serve it by a configuration file with another `user:`",
        false => "set `user:` to one that may enter it",
    };
    let help = format!(
        "let others enter it (`chmod o+x {}`), {other}, or move the files, for example to /srv",
        closed.path.display()
    );
    explain.at_path(own.directive, &own.written, message).help(help)
}

/// Warnings about upstreams whose unix sockets this user may not connect to, or which cannot exist at their
/// path.
fn closed_sockets(settings: &Settings) -> Vec<String> {
    let sockets = upstreams::unix_sockets(settings.global.get::<upstreams::Settings>());
    let fault = |path: &Path| {
        let user = whoami();
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        match first_closed(path) {
            _ if may_connect(path) => match directory {
                Some(directory) if !directory.exists() => Some(format!(
                    "the directory {} does not exist; requests for it get 502 until the socket is there: start the \
                     application, or correct the path",
                    directory.display()
                )),
                _ => None,
            },
            Some(directory) => {
                Some(format!("the user {user} cannot enter the directory {directory}; {FORBIDDEN}"))
            }
            None => Some(format!("the user {user} may not connect to this socket; {FORBIDDEN}")),
        }
    };
    sockets.filter_map(|(shown, path)| Some(format!("upstream {shown}: {}", fault(path)?))).collect()
}

const FORBIDDEN: &str =
    "requests for it get 502 until that changes: allow it, or set `user:` to one that may";
