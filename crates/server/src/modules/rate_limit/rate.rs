//! Rates, and when a request exceeds one: the generic cell rate algorithm (GCRA), which is nginx's leaky bucket with one
//! number for each key.
//!
//! The number is the time at which the key would have used nothing, if all its requests came at the rate ("theoretical
//! arrival time"). A request within the rate moves it by one interval; it may be ahead of now by the burst.

use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// So many requests in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    requests: u64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    letter: char,
    seconds: u64,
}

const UNITS: [Unit; 3] = [
    Unit { letter: 's', seconds: 1 },
    Unit { letter: 'm', seconds: 60 },
    Unit { letter: 'h', seconds: 3600 },
];

/// More requests than a server answers in a second; with them, an interval is still 1000 ns.
const REQUESTS: RangeInclusive<u64> = 1..=1_000_000;

impl Rate {
    pub(super) fn read(node: &Node) -> Result<Self, ConfigError> {
        let text = node.text().unwrap_or_default();
        parse(text).ok_or_else(|| {
            let error = node.expected("a rate such as `5/s`, `100/m` or `1000/h`, up to 1000000");
            match meant(text) {
                Some(meant) => error.help(format!("did you mean `{meant}`?")),
                None if text.parse().is_ok_and(|number: u64| REQUESTS.contains(&number)) => {
                    error.help(format!("add the unit: `{text}/s`, `{text}/m` or `{text}/h`"))
                }
                None => error,
            }
        })
    }

    /// Requests in a window of so many seconds.
    pub(super) fn quota(self) -> (u64, u64) {
        (self.requests, self.unit.seconds)
    }

    /// Nanoseconds between two requests.
    fn interval(self) -> u64 {
        self.unit.seconds * 1_000_000_000 / self.requests
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.requests, self.unit.letter)
    }
}

fn parse(text: &str) -> Option<Rate> {
    let (number, unit) = text.split_once('/')?;
    let unit = UNITS.into_iter().find(|own| unit.chars().eq([own.letter]))?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let requests = number.parse().ok().filter(|number| is_number && REQUESTS.contains(number))?;
    Some(Rate { requests, unit })
}

/// What was probably meant: `5r/s` as for nginx, `5/sec`, `5 per minute`, `0.5/s`.
fn meant(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let (number, unit) = text.split_once('/').or_else(|| text.split_once("per"))?;
    let number = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match unit {
        "s" | "sec" | "second" => 's',
        "m" | "min" | "minute" => 'm',
        "h" | "hour" => 'h',
        _ => return None,
    };
    let meant = match (number.split_once('.'), unit) {
        (None, unit) => format!("{number}/{unit}"),
        (Some(_), 's') => format!("{:.0}/m", number.parse::<f64>().ok()? * 60.0),
        (Some(_), 'm') => format!("{:.0}/h", number.parse::<f64>().ok()? * 60.0),
        _ => return None,
    };
    parse(&meant).map(|_| meant)
}

/// Nanoseconds that a request waits at most: the server's shutdown waits for it, too.
const LONGEST_WAIT: u64 = 60 * 1_000_000_000;

/// A rate with its burst, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gcra {
    interval: u64,
    /// How far the number of a key may be ahead of now.
    tolerance: u64,
    /// How far before requests wait.
    undelayed: u64,
}

/// What a rate says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is served at once, or after that time.
    Admitted(Duration),
    /// There will be room for another one after that time.
    Rejected(Duration),
}

impl Gcra {
    /// `burst` requests may come at once above the rate; those above `undelayed` wait until they fit the rate.
    pub(super) fn new(rate: Rate, burst: u64, undelayed: u64) -> Self {
        let interval = rate.interval();
        let times = |requests: u64| interval.saturating_mul(requests);
        Self { interval, tolerance: times(burst), undelayed: times(undelayed) }
    }

