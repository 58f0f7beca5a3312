//! nginx, with the configuration it ships with, and tuned as the published measurement found best.

use std::path::Path;
use std::process::Command;

use super::{Site, first_line, program, write};
use crate::workload::Wire;

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tuning {
    /// The lines of the `nginx.conf` in its own source: one worker, 1,024 connections, an access log.
    Shipped,
    /// Scenario S0's last nginx row: one worker as there is one core, 10,240 connections, open files
    /// kept, header and body in one packet, connections never closed for their number of requests, no log.
    Tuned,
}

pub(super) fn version() -> Result<String, String> {
    first_line(&program("nginx"), "-v", "nginx-light")
        .map(|line| line.trim_start_matches("nginx version: ").to_owned())
}

pub(super) fn command(site: &Site<'_>, tuning: Tuning) -> Result<Command, String> {
    let file = write(site, "nginx.conf", &configuration(site, tuning))?;
    let mut command = Command::new(program("nginx"));
    command.arg("-p").arg(&site.folder).arg("-c").arg(file).arg("-e").arg(site.folder.join("error.log"));
    Ok(command)
}

fn configuration(site: &Site<'_>, tuning: Tuning) -> String {
    let folder = site.folder.display();
    let (events, http, default_connections) = match tuning {
        Tuning::Shipped => ("", "keepalive_timeout 65;", 1024),
        Tuning::Tuned => (
            "accept_mutex_delay 100ms;",
            "open_file_cache max=100 inactive=20s;\n  tcp_nopush on;\n  access_log off;\n  \
             keepalive_requests 100000000;",
            10240,
        ),
    };
    let patience = if site.connections.is_some() && site.wire != Wire::Http1 {
        // Ten thousand connections over TLS take longer to open than it would wait for requests.
        "keepalive_timeout 300;\n  client_header_timeout 300;"
    } else {
        ""
    };
    let connections = site.connections.unwrap_or(default_connections);
    let types = Path::new("/etc/nginx/mime.types");
    let types = if types.exists() { "include /etc/nginx/mime.types;" } else { "" };
    let scratch: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {folder}/{kind};\n"))
        .concat();
    let (listen, identity) = listen(site);
    let log = if tuning == Tuning::Shipped {
        format!("  access_log {folder}/access.log;\n")
    } else {
        String::new()
    };
    format!(
        "daemon off;
pid {folder}/nginx.pid;
worker_processes 1;
events {{ worker_connections {connections}; {events} }}
http {{
  {types}
  default_type application/octet-stream;
  sendfile on;
  {http}
  {patience}
{log}{scratch}  server {{
    listen {address}{listen};
    server_name localhost;
{identity}    location / {{ root {documents}; index index.html index.htm; }}
  }}
}}
",
        address = site.address,
        documents = site.documents.display(),
    )
}

/// What follows the address, and the lines for TLS: before 1.23.4 TLS 1.3 must be asked for, as Debian's
/// own configuration does. A port in clear speaks HTTP/2 or HTTP/1.1, not both.
fn listen(site: &Site<'_>) -> (&'static str, String) {
    match site.wire {
        Wire::Http1 => ("", String::new()),
        Wire::Http2 => (" http2", String::new()),
        Wire::Http2Tls => (
            " ssl http2",
            format!(
                "    ssl_protocols TLSv1.2 TLSv1.3;\n    ssl_certificate {};\n    ssl_certificate_key {};\n",
                site.identity.certificate.display(),
                site.identity.key.display()
            ),
        ),
    }
}
