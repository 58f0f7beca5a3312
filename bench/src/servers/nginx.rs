//! nginx, with its shipped configuration, and tuned step by step as in the published measurements.

use std::path::Path;
use std::process::Command;

use super::{Site, Upstream, first_line, program, write};
use crate::workload::Wire;

/// Changes to the shipped configuration: the steps of scenarios S0 and S4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tuning {
    /// 10,240 connections without a limit on requests per connection, and no access log; otherwise the lines
    /// of the `nginx.conf` in its source: 1,024 connections, an access log. One worker in both cases, as
    /// there is one core.
    wide: bool,
    /// `open_file_cache`: open files and their metadata are cached.
    open_files: bool,
    /// `accept_mutex_delay`: workers without the accept mutex retry after 100 ms.
    delay: bool,
    /// Head and content leave in one packet.
    one_packet: bool,
    /// More streams per connection, full frames, records that hold a frame, a session cache.
    http2: bool,
}

/// As shipped.
pub(super) const SHIPPED: Tuning =
    Tuning { wide: false, open_files: false, delay: false, one_packet: false, http2: false };
/// More connections, as the first tuned row of S0.
pub(super) const WIDE: Tuning = Tuning { wide: true, ..SHIPPED };
/// Also with `open_file_cache`.
pub(super) const FILES: Tuning = Tuning { open_files: true, ..WIDE };
/// Also with `accept_mutex_delay`.
pub(super) const FILES_DELAY: Tuning = Tuning { delay: true, ..FILES };
/// Also with one packet per response: S0's best row, and S4's.
pub(super) const TUNED: Tuning = Tuning { one_packet: true, ..FILES_DELAY };
/// Also with the options of its manual for HTTP/2 and TLS.
pub(super) const HTTP2: Tuning = Tuning { http2: true, ..TUNED };
/// S4's first tuned row.
pub(super) const DELAY: Tuning = Tuning { delay: true, ..WIDE };

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
    let events = if tuning.delay { "accept_mutex_delay 100ms;" } else { "" };
    let default_connections = if tuning.wide { 10_240 } else { 1024 };
    let http = http(tuning);
    let patience = if site.connections.is_some() && site.wire != Wire::Http1 {
        // Opening ten thousand connections over TLS takes longer than its timeout for requests.
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
    let log = if tuning.wide { String::new() } else { format!("  access_log {folder}/access.log;\n") };
    format!(
        "daemon off;
pid {folder}/nginx.pid;
worker_processes {workers};
events {{ worker_connections {connections}; {events} }}
http {{
  {types}
  default_type application/octet-stream;
  sendfile on;
  {http}
  {patience}
{log}{scratch}{pool}  server {{
    listen {address}{listen};
    server_name localhost;
{identity}{location}  }}
}}
",
        address = site.address,
        workers = site.workers,
        pool = pool(site, tuning),
        location = location(site, tuning),
    )
}

/// The pool of upstream connections, which nginx only keeps if configured.
fn pool(site: &Site<'_>, tuning: Tuning) -> String {
    match site.upstream {
        Some(Upstream::Http(address)) if tuning.wide => {
            format!("  upstream app {{ server {address}; keepalive 128; keepalive_requests 100000000; }}\n")
        }
        _ => String::new(),
    }
}

/// How requests are handled. The upstream gets the same forwarding fields as from hayami and h2o.
fn location(site: &Site<'_>, tuning: Tuning) -> String {
    let documents = site.documents.display();
    match site.upstream {
        None => format!("    location / {{ root {documents}; index index.html index.htm; }}\n"),
        Some(Upstream::Http(address)) => {
            let (to, keeping) = match tuning.wide {
                true => ("app".to_owned(), "proxy_http_version 1.1; proxy_set_header Connection \"\";"),
                false => (address.to_string(), ""),
            };
            format!(
                "    location / {{
      proxy_pass http://{to}; {keeping}
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
    }}\n"
            )
        }
        Some(Upstream::Php(address)) => format!(
            "    root {documents};
    location ~ \\.php$ {{
      try_files $uri =404;
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
      fastcgi_pass {address};
    }}\n"
        ),
    }
}

/// The lines of the block `http`.
fn http(tuning: Tuning) -> String {
    let lines = [
        (!tuning.wide, "keepalive_timeout 65;"),
        (tuning.wide, "access_log off;"),
        (tuning.wide, "keepalive_requests 100000000;"),
        (tuning.open_files, "open_file_cache max=100 inactive=20s;"),
        (tuning.one_packet, "tcp_nopush on;"),
        (tuning.http2, "http2_max_concurrent_streams 1024;"),
        (tuning.http2, "http2_chunk_size 16k;"),
        (tuning.http2, "output_buffers 2 128k;"),
        (tuning.http2, "ssl_buffer_size 16k;"),
        (tuning.http2, "ssl_session_cache shared:TLS:20m;"),
    ];
    let wanted: Vec<&str> = lines.into_iter().filter(|(wanted, _)| *wanted).map(|(_, line)| line).collect();
    wanted.join("\n  ")
}

/// The parameters after the address, and the lines for TLS: before 1.23.4, TLS 1.3 must be enabled
/// explicitly, as in Debian's configuration. A cleartext port serves HTTP/2 or HTTP/1.1, not both.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_adds_its_line() {
        let words = ["access_log off", "open_file_cache", "tcp_nopush"];
        for (tuning, expected, delay) in [
            (SHIPPED, 0, false),
            (WIDE, 1, false),
            (FILES, 2, false),
            (FILES_DELAY, 2, true),
            (TUNED, 3, true),
            (HTTP2, 3, true),
            (DELAY, 1, true),
        ] {
            let lines = http(tuning);
            let found = words.iter().filter(|word| lines.contains(*word)).count();
            assert_eq!((found, tuning.delay), (expected, delay), "{tuning:?}");
        }
    }
}
