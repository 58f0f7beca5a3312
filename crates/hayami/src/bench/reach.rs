//! Where a target is: names resolved, and the first address that answers.

use super::plan::reason;
use crate::exit::Failure;
use hayami_load::plan::{Address, Url};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A server that does not take one connection in this time takes none.
const PATIENCE: Duration = Duration::from_secs(5);

/// The address to connect to, after one connection has shown that somebody is there.
///
/// # Errors
/// [`Failure::Unavailable`]: no such host, or nobody listens.
pub(super) fn address(connect_to: Option<&str>, unix: Option<&Path>, url: &Url) -> Result<Address, Failure> {
    if let Some(path) = unix.or(url.unix.as_deref()) {
        return match UnixStream::connect(path) {
            Ok(_) => Ok(Address::Unix(path.to_owned())),
            Err(error) => Err(refused(&path.display().to_string(), &error)),
        };
    }
    let (host, port) = match connect_to {
        Some(text) => {
            // What has no port of its own goes to the URL's.
            let place = Url::parse(text).map_err(|error| Failure::Usage(format!("--connect-to {error}")))?;
            let named = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            (place.host, if named { place.port } else { url.port })
        }
        None => (url.host.clone(), url.port),
    };
    first_that_answers(&host, port)
}

fn first_that_answers(host: &str, port: u16) -> Result<Address, Failure> {
    let addresses = (host, port).to_socket_addrs().map_err(|error| {
        Failure::Unavailable(format!(
            "{host}: no such host ({}); correct the URL, or use --connect-to",
            reason(&error)
        ))
    })?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(Address::Tcp(address)),
            Err(error) => last = Some((address, error)),
        }
    }
    Err(match last {
        Some((address, error)) => refused(&place(host, address), &error),
        None => Failure::Unavailable(format!("{host}: the name has no address; correct the URL")),
    })
}

fn place(host: &str, address: SocketAddr) -> String {
    match address.ip().to_string() == host {
        true => address.to_string(),
        false => format!("{host} ({address})"),
    }
}

fn refused(place: &str, error: &std::io::Error) -> Failure {
    Failure::Unavailable(format!("{place}: {}; start the server, or correct the URL", reason(error)))
}
