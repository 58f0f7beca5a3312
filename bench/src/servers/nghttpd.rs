//! nghttpd, the server of nghttp2, with its own defaults. It supports HTTP/2 only and has no configuration
//! file.

use std::process::Command;

use super::{Site, first_line, program};
use crate::workload::Wire;

pub(super) fn version() -> Result<String, String> {
    first_line(&program("nghttpd"), "--version", "nghttp2-server")
}

pub(super) fn command(site: &Site<'_>) -> Command {
    let mut command = Command::new(program("nghttpd"));
    command.arg(format!("--address={}", site.address.ip())).arg("-d").arg(site.documents);
    let port = site.address.port().to_string();
    match site.wire {
        Wire::Http1 | Wire::Http2 => command.arg("--no-tls").arg(port),
        Wire::Http2Tls => command.arg(port).arg(&site.identity.key).arg(&site.identity.certificate),
    };
    command
}
