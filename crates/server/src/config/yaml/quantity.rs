//! Scalars with a unit: times and sizes.

use super::node::{Node, whole};
use crate::config::error::ConfigError;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest time in milliseconds, about 24 days: what fits a signed 32-bit number, as in timers of other systems.
const LONGEST_MS: u64 = i32::MAX as u64;

/// Units of time, each in milliseconds.
const UNITS: [(&str, u64); 6] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Node {
    /// A time; a number without a unit counts seconds and may have a fraction.
    pub fn seconds(&self) -> Result<Duration, ConfigError> {
        let text = self.text().ok();
        text.and_then(|text| time(text, Some("s"))).ok_or_else(|| {
            self.meant(
                self.expected("a number of seconds, or a time such as `500ms`, `30s`, `5m` or `1h`"),
                time_unit,
            )
        })
    }

    /// A time of at least so many milliseconds, and at most some 24 days; a number without a unit counts milliseconds.
    pub fn milliseconds(&self, least: u64) -> Result<Duration, ConfigError> {
        let text = self.text().ok();
        // As in h2o: a fraction of a millisecond is most likely a mistake.
        let time = text.filter(|text| !is_fraction(text)).and_then(|text| time(text, Some("ms")));
        let time = time.ok_or_else(|| {
            let wanted = "a number of milliseconds, or a time such as `500ms`, `30s`, `5m` or `1h`";
            self.meant(self.expected(wanted), time_unit)
        })?;
        let range = Duration::from_millis(least)..=Duration::from_millis(LONGEST_MS);
        if range.contains(&time) {
            return Ok(time);
        }
        Err(self.expected(&format!("a time from {least} ms to {LONGEST_MS} ms")))
    }

    /// A time of whole seconds within `range`; a number without a unit counts seconds.
    pub fn whole_seconds(&self, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let wanted = || self.expected(&format!("a time from {} s to {} s", range.start(), range.end()));
        let time = self.text().ok().and_then(|text| time(text, Some("s")));
        let time = time.ok_or_else(|| self.meant(wanted(), time_unit))?;
        let whole = time.subsec_nanos() == 0 && range.contains(&time.as_secs());
        if whole { Ok(time.as_secs()) } else { Err(wanted()) }
    }

    /// A number of bytes; the suffixes `k`, `m` and `g` multiply by powers of 1024.
    pub fn bytes(&self) -> Result<u64, ConfigError> {
        let wanted = || self.expected("a number of bytes, such as 65536 or 64k");
        let text = self.text().map_err(|_| wanted())?;
        let (digits, factor) = match text.bytes().next_back() {
            Some(b'k' | b'K') => (&text[..text.len() - 1], 1 << 10),
            Some(b'm' | b'M') => (&text[..text.len() - 1], 1 << 20),
            Some(b'g' | b'G') => (&text[..text.len() - 1], 1 << 30),
            _ => (text, 1),
        };
        let bytes = whole(digits).and_then(|number| number.checked_mul(factor));
        bytes.ok_or_else(|| self.meant(wanted(), size_unit))
    }

    /// Adds the number and the unit that were probably meant to the error.
    fn meant(&self, error: ConfigError, unit: fn(&str) -> Option<&'static str>) -> ConfigError {
        let text = self.text().unwrap_or_default();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, written) = text.split_at(end);
        let meant = unit(&written.trim().to_ascii_lowercase()).map(|unit| format!("{number}{unit}"));
        match meant.filter(|meant| !number.is_empty() && meant != text) {
            Some(meant) => error.help(format!("did you mean `{meant}`?")),
            None => error,
        }
    }

    /// A number of bytes within `range`.
    pub fn bytes_within(&self, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let bytes = self.bytes()?;
        if range.contains(&bytes) {
            return Ok(bytes);
        }
        Err(self.expected(&format!("from {} to {} bytes", range.start(), range.end())))
    }
}

/// The unit of size for a word in lower case.
fn size_unit(word: &str) -> Option<&'static str> {
    match word {
        "b" | "byte" | "bytes" => Some(""),
        "k" | "kb" | "kib" => Some("k"),
        "m" | "mb" | "mib" => Some("m"),
        "g" | "gb" | "gib" => Some("g"),
        _ => None,
    }
}

/// The unit of time for a word in lower case.
fn time_unit(word: &str) -> Option<&'static str> {
    match word {
        "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => Some("ms"),
        "s" | "sec" | "secs" | "second" | "seconds" => Some("s"),
        "m" | "min" | "mins" | "minute" | "minutes" => Some("m"),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some("h"),
        "d" | "day" | "days" => Some("d"),
        _ => None,
    }
}

