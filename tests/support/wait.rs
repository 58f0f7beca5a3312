//! Waiting for what another process does: until it is so, and never for a fixed time.

use std::time::{Duration, Instant};

/// The timeout of every wait. Long, since the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Looks again and again until `condition` holds.
///
/// # Panics
/// It does not hold in time.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, || condition().then_some(()));
}

/// Looks again and again until there is a value.
///
/// # Panics
/// There is none in time.
#[track_caller]
pub(crate) fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = look() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
