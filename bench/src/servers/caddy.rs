//! Caddy with its own defaults. `GOMAXPROCS` is set only because its default counts the cores of the machine,
//! not the one it is pinned to.

use std::process::Command;

use super::{Site, first_line, program, write};
use crate::workload::Wire;

pub(super) fn version() -> Result<String, String> {
    first_line(&program("caddy"), "version", "caddy").map(|line| format!("Caddy {line}"))
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    let file = write(site, "Caddyfile", &configuration(site))?;
    let mut command = Command::new(program("caddy"));
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(file);
    // It stores certificate state in its home.
    command.env("HOME", &site.folder).env("GOMAXPROCS", site.workers.to_string());
    Ok(command)
}

fn configuration(site: &Site<'_>) -> String {
    let (scheme, tls) = match site.wire {
        Wire::Http1 | Wire::Http2 => ("http", String::new()),
        Wire::Http2Tls => {
            let (certificate, key) = (site.identity.certificate.display(), site.identity.key.display());
            ("https", format!("  tls {certificate} {key}\n"))
        }
    };
    format!(
        "{{\n  admin off\n  auto_https off\n}}\n{scheme}://:{port} {{\n  bind {ip}\n{tls}  root * {documents}\n  \
         file_server\n}}\n",
        port = site.address.port(),
        ip = site.address.ip(),
        documents = site.documents.display(),
    )
}
