//! Detection of dead peers by the kernel: keep-alive probes (RFC 9293 §3.8.4) and the user timeout (RFC 5482).

use rustix::net::sockopt;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Socket options for TCP connections.
///
/// Set on a listening socket, they apply to every accepted connection at no extra cost: Linux copies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// Probes on idle connections; `None`: a dead connection stays open indefinitely.
    pub probes: Option<Probes>,
    /// How long data may stay unacknowledged, and a probe unanswered (`TCP_USER_TIMEOUT`); `None`: the kernel's
    /// default, about a quarter of an hour.
    pub user_timeout: Option<Duration>,
}

/// When probes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Idle time before the first probe (`TCP_KEEPIDLE`).
    pub idle: Duration,
    /// Interval between unanswered probes (`TCP_KEEPINTVL`).
    pub interval: Duration,
    /// Number of unanswered probes allowed (`TCP_KEEPCNT`). A user timeout overrides it (tcp(7)).
    pub count: u32,
}

impl Default for Probes {
    /// A dead peer is detected after five minutes. Routers and NATs drop idle connections after a few minutes, so the
    /// first probe is sent after one.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), interval: Duration::from_secs(30), count: 8 }
    }
}

impl Default for Liveness {
    /// The user timeout equals the total time of the probes.
    fn default() -> Self {
        Self { probes: Some(Probes::default()), user_timeout: Some(Duration::from_secs(300)) }
    }
}

impl Liveness {
    /// The kernel's defaults.
    pub const NONE: Self = Self { probes: None, user_timeout: None };

    /// Applies the options to a TCP socket.
    ///
    /// # Errors
    /// Those of setsockopt(2): a value is out of the kernel's range.
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

    /// The options set on a socket.
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