/// Parses a time; `unit` applies to numbers without one.
pub fn time(text: &str, unit: Option<&str>) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, written) = text.split_at(end);
    let unit = if written.is_empty() { unit? } else { written };
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    if let Some(number) = whole(number) {
        return number.checked_mul(*millis).map(Duration::from_millis);
    }
    let number: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(number * (*millis as f64) / 1000.0).ok()
}

fn is_fraction(text: &str) -> bool {
    text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> String {
        result.expect_err("an error").message
    }

    #[test]
    fn times_may_carry_a_unit() {
        let cases = [
            ("10", 10_000, 10),
            ("500ms", 500, 500),
            ("30s", 30_000, 30_000),
            ("5m", 300_000, 300_000),
            ("5min", 300_000, 300_000),
            ("1h", 3_600_000, 3_600_000),
            ("2d", 172_800_000, 172_800_000),
            ("1.5s", 1500, 1500),
            ("0.5h", 1_800_000, 1_800_000),
        ];
        for (text, seconds, milliseconds) in cases {
            let node = Node::scalar(text);
            assert_eq!(node.seconds().unwrap(), Duration::from_millis(seconds), "{text}");
            assert_eq!(node.milliseconds(1).unwrap(), Duration::from_millis(milliseconds), "{text}");
        }
        assert_eq!(Node::scalar("0.25").seconds().unwrap(), Duration::from_millis(250));
        for text in ["", ".", "s", "1e3", "inf", "NaN", "-1", "+1", "1 s", "30S", "1y", "1m30s", "1..5s"] {
            assert!(Node::scalar(text).seconds().is_err(), "{text}");
            assert!(Node::scalar(text).milliseconds(0).is_err(), "{text}");
        }
        for text in ["99999999999999999999999", "18446744073709551615h"] {
            assert!(Node::scalar(text).seconds().is_err(), "{text}");
        }
        assert_eq!(Node::scalar("2m").whole_seconds(1..=120).unwrap(), 120);
    }

    #[test]
    fn what_is_no_time_or_too_long_a_one_is_told_with_the_unit() {
        let examples = "or a time such as `500ms`, `30s`, `5m` or `1h`";
        let node = Node::scalar("30x");
        assert_eq!(message(node.seconds()), format!("expected a number of seconds, {examples}, found `30x`"));
        assert_eq!(
            message(node.milliseconds(0)),
            format!("expected a number of milliseconds, {examples}, found `30x`")
        );
        assert!(
            message(Node::scalar("1.5").milliseconds(0)).starts_with("expected a number of milliseconds")
        );
        for text in ["0", "25d"] {
            let want = format!("expected a time from 1 ms to 2147483647 ms, found `{text}`");
            assert_eq!(message(Node::scalar(text).milliseconds(1)), want);
        }
        for text in ["0", "121", "1.5s", "x"] {
            let want = format!("expected a time from 1 s to 120 s, found `{text}`");
            assert_eq!(message(Node::scalar(text).whole_seconds(1..=120)), want);
        }
    }

    #[test]
    fn a_unit_written_otherwise_is_recognised() {
        for (text, want) in [("10mb", "10m"), ("64 KiB", "64k"), ("100 bytes", "100"), ("1G ", "1g")] {
            let error = Node::scalar(text).bytes().expect_err(text);
            assert_eq!(error.help, format!("did you mean `{want}`?"), "{text}");
        }
        for (text, want) in [("30sec", "30s"), ("30S", "30s"), ("5 minutes", "5m"), ("10msec", "10ms")] {
            let node = Node::scalar(text);
            let help = format!("did you mean `{want}`?");
            assert_eq!(node.seconds().expect_err(text).help, help, "{text}");
            assert_eq!(node.milliseconds(0).expect_err(text).help, help, "{text}");
            assert_eq!(node.whole_seconds(0..=9).expect_err(text).help, help, "{text}");
        }
        for text in ["", "mb", "10x", "99999999999999999999g", "1.5mb"] {
            assert_eq!(Node::scalar(text).bytes().expect_err(text).help, "", "{text}");
        }
    }

    #[test]
    fn sizes_may_carry_a_letter() {
        for (text, want) in [("0", 0), ("65536", 65536), ("64k", 65536), ("1M", 1 << 20), ("2g", 2 << 30)] {
            assert_eq!(Node::scalar(text).bytes().unwrap(), want, "{text}");
        }
        for text in ["", "k", "1kk", "1 k", "-1", "99999999999999999g", "é", "1é"] {
            assert!(Node::scalar(text).bytes().is_err(), "{text}");
        }
    }
}
