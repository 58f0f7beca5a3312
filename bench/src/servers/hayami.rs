//! hayami, built from this tree, as shipped: the listening address and what to serve, no other directive.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::{Site, Upstream, first_line, write};
use crate::workload::Wire;

/// The binary that `cargo build --release` produces.
pub(super) fn binary() -> PathBuf {
    release_folder().join("hayami")
}

/// The folder of release binaries of this build.
pub(super) fn release_folder() -> PathBuf {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(tree).join("target"), PathBuf::from);
    target.join("release")
}

pub(super) fn version() -> Result<String, String> {
    first_line(&binary(), "--version", "none: `cargo build --release` makes it")
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    let mut command = Command::new(binary());
    let workers = if site.workers > 1 { format!("num-threads: {}\n", site.workers) } else { String::new() };
    command.arg("-c").arg(write(site, "hayami.conf", &format!("{workers}{}", configuration(site)))?);
    Ok(command)
}

/// The configuration for both h2o and hayami: the language is the same.
pub(super) fn configuration(site: &Site<'_>) -> String {
    let (ip, port) = (site.address.ip(), site.address.port());
    let ssl = match site.wire {
        Wire::Http1 | Wire::Http2 => String::new(),
        Wire::Http2Tls => format!(
            "  ssl:\n    certificate-file: {}\n    key-file: {}\n",
            site.identity.certificate.display(),
            site.identity.key.display()
        ),
    };
    format!(
        "listen:\n  host: {ip}\n  port: {port}\n{ssl}{}hosts:\n  default:\n    paths:\n      /:\n{}",
        patience(site),
        handler(site)
    )
}

/// How requests are handled.
fn handler(site: &Site<'_>) -> String {
    let documents = site.documents.display();
    match site.upstream {
        None => format!("        file.dir: {documents}\n"),
        Some(Upstream::Http(address)) => format!("        proxy.reverse.url: http://{address}/\n"),
        // As in h2o's documentation for PHP.
        Some(Upstream::Php(address)) => format!(
            "        file.dir: {documents}
        file.custom-handler:
          extension: .php
          fastcgi.connect: {{host: {}, port: {}, type: tcp}}
",
            address.ip(),
            address.port()
        ),
    }
}

/// Both close an idle HTTP/2 connection after ten seconds, which is too early when ten thousand are opened first.
fn patience(site: &Site<'_>) -> &'static str {
    let many_over_http2 = site.connections.is_some() && site.wire != Wire::Http1;
    if many_over_http2 { "http2-idle-timeout: 300\n" } else { "" }
}
