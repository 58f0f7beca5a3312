//! Finds a target's address: resolves names, and picks the first address that answers.

use crate::exit::Failure;
use hayami_load::plan::{Address, Url};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A server that does not accept one connection within this time accepts none.
const PATIENCE: Duration = Duration::from_secs(5);

/// The address to connect to, after a connection has shown that it has a listener.
///
/// # Errors
/// [`Failure::Unavailable`]: no such host, or no listener.
pub(super) fn address(connect_to: Option<&str>, unix: Option<&Path>, url: &Url) -> Result<Address, Failure> {
    if let Some(path) = unix.or(url.unix.as_deref()) {
        return match UnixStream::connect(path) {
            Ok(_) => Ok(Address::Unix(path.to_owned())),
            Err(error) => Err(refused(&path.display().to_string(), &error)),
        };
    }
    let (host, port) = match connect_to {
        Some(text) => {
            // Without a port, the URL's is used.
            let place = Url::parse(text).map_err(|error| Failure::Usage(format!("--connect-to {error}")))?;
            let named = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            (place.host, if named { place.port } else { url.port })
        }
        None => (url.host.clone(), url.port),
    };
    first_that_answers(&host, port)
}

fn first_that_answers(host: &str, port: u16) -> Result<Address, Failure> {
    let addresses =
        (host, port).to_socket_addrs().map_err(|error| Failure::Unavailable(unresolved(host, &error)))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(Address::Tcp(address)),
            Err(error) => last = Some((address, error)),
        }
    }
    Err(match last {
        Some((address, error)) => refused(&place(host, address), &error),
        None => Failure::Unavailable(format!("{host}: the name has no address; check the URL")),
    })
}

/// Why a name has no address: a name that does not exist differs from a name server that does not answer.
fn unresolved(host: &str, error: &std::io::Error) -> String {
    let text = reason(error);
    match text.contains("temporary failure") {
        true => format!(
            "{host}: the name servers do not answer (temporary failure in name resolution); try again, or use --connect-to"
        ),
        false => format!("{host}: no such host ({text}); correct the URL, or use --connect-to"),
    }
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

/// An error of the system without its number.
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_that_does_not_answer_is_not_a_wrong_name() {
        let said = |text: &str| unresolved("a.test", &std::io::Error::other(text.to_owned()));
        let lookup = "failed to lookup address information: ";
        let temporary = said(&format!("{lookup}Temporary failure in name resolution"));
        assert!(
            temporary.starts_with("a.test: the name servers do not answer (temporary failure"),
            "{temporary}"
        );
        let wrong = said(&format!("{lookup}Name or service not known"));
        assert!(wrong.starts_with("a.test: no such host (") && wrong.contains("correct the URL"), "{wrong}");
    }
}
