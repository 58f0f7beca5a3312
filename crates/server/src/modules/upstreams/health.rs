//! Passive health checks: an upstream that does not accept connections is ejected for a while.

use super::settings::Patience;
use hayami_net::Instant;
use std::time::Duration;

/// Duration of the first ejection; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);

/// How a connection attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Rejected at once: another try costs next to nothing.
    Refused,
    /// No reply: another try costs the whole timeout.
    Silent,
}

/// The recent health of an upstream, as one worker sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Health {
    /// Failed connection attempts in a row.
    failures: u32,
    /// Ejections in a row.
    ejections: u32,
    /// End of the ejection, and the kind of failure that caused it.
    down: Option<(Instant, FailureKind)>,
}

/// Whether an upstream may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Chosen normally.
    Good,
    /// Chosen only if no other one is good.
    Doubtful,
    /// Not chosen for this long.
    Down(Duration),
}

impl Health {
    /// Its standing at `now`.
    pub(super) fn standing(&self, now: Instant) -> Standing {
        match self.down {
            None => Standing::Good,
            Some((until, _)) if until <= now => Standing::Good,
            Some((_, FailureKind::Refused)) => Standing::Doubtful,
            Some((until, FailureKind::Silent)) => Standing::Down(until.saturating_duration_since(now)),
        }
    }

    /// A connection was made. Returns whether this ends an ejection.
    pub(super) fn worked(&mut self) -> bool {
        let news = self.ejections > 0;
        *self = Self::default();
        news
    }

    /// A connection attempt failed. Returns the duration of the ejection, if one begins.
    pub(super) fn failed(
        &mut self,
        now: Instant,
        failure_kind: FailureKind,
        patience: Patience,
    ) -> Option<Duration> {
        let Standing::Good = self.standing(now) else {
            // One of many concurrent attempts.
            return None;
        };
        self.failures = self.failures.saturating_add(1);
        // After an ejection, a single failure shows that it is still down.
        if patience.failures == 0 || (self.failures < patience.failures && self.ejections == 0) {
            return None;
        }
        let wait = FIRST.saturating_mul(1 << self.ejections.min(16)).min(patience.longest);
        self.ejections = self.ejections.saturating_add(1);
        self.down = Some((now + wait, failure_kind));
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_time_up_to_a_bound_and_a_success_ends_it() {
        let (mut health, mut now) = (Health::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..7 {
            let wait = health.failed(now, FailureKind::Silent, Patience::default()).expect("news");
            waits.push(wait.as_secs());
            assert_eq!(health.standing(now), Standing::Down(wait));
            assert_eq!(health.failed(now, FailureKind::Silent, Patience::default()), None);
            now = now + wait;
            assert_eq!(health.standing(now), Standing::Good);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 16, 16]);
        assert!(health.worked());
        assert!(!health.worked());
        assert_eq!(health.failed(now, FailureKind::Refused, Patience::default()), Some(FIRST));
        assert_eq!(health.standing(now), Standing::Doubtful);
    }

    #[test]
    fn so_many_failures_in_a_row_are_forgiven_as_was_configured() {
        let now = Instant::now();
        let patience = |failures| Patience { failures, longest: Duration::from_millis(1500) };
        let mut health = Health::default();
        assert_eq!(health.failed(now, FailureKind::Refused, patience(3)), None);
        assert!(!health.worked());
        for want in [None, None, Some(FIRST)] {
            assert_eq!(health.failed(now, FailureKind::Refused, patience(3)), want);
        }
        // Still not back.
        let wait = health.failed(now + FIRST, FailureKind::Refused, patience(3));
        assert_eq!(wait, Some(Duration::from_millis(1500)));
        assert!((0..9).all(|_| Health::default().failed(now, FailureKind::Silent, patience(0)).is_none()));
    }
}
