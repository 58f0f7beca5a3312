//! Describes why a connection failed, in a line for the user.

use super::Failure;
use hayami_tls::Fault;
use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// A line, usually a constant.
pub(crate) type Why = Cow<'static, str>;

/// The server sent something that ends the connection.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) failure: Failure,
    pub(super) why: Why,
}

pub(super) const RESET: &str = "connection reset by the server";
pub(super) const CLOSED_UNANSWERED: &str = "the server closed the connection before it answered";
pub(super) const CLOSED_SHORT: &str = "the server closed the connection in the middle of a response";
pub(super) const CLOSED_HANDSHAKE: &str = "the server closed the connection during the TLS handshake";
pub(super) const NO_HTTP2: &str = "the server did not agree to HTTP/2 (ALPN); leave out --http 2";
pub(super) const NO_NAME: &str = "the host is not a name that a certificate can be checked for";
/// Requests after the one that ended their connection.
pub(super) const OTHERS: &str =
    "the connection ended before their turn (other requests of failed connections)";

/// The kinds of failures, as reports call them.
/// A system error of a connection, in the words that users search for.
pub(super) fn system(error: &io::Error) -> Why {
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".into(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => RESET.into(),
        ErrorKind::TimedOut => "the host does not answer (connection timed out)".into(),
        ErrorKind::HostUnreachable => "no route to the host".into(),
        ErrorKind::NetworkUnreachable => "the network is unreachable".into(),
        ErrorKind::AddrNotAvailable => "no local port is left; add addresses with --source".into(),
        // A unix socket whose queue is full.
        ErrorKind::WouldBlock => "the server's queue of connections is full".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_lowercase().into()
        }
    }
}

/// Why TLS failed.
pub(super) fn tls(fault: &Fault) -> Why {
    match fault {
        Fault::PlainHttp => "the server answers in plain HTTP: use http://".into(),
        Fault::NotTls => "the server does not speak TLS on this port".into(),
        Fault::Handshake(why) => why.clone().into(),
        Fault::Alert(_) => fault.to_string().replacen("the peer sent", "the server sent", 1).into(),
        other => format!("TLS: {other}").into(),
    }
}

/// Identifies the server's protocol by its first bytes, if it is not the request's.
pub(super) fn other_protocol(input: &[u8], http1: bool) -> Option<Why> {
    // The header of a SETTINGS frame, which comes first (RFC 9113 §3.4): three bytes of length, the type 4.
    let is_settings = input.len() >= 9 && input[0] == 0 && input[3] == 4 && input[5..9] == [0; 4];
    match input {
        // An alert or a handshake message of TLS (RFC 8446 §5.1).
        [21 | 22, 3, ..] if http1 => Some("the server answers in TLS: use https://".into()),
        _ if http1 && is_settings => Some("the server answers in HTTP/2: add --http 2".into()),
        [b'H', b'T', b'T', b'P', b'/', b'1', ..] if !http1 => {
            Some("the server answers in HTTP/1 and does not support HTTP/2 here: leave out --http 2".into())
        }
        _ => None,
    }
}

/// What timed out.
pub(super) fn late(what: &str, nanos: u64) -> Why {
    format!("{what} within {:?}", Duration::from_nanos(nanos)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_no_numbers() {
        for (number, want) in [
            (111, "connection refused"),
            (104, RESET),
            (32, RESET),
            (110, "the host does not answer (connection timed out)"),
            (113, "no route to the host"),
            (24, "too many open files"),
        ] {
            assert_eq!(system(&io::Error::from_raw_os_error(number)), want);
        }
        assert_eq!(late("no response", 300_000_000), "no response within 300ms");
        assert_eq!(late("no response", 10_000_000_000), "no response within 10s");
    }

    #[test]
    fn another_protocol_is_recognised_by_its_first_bytes() {
        let alert = [21, 3, 3, 0, 2, 2, 50];
        let settings = [0, 0, 18, 4, 0, 0, 0, 0, 0, 0, 3];
        for (input, http1, want) in [
            (&alert[..], true, Some("use https://")),
            (&settings, true, Some("add --http 2")),
            (b"HTTP/1.1 400 Bad Request\r\n", false, Some("leave out --http 2")),
            (b"SSH-2.0", true, None),
            (&settings, false, None),
        ] {
            let said = other_protocol(input, http1);
            assert_eq!(said.is_some(), want.is_some(), "{input:?}");
            assert!(want.is_none_or(|want| said.is_some_and(|said| said.ends_with(want))), "{input:?}");
        }
    }
}
