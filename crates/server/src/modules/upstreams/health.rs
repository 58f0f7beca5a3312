//! Passive checks: an upstream that cannot be connected to is left alone for a while.

use super::settings::Patience;
use hayami_net::Instant;
use std::time::Duration;

/// How long after the first failure; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);

/// How a connection could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Somebody said no at once: to ask again costs next to nothing.
    Refused,
    /// Nobody answered: to ask again costs the whole wait.
    Silent,
}

/// How an upstream did lately, as one worker sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Health {
    /// Connections in a row that could not be made.
    failures: u32,
    /// Times in a row that it was left alone.
    ejections: u32,
    /// When it may be asked again, and how it failed.
    down: Option<(Instant, FailureKind)>,
}

/// Whether an upstream may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Like all others.
    Good,
    /// If no other one is good.
    Doubtful,
    /// Not for so long.
    Down(Duration),
}

impl Health {
    /// How it stands now.
    pub(super) fn standing(&self, now: Instant) -> Standing {
        match self.down {
            None => Standing::Good,
            Some((until, _)) if until <= now => Standing::Good,
            Some((_, FailureKind::Refused)) => Standing::Doubtful,
            Some((until, FailureKind::Silent)) => Standing::Down(until.saturating_duration_since(now)),
        }
    }

    /// A connection was made. Tells whether that is news: it was left alone before.
    pub(super) fn worked(&mut self) -> bool {
        let news = self.ejections > 0;
        *self = Self::default();
        news
    }

    /// A connection could not be made. For how long it is now left alone, if that is news.
    pub(super) fn failed(
        &mut self,
        now: Instant,
        failure_kind: FailureKind,
        patience: Patience,
    ) -> Option<Duration> {
        let Standing::Good = self.standing(now) else {
            // One of many that were under way together.
            return None;
        };
        self.failures = self.failures.saturating_add(1);
        // Once it was left alone, one more failure says that it is not back.
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
