//! The server that counts requests: nginx, tuned as in the races, with its own request counter
//! (`stub_status`) on a separate port. One process serves HTTP/1.1 and, on another port, HTTP/2 without TLS.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::thread;
use std::time::Duration;

use crate::process::{self, Process};
use crate::race::{self, Setup};
use crate::servers::Server;
use crate::workload::PAGE;

/// How long the last requests of a run may take to be counted.
const SETTLE: Duration = Duration::from_millis(50);
/// How often to check that.
const LOOKS: usize = 100;

/// The running server.
pub(super) struct Truth {
    pub(super) process: Process,
    /// The address for HTTP/2 without TLS.
    pub(super) h2c: SocketAddrV4,
    status: SocketAddrV4,
}

impl Truth {
    /// Starts it on the server core.
    ///
    /// # Errors
    /// nginx does not start; one line.
    pub(super) fn start(setup: &Setup) -> Result<Self, String> {
        let folder = setup.guard.folder.join("crosscheck");
        race::prepare(&folder)?;
        let (http1, h2c, status) =
            (process::free_address()?, process::free_address()?, process::free_address()?);
        let command = Server::NginxTuned.command(&setup.plain_site(http1, &folder))?;
        let (file, root) = (folder.join("nginx.conf"), setup.documents.display());
        let more = format!(
            "  server {{ listen {h2c} http2; location / {{ root {root}; index index.html; }} }}\n  \
             server {{ listen {status}; location / {{ stub_status; }} }}\n"
        );
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let text = with_servers(&text, &more).ok_or("nginx.conf: does not end with a block")?;
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let log = folder.join("printed.log");
        let process = Process::start(command, http1, setup.server_core, &log, &setup.guard)?;
        Ok(Self { process, h2c, status })
    }

    /// Requests that the server has received since its start, excluding those to `stub_status`, once no more
    /// arrive. `asked` counts the requests to `stub_status` and is updated.
    ///
    /// # Errors
    /// The server does not report the number, or requests keep arriving.
    pub(super) fn requests(&self, asked: &mut u64) -> Result<u64, String> {
        let mut last = None;
        for _ in 0..LOOKS {
            *asked += 1;
            let now = Status::of(&ask(self.status)?).ok_or("nginx: no stub_status")?;
            let requests = now.requests.saturating_sub(*asked);
            if last == Some(requests) && now.active == 1 {
                return Ok(requests);
            }
            last = Some(requests);
            thread::sleep(SETTLE);
        }
        Err("nginx: requests still come in after the run".to_owned())
    }
}

/// The configuration with more servers appended to its last block.
fn with_servers(text: &str, servers: &str) -> Option<String> {
    let before = text.trim_end().strip_suffix('}')?;
    Some(format!("{before}{servers}}}\n"))
}

/// Fetches the `stub_status` page.
fn ask(address: SocketAddrV4) -> Result<String, String> {
    let exchange = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    exchange().map_err(|error: io::Error| format!("nginx's stub_status: {error}"))
}

/// The values used from it.
#[derive(Debug, PartialEq)]
struct Status {
    /// Open connections, including the one of this request.
    active: u64,
    /// Requests since the start, including this one.
    requests: u64,
}

impl Status {
    fn of(page: &str) -> Option<Self> {
        let rest = |name: &str| page.lines().find_map(|line| line.strip_prefix(name));
        let active = rest("Active connections:")?.trim().parse().ok()?;
        let mut lines = page.lines().skip_while(|line| !line.starts_with("server accepts"));
        let numbers = lines.nth(1)?;
        Some(Self { active, requests: numbers.split_whitespace().nth(2)?.parse().ok()? })
    }
}

/// The target of all requests.
pub(super) fn target() -> &'static str {
    PAGE.target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_stub_status_gives_connections_and_requests() {
        let page = "HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\nActive connections: 3 \n\
                    server accepts handled requests\n 16630948 16630947 31070465 \n\
                    Reading: 0 Writing: 1 Waiting: 2 \n";
        assert_eq!(Status::of(page), Some(Status { active: 3, requests: 31_070_465 }));
        assert_eq!(Status::of("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }

    #[test]
    fn servers_are_added_within_the_last_block() {
        let text = with_servers("events { }\nhttp {\n  server {\n  }\n}\n", "  server { }\n");
        assert_eq!(text.as_deref(), Some("events { }\nhttp {\n  server {\n  }\n  server { }\n}\n"));
        assert_eq!(with_servers("daemon off;", ""), None);
    }
}