    /// Counts a request at `now`, in nanoseconds. `number` is that of its key. A request that is rejected does not count.
    #[inline]
    pub(super) fn count(&self, number: &mut u64, now: u64) -> Admission {
        // After a reload it may be that of a slower rate: its debt is that of a full burst then, from now on.
        let most = now.saturating_add(self.tolerance).saturating_add(self.interval);
        *number = (*number).min(most);
        let free = (*number).max(now);
        let ahead = free - now;
        let most = self.tolerance.min(self.undelayed.saturating_add(LONGEST_WAIT));
        if ahead > most {
            return Admission::Rejected(Duration::from_nanos(ahead - most));
        }
        *number = free.saturating_add(self.interval);
        Admission::Admitted(Duration::from_nanos(ahead.saturating_sub(self.undelayed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn gcra(rate: &str, burst: u64, undelayed: u64) -> Gcra {
        Gcra::new(parse(rate).expect(rate), burst, undelayed)
    }

    /// What the requests at these milliseconds get: for how many milliseconds they wait, or `None`.
    fn waits(gcra: &Gcra, times: &[u64]) -> Vec<Option<u128>> {
        let mut number = 0;
        let count = |time: &u64| match gcra.count(&mut number, 7 * SECOND + time * 1_000_000) {
            Admission::Admitted(wait) => Some(wait.as_millis()),
            Admission::Rejected(_) => None,
        };
        times.iter().map(count).collect()
    }

    #[test]
    fn without_a_burst_requests_come_at_the_rate() {
        let gcra = gcra("5/s", 0, 0);
        assert_eq!(waits(&gcra, &[0, 199, 200, 399, 400]), [Some(0), None, Some(0), None, Some(0)]);
    }

    #[test]
    fn a_burst_comes_at_once_and_is_refilled_at_the_rate() {
        let gcra = gcra("10/s", 3, 3);
        let all = waits(&gcra, &[0, 0, 0, 0, 0, 99, 100, 100, 299, 299]);
        let admitted: Vec<_> = all.iter().map(Option::is_some).collect();
        assert_eq!(admitted, [true, true, true, true, false, false, true, false, true, false]);
        assert!(all.iter().flatten().all(|wait| *wait == 0));
        assert_eq!(waits(&gcra, &[0, 0, 0, 0, 400, 400, 400, 400, 400]).iter().flatten().count(), 8);
    }

    #[test]
    fn requests_within_the_burst_wait_until_they_fit_the_rate() {
        let all = [Some(0), Some(100), Some(200), Some(300), None];
        assert_eq!(waits(&gcra("10/s", 3, 0), &[0; 5]), all);
        assert_eq!(waits(&gcra("10/s", 3, 2), &[0; 5]), [Some(0), Some(0), Some(0), Some(100), None]);
    }

    #[test]
    fn no_request_waits_for_more_than_a_minute() {
        let all = waits(&gcra("2/m", 10, 0), &[0, 0, 0, 0, 30_000, 30_000]);
        assert_eq!(all, [Some(0), Some(30_000), Some(60_000), None, Some(60_000), None]);
    }

    #[test]
    fn a_rejected_request_learns_when_to_come_back() {
        let (gcra, mut number) = (gcra("1/m", 1, 1), 0);
        let at = |seconds: u64| (1000 + seconds) * SECOND;
        for (seconds, want) in [
            (0, Admission::Admitted(Duration::ZERO)),
            (0, Admission::Admitted(Duration::ZERO)),
            (0, Admission::Rejected(Duration::from_secs(60))),
            (59, Admission::Rejected(Duration::from_secs(1))),
            (60, Admission::Admitted(Duration::ZERO)),
        ] {
            assert_eq!(gcra.count(&mut number, at(seconds)), want, "{seconds}");
        }
    }

    #[test]
    fn after_a_reload_a_faster_rate_counts_from_now_on() {
        let (mut number, now) = (0, 1000 * SECOND);
        let slow = gcra("1/h", 5, 5);
        (0..6).for_each(|_| _ = slow.count(&mut number, now));
        let fast = gcra("1/s", 0, 0);
        assert_eq!(fast.count(&mut number, now), Admission::Rejected(Duration::from_secs(1)));
        assert_eq!(fast.count(&mut number, now + SECOND - 1), Admission::Rejected(Duration::from_nanos(1)));
        assert_eq!(fast.count(&mut number, now + SECOND), Admission::Admitted(Duration::ZERO));
    }

    #[test]
    fn no_number_overflows() {
        let gcra = Gcra::new(parse("1/h").expect("a rate"), u64::MAX, u64::MAX);
        let mut number = u64::MAX;
        assert!(matches!(gcra.count(&mut number, u64::MAX - 1), Admission::Admitted(_)));
        assert!(matches!(gcra.count(&mut number, 0), Admission::Admitted(_)));
    }

    #[test]
    fn what_is_no_rate_is_said_with_what_was_meant() {
        for text in ["5/s", "1/m", "1000000/h"] {
            assert_eq!(Rate::read(&Node::scalar(text)).expect(text).to_string(), text);
        }
        for (text, meant) in [
            ("5 per minute", "5/m"),
            ("5r/s", "5/s"),
            ("30r/m", "30/m"),
            ("5/sec", "5/s"),
            ("5 / minute", "5/m"),
            ("0.5/s", "30/m"),
            ("5/S", "5/s"),
        ] {
            let error = Rate::read(&Node::scalar(text)).expect_err(text);
            let want =
                format!("expected a rate such as `5/s`, `100/m` or `1000/h`, up to 1000000, found `{text}`");
            assert_eq!((error.message, error.help), (want, format!("did you mean `{meant}`?")));
        }
        let error = Rate::read(&Node::scalar("5")).expect_err("no unit");
        assert_eq!(error.help, "add the unit: `5/s`, `5/m` or `5/h`");
        for text in [
            "0",
            "0/s",
            "-1/s",
            "+1/s",
            "1000001/s",
            "/s",
            "5/",
            "5/d",
            "x/s",
            "0.0/s",
            "99999999999999999999/s",
        ] {
            assert_eq!(Rate::read(&Node::scalar(text)).expect_err(text).help, "", "{text}");
        }
    }
}
