//! Errors of binding, with their exit codes.

use crate::exit::Failure;
use hayami_net::listen::{Endpoint, explain as explained};
use std::io::{self, ErrorKind};

/// Why an address cannot be bound.
pub(super) fn failure(endpoint: &Endpoint, error: &io::Error) -> Failure {
    let text = explained(endpoint, error);
    match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => Failure::Unavailable(text),
        ErrorKind::PermissionDenied => Failure::NoPermission(text),
        _ => Failure::System(text),
    }
}
