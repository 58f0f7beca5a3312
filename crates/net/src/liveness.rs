//! How the kernel finds out that a peer is gone without a word: keep-alive probes (RFC 9293 §3.8.4) and the user timeout
//! (RFC 5482).

use rustix::net::sockopt;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// What sockets of TCP are set to.
///
/// On a listening socket it holds for every connection that is accepted, at no cost for each: Linux copies these options
/// from the one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// Probes on a connection on which nothing moves; `None`: it stays open as long as nobody says otherwise.
    pub probes: Option<Probes>,
    /// How long data may stay unacknowledged, and a probe unanswered (`TCP_USER_TIMEOUT`); `None`: the kernel decides, which
    /// takes a quarter of an hour by default.
    pub user_timeout: Option<Duration>,
}

/// When probes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// How long nothing has moved before the first one (`TCP_KEEPIDLE`).
    pub idle: Duration,
    /// How long after one that was not answered the next one follows (`TCP_KEEPINTVL`).
    pub interval: Duration,
    /// How many may stay without an answer (`TCP_KEEPCNT`). A user timeout stands in the place of it (tcp(7)).
    pub count: u32,
}

impl Default for Probes {
    /// A peer is given up after five minutes. Routers and NATs forget idle connections after a few minutes, so the first
    /// probe comes after one.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), interval: Duration::from_secs(30), count: 8 }
    }
}

impl Default for Liveness {
    /// The user timeout is what the probes take together.
    fn default() -> Self {
        Self { probes: Some(Probes::default()), user_timeout: Some(Duration::from_secs(300)) }
    }
}

impl Liveness {
    /// Leaves everything to the kernel.
    pub const NONE: Self = Self { probes: None, user_timeout: None };

    /// Sets a socket of TCP to it.
    ///
    /// # Errors
    /// Those of setsockopt(2): a value is out of the kernel's bounds.
    pub(crate) fn apply(&self, socket: impl AsFd) -> io::Result<()> {
        if let Some(Probes { idle, interval, count }) = self.probes {
            sockopt::set_socket_keepalive(&socket, true)?;
            sockopt::set_tcp_keepidle(&socket, idle)?;
            sockopt::set_tcp_keepintvl(&socket, interval)?;
            sockopt::set_tcp_keepcnt(&socket, count)?;
        }
        if let Some(timeout) = self.user_timeout {
            let millis = u32::try_from(timeout.as_millis()).unwrap_or(i32::MAX as u32);
            sockopt::set_tcp_user_timeout(&socket, millis)?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// What a socket is set to.
    pub(crate) fn of(socket: impl AsFd) -> Liveness {
        let on = sockopt::socket_keepalive(&socket).expect("an option");
        let probes = || Probes {
            idle: sockopt::tcp_keepidle(&socket).expect("an option"),
            interval: sockopt::tcp_keepintvl(&socket).expect("an option"),
            count: sockopt::tcp_keepcnt(&socket).expect("an option"),
        };
        let millis = sockopt::tcp_user_timeout(&socket).expect("an option");
        let user_timeout = (millis > 0).then(|| Duration::from_millis(millis.into()));
        Liveness { probes: on.then(probes), user_timeout }
    }
}
