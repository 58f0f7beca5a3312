//! The limit of open files, raised to the maximum that the system allows, so that the operator does not have to.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for everything but connections: listeners, logs, files being sent.
const RESERVE: u64 = 48;

/// The open-files limit before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFiles {
    /// The soft limit the program was started with.
    pub before: u64,
    /// The limit now.
    pub now: u64,
}

/// Raises the soft limit to the hard one.
pub(crate) fn raise() -> OpenFiles {
    let limit = getrlimit(Resource::Nofile);
    let before = limit.current.unwrap_or(u64::MAX);
    // It needs no privileges, since the hard limit stays. If it fails nevertheless, the lower limit applies.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    OpenFiles { before, now: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) }
}

impl OpenFiles {
    /// Connections that fit into the limit, besides a few files that each worker keeps open.
    pub(crate) fn connections(self) -> u64 {
        self.now.saturating_sub(RESERVE.min(self.now / 4)).saturating_sub(self.now / 64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_files() {
        let limit = |now| OpenFiles { before: now, now };
        assert_eq!(limit(1024).connections(), 1024 - 48 - 16);
        assert!(limit(16).connections() < 16);
        assert_eq!(limit(1).connections(), 1);
    }

    #[test]
    fn the_limit_is_raised_to_the_hard_one() {
        let raised = raise();
        assert!(raised.now >= raised.before);
        assert_eq!(Some(raised.now), getrlimit(Resource::Nofile).maximum.or(Some(u64::MAX)));
    }
}
