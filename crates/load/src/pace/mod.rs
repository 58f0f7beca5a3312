//! When requests are made: after responses (closed model), or by a fixed schedule (open model).

/// A worker's share of the requests. All times are nanoseconds of the steady clock.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    schedule: Option<Schedule>,
    /// Requests that may still be made; `None`: as many as the time allows.
    budget: Option<u64>,
    under_way: u64,
}

/// Request `n` is due at `start + n × interval`, regardless of earlier ones.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    start: u64,
    interval: f64,
    issued: u64,
}

impl Pace {
    /// `rate`: requests per second of this worker; `None` is the closed model.
    pub(crate) fn new(rate: Option<f64>, start: u64) -> Self {
        let schedule = rate.map(|rate| Schedule { start, interval: 1e9 / rate, issued: 0 });
        Self { schedule, budget: None, under_way: 0 }
    }

    /// Whether requests are due by a schedule.
    pub(crate) fn is_open(&self) -> bool {
        self.schedule.is_some()
    }

    /// Ends the run after this many more completions, including the requests in flight.
    pub(crate) fn limit(&mut self, requests: u64) {
        self.budget = Some(requests.saturating_sub(self.under_way));
    }

    /// Takes a request to send now; returns the time at which it was due.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> Option<u64> {
        if self.budget == Some(0) {
            return None;
        }
        let due = match &mut self.schedule {
            None => now,
            Some(schedule) => {
                let due = schedule.next_due();
                if due > now {
                    return None;
                }
                schedule.issued += 1;
                due
            }
        };
        self.under_way += 1;
        if let Some(budget) = &mut self.budget {
            *budget -= 1;
        }
        Some(due)
    }

    /// When the next request is due; `None` in the closed model, and if there are no more.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.schedule.as_ref().filter(|_| self.budget != Some(0)).map(Schedule::next_due)
    }

    /// How many requests are due and not made, at most `most`.
    pub(crate) fn overdue(&self, now: u64, most: u64) -> u64 {
        let Some(schedule) = &self.schedule else { return most.min(self.budget.unwrap_or(most)) };
        let passed = now.saturating_sub(schedule.start) as f64 / schedule.interval;
        let due = if now < schedule.start { 0 } else { passed as u64 + 1 };
        due.saturating_sub(schedule.issued).min(self.budget.unwrap_or(most)).min(most)
    }

    /// Requests were completed, successful or failed.
    #[inline]
    pub(crate) fn done(&mut self, requests: u64) {
        self.under_way = self.under_way.saturating_sub(requests);
    }

    /// Takes back requests that were never processed, so that they are sent again.
    pub(crate) fn put_back(&mut self, requests: u64) {
        self.under_way = self.under_way.saturating_sub(requests);
        if let Some(budget) = &mut self.budget {
            *budget += requests;
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.issued = schedule.issued.saturating_sub(requests);
        }
    }

    /// A failed connection was to carry a request, which has failed with it.
    pub(crate) fn spoil(&mut self) {
        if let Some(budget) = &mut self.budget {
            *budget = budget.saturating_sub(1);
        }
    }

    /// Requests that were sent and not answered.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Whether no request is left and none is in flight.
    pub(crate) fn is_over(&self) -> bool {
        self.budget == Some(0) && self.under_way == 0
    }
}

impl Schedule {
    fn next_due(&self) -> u64 {
        self.start + (self.issued as f64 * self.interval) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_model_makes_requests_whenever_asked_until_the_budget_is_spent() {
        let mut pace = Pace::new(None, 0);
        assert_eq!(pace.take(5), Some(5));
        pace.limit(3);
        assert_eq!((pace.take(6), pace.take(7), pace.take(8)), (Some(6), Some(7), None));
        pace.done(2);
        assert!(!pace.is_over());
        pace.put_back(1);
        assert_eq!((pace.take(9), pace.take(9)), (Some(9), None));
        pace.done(1);
        assert!(pace.is_over());
        assert_eq!(pace.next_due(), None);
    }

    #[test]
    fn the_open_model_keeps_its_schedule_however_late_it_is_asked() {
        let mut pace = Pace::new(Some(1000.0), 1_000_000_000);
        assert_eq!((pace.take(999_999_999), pace.overdue(999_999_999, 9)), (None, 0));
        assert_eq!(pace.take(1_000_000_000), Some(1_000_000_000));
        assert_eq!(pace.next_due(), Some(1_001_000_000));
        let late = 1_005_500_000;
        assert_eq!((pace.overdue(late, 100), pace.overdue(late, 3)), (5, 3));
        let dues: Vec<u64> = std::iter::from_fn(|| pace.take(late)).collect();
        assert_eq!(dues, [1, 2, 3, 4, 5].map(|n| 1_000_000_000 + n * 1_000_000));
    }

    #[test]
    fn a_failed_connection_spends_the_request_it_was_to_carry() {
        let mut pace = Pace::new(None, 0);
        pace.limit(1);
        pace.spoil();
        assert!(pace.is_over());
    }
}
