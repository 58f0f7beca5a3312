//! The result of a CONNECT: the status, the log message, and the `proxy-status` field (RFC 9209).

use hayami_http::Status;
use hayami_net::blocking;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;

/// Why there is no tunnel.
#[derive(Debug)]
pub(super) enum Failure {
    /// The rules deny all of its addresses.
    Denied,
    /// Its name has no addresses, or the lookup failed.
    Unknown(io::Error),
    /// The lookup timed out.
    LookupTimeout,
    /// No connection could be made.
    Unreachable(io::Error),
}

impl Failure {
    /// The status, and the type of error for `proxy-status` (RFC 9209 §2.3).
    fn kind(&self) -> (Status, &'static str) {
        match self {
            Self::Denied => (Status::FORBIDDEN, "destination_ip_prohibited"),
            Self::Unknown(error) if blocking::is_refused(error) => {
                (Status::SERVICE_UNAVAILABLE, "proxy_internal_error")
            }
            Self::Unknown(_) => (Status::BAD_GATEWAY, "dns_error"),
            Self::LookupTimeout => (Status::GATEWAY_TIMEOUT, "dns_timeout"),
            Self::Unreachable(error) if error.kind() == io::ErrorKind::TimedOut => {
                (Status::GATEWAY_TIMEOUT, "connection_timeout")
            }
            Self::Unreachable(error) => match Errno::from_io_error(error) {
                Some(Errno::CONNREFUSED) => (Status::BAD_GATEWAY, "connection_refused"),
                Some(Errno::NETUNREACH | Errno::HOSTUNREACH) => {
                    (Status::BAD_GATEWAY, "destination_ip_unroutable")
                }
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL) => {
                    (Status::SERVICE_UNAVAILABLE, "proxy_internal_error")
                }
                _ => (Status::BAD_GATEWAY, "destination_unavailable"),
            },
        }
    }

    /// The status of the response.
    pub(super) fn status(&self) -> Status {
        self.kind().0
    }

    /// The log message.
    pub(super) fn reason(&self, target: &str) -> String {
        match self {
            Self::Denied => {
                format!("CONNECT {target}: the rules of proxy.connect deny all of its addresses")
            }
            Self::Unknown(error) => format!("CONNECT {target}: cannot resolve the host name: {error}"),
            Self::LookupTimeout => format!("CONNECT {target}: resolving the host name timed out"),
            Self::Unreachable(error) if error.kind() == io::ErrorKind::TimedOut => {
                format!("CONNECT {target}: timed out while connecting")
            }
            Self::Unreachable(error) => format!("CONNECT {target}: {error} while connecting"),
        }
    }

    /// The value of `proxy-status`.
    pub(super) fn proxy_status(&self, identity: &str) -> String {
        format!("\"{identity}\"; error={}", self.kind().1)
    }
}

/// The value of `proxy-status` for a tunnel.
pub(super) fn connected(identity: &str, to: SocketAddr) -> String {
    format!("\"{identity}\"; next-hop=\"{}\"", to.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_status_and_its_words() {
        let io = |errno: Errno| Failure::Unreachable(errno.into());
        let cases = [
            (Failure::Denied, 403, "destination_ip_prohibited", "deny all of its addresses"),
            (
                Failure::Unknown(io::ErrorKind::NotFound.into()),
                502,
                "dns_error",
                "cannot resolve the host name",
            ),
            (
                Failure::Unknown(io::ErrorKind::ResourceBusy.into()),
                503,
                "proxy_internal_error",
                "cannot resolve the host name",
            ),
            (Failure::LookupTimeout, 504, "dns_timeout", "resolving the host name timed out"),
            (Failure::Unreachable(io::ErrorKind::TimedOut.into()), 504, "connection_timeout", "timed out"),
            (io(Errno::CONNREFUSED), 502, "connection_refused", "refused"),
            (io(Errno::NETUNREACH), 502, "destination_ip_unroutable", "while connecting"),
            (io(Errno::MFILE), 503, "proxy_internal_error", "open files"),
            (io(Errno::CONNRESET), 502, "destination_unavailable", "reset"),
        ];
        for (failure, code, kind, words) in cases {
            assert_eq!(failure.status().code(), code, "{failure:?}");
            assert_eq!(failure.proxy_status("a"), format!("\"a\"; error={kind}"));
            let reason = failure.reason("b:1");
            assert!(reason.starts_with("CONNECT b:1: ") && reason.contains(words), "{reason}");
        }
    }
}
