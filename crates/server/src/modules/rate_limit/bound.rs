//! What a limit allows: requests in a time, or requests at once.

use super::account::Account;
use super::rate::{Admission, Gcra, Rate};
use crate::passed_limits::PassedLimits;
use std::sync::Arc;
use std::time::Duration;

/// What a limit allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// `limit.requests`
    Requests { rate: Rate, burst: u64, gcra: Gcra },
    /// `limit.connections`
    Connections { max: u64 },
}

/// A request exceeds a limit; there may be room after that time.
pub(super) struct Exceeded(pub(super) Duration);

/// When a client with too many requests at once is asked to come back: nobody knows when one of them ends.
const SOON: Duration = Duration::from_secs(1);

impl Bound {
    /// The directive.
    pub(super) fn directive(&self) -> &'static str {
        match self {
            Self::Requests { .. } => "limit.requests",
            Self::Connections { .. } => "limit.connections",
        }
    }

    /// Counts a request at `now`, in nanoseconds: for how long it has to wait.
    pub(super) fn count(
        &self,
        account: &Arc<Account>,
        key: u64,
        now: u64,
        passed: &mut PassedLimits,
    ) -> Result<Duration, Exceeded> {
        match self {
            Self::Requests { gcra, .. } => {
                passed.add(account.id);
                match account.count(key, gcra, now) {
                    Admission::Admitted(wait) => Ok(wait),
                    Admission::Rejected(retry) => Err(Exceeded(retry)),
                }
            }
            Self::Connections { max } => {
                let entered = account.enter(key, *max).ok_or(Exceeded(SOON))?;
                passed.hold(account.id, Box::new(entered));
                Ok(Duration::ZERO)
            }
        }
    }

    /// What the error log says of a request that exceeds it.
    pub(super) fn fault(&self) -> String {
        match self {
            Self::Requests { rate, burst: 0, .. } => format!("more requests than {rate}"),
            Self::Requests { rate, burst, .. } => {
                format!("more requests than {rate} with a burst of {burst}")
            }
            Self::Connections { max: 1 } => "more than 1 request at once".to_owned(),
            Self::Connections { max } => format!("more than {max} requests at once"),
        }
    }

    /// The policy in `ratelimit-policy`, behind its name (draft-ietf-httpapi-ratelimit-headers §3): the quota, and the
    /// window or the unit of what is counted.
    pub(super) fn policy(&self) -> String {
        match self {
            Self::Requests { rate, .. } => {
                let (quota, window) = rate.quota();
                format!("q={quota};w={window}")
            }
            Self::Connections { max } => format!("q={max};qu=\"concurrent-requests\""),
        }
    }
}
