//! Budgets against peers that cause useless work (RFC 9113 §10.5).
//!
//! Each [`Kind`] has a [`Budget`](crate::Budget): events spend it, time restores it, and for some kinds
//! useful work does too. The totals over the life of a connection can be read.

use crate::config::{Budget, Budgets};
use crate::fault::Fault;

macro_rules! kinds {
    ($($variant:ident $budget:ident $fault:ident $text:literal,)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = concat!("So many ", $text, ".")] $variant,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Their name in statistics.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            fn budget(self, budgets: &Budgets) -> Budget {
                match self { $(Self::$variant => budgets.$budget,)* }
            }

            fn fault(self) -> Fault {
                match self { $(Self::$variant => Fault::$fault,)* }
            }
        }

        const KINDS: usize = [$(Kind::$variant,)*].len();
    };
}

kinds! {
    RapidReset rapid_reset RapidReset "streams canceled by the peer",
    ProvokedReset provoked_reset ProvokedResets "streams reset because of the peer's faults",
    Refused refused RefusedFlood "streams refused beyond the limit",
    EmptyData empty_data EmptyFrameFlood "empty DATA frames",
    Settings settings SettingsFlood "SETTINGS frames",
    Ping ping PingFlood "PING frames",
    Priority priority PriorityFlood "PRIORITY and PRIORITY_UPDATE frames",
    Unknown unknown UnknownFlood "frames of unknown types",
    TinyWindow tiny_window TinyWindowFlood "WINDOW_UPDATE frames of few bytes",
    Stale stale StaleFlood "frames on closed streams",
    LargeHead large_head LargeHeadFlood "heads beyond the limits",
}

/// What one peer has spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Abuse {
    /// By [`Kind`]: spent and not yet restored.
    spent: [u32; KINDS],
    /// By [`Kind`]: all that were counted.
    totals: [u32; KINDS],
    /// The millisecond up to which budgets have been restored.
    refilled: u32,
}

impl Abuse {
    /// How many were counted since the connection began.
    pub fn total(&self, kind: Kind) -> u32 {
        self.totals[kind as usize]
    }

    /// Counts one. `now` is in milliseconds.
    ///
    /// # Errors
    /// The budget is exceeded.
    pub(crate) fn spend(&mut self, kind: Kind, budgets: &Budgets, now: u32) -> Result<(), Fault> {
        self.refill(budgets, now);
        self.totals[kind as usize] = self.totals[kind as usize].saturating_add(1);
        let spent = &mut self.spent[kind as usize];
        *spent += 1;
        if *spent > kind.budget(budgets).burst { Err(kind.fault()) } else { Ok(()) }
    }

    /// Restores some of a budget for useful work.
    #[inline]
    pub(crate) fn earn(&mut self, kind: Kind, count: u32) {
        let spent = &mut self.spent[kind as usize];
        *spent = spent.saturating_sub(count);
    }

    /// Restores budgets for every whole second since the last call. `now` may wrap.
    fn refill(&mut self, budgets: &Budgets, now: u32) {
        let seconds = now.wrapping_sub(self.refilled) / 1000;
        if seconds == 0 {
            return;
        }
        self.refilled = self.refilled.wrapping_add(seconds * 1000);
        for kind in Kind::ALL {
            let back = kind.budget(budgets).per_second.saturating_mul(seconds);
            self.earn(*kind, back);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_exceeded_by_one_more_than_its_burst_and_comes_back_with_time() {
        let budgets = Budgets { ping: Budget::new(3, 2), ..Budgets::default() };
        let mut abuse = Abuse::default();
        let mut spend = |now| abuse.spend(Kind::Ping, &budgets, now);
        assert_eq!([0, 0, 999].map(&mut spend), [Ok(()); 3]);
        assert_eq!(spend(999), Err(Fault::PingFlood));
        assert_eq!([1000, 2000, 2001].map(&mut spend), [Ok(()); 3]);
        assert_eq!(abuse.total(Kind::Ping), 7);
    }

    #[test]
    fn a_budget_comes_back_across_the_wrap_of_the_clock() {
        let budgets = Budgets { ping: Budget::new(1, 1), ..Budgets::default() };
        let mut abuse = Abuse::default();
        let start = u32::MAX - u32::MAX % 1000 - 1000;
        let mut spend = |later: u32| abuse.spend(Kind::Ping, &budgets, start.wrapping_add(later));
        assert_eq!(spend(0), Ok(()));
        // One event for each second, the one in which the clock wraps included.
        assert_eq!([1000, 2000, 3000].map(&mut spend), [Ok(()); 3]);
        assert_eq!(spend(3999), Err(Fault::PingFlood));
        assert_eq!(spend(5999), Ok(()));
    }

    #[test]
    fn what_is_earned_is_never_more_than_what_was_spent() {
        let budgets = Budgets { stale: Budget::new(2, 0), ..Budgets::default() };
        let mut abuse = Abuse::default();
        abuse.earn(Kind::Stale, 100);
        let spent: Vec<_> = (0..3).map(|_| abuse.spend(Kind::Stale, &budgets, 0).is_ok()).collect();
        assert_eq!(spent, [true, true, false]);
    }

    #[test]
    fn every_kind_has_a_name_and_a_fault_of_its_own() {
        for (at, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, at);
            assert!(Kind::ALL[..at].iter().all(|k| k.name() != kind.name() && k.fault() != kind.fault()));
        }
    }
}
