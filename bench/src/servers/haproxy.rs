//! HAProxy with its own defaults, and the same forwarding fields as the others. It requires explicit timeouts;
//! `nbthread` is set only because it would count the cores of the machine, not the one it is pinned to.

use std::process::Command;

use super::{Site, Upstream, first_line, program, write};

pub(super) fn version() -> Result<String, String> {
    first_line(&program("haproxy"), "-v", "haproxy")
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    let Some(Upstream::Http(upstream)) = site.upstream else {
        return Err("HAProxy is a proxy: it serves no files".to_owned());
    };
    let (address, workers) = (site.address, site.workers);
    let connections = site.connections.map(|count| format!("  maxconn {count}\n")).unwrap_or_default();
    let text = format!(
        "global
  nbthread {workers}
{connections}defaults
  mode http
  timeout connect 30s
  timeout client 60s
  timeout server 30s
  option forwardfor
listen app
  bind {address}
  http-request set-header X-Forwarded-Proto http
  server app {upstream}
"
    );
    let mut command = Command::new(program("haproxy"));
    command.arg("-db").arg("-f").arg(write(site, "haproxy.cfg", &text)?);
    Ok(command)
}
