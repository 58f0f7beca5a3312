//! Figures for people: three digits and a unit, since no figure is more accurate than 1 %.

use crate::compare::Measure;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A number with three digits that count, at least: `1.23`, `12.3`, `123`, `12345`.
pub(crate) fn three(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding comes first: 9.996 has to become 10.0 and not 10.00.
    let digits = [2, 1, 0].into_iter().find(|digits| {
        let scale = 10_f64.powi(*digits);
        (value.abs() * scale).round() < 1000.0
    });
    format!("{value:.*}", digits.unwrap_or(0) as usize)
}

/// Scales by thousands and appends the unit: `12.3 ms` with `gap` set, `12.3ms` without.
fn scaled(value: f64, units: &[&str], gap: &str) -> String {
    let mut value = value;
    let mut units = units.iter().peekable();
    while let Some(unit) = units.next() {
        if value.abs() < 999.5 || units.peek().is_none() {
            return format!("{}{gap}{unit}", three(value));
        }
        value /= 1000.0;
    }
    three(value)
}

/// `345µs`, `1.23ms`, `12.3s`, `2m05s`, `3h04m`.
pub(crate) fn duration(duration: Duration) -> String {
    nanoseconds(duration.as_nanos() as f64)
}

/// The same from nanoseconds.
pub(crate) fn nanoseconds(nanos: f64) -> String {
    let whole = (nanos / 1e9).round();
    match whole {
        0.0..100.0 => scaled(nanos, &["ns", "µs", "ms", "s"], ""),
        100.0..3600.0 => format!("{}m{:02}s", (whole / 60.0).trunc(), whole % 60.0),
        3600.0.. => format!("{}h{:02}m", (whole / 3600.0).trunc(), (whole % 3600.0 / 60.0).trunc()),
        _ => "–".to_owned(),
    }
}

/// Bytes in powers of a thousand: `612 B`, `1.23 MB`.
pub(crate) fn bytes(bytes: f64) -> String {
    scaled(bytes, &["B", "kB", "MB", "GB", "TB", "PB"], " ")
}

/// A large number for a plot's axis or a narrow place: `950`, `1.2 k`, `12.3 M`.
pub(crate) fn short(value: f64) -> String {
    scaled(value, &["", " k", " M", " G"], "")
}

/// A count with its thousands set apart: `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate a second: whole and grouped from a hundred on.
pub(crate) fn rate(rate: f64) -> String {
    match rate {
        100.0.. => grouped(rate.round() as u64),
        _ => three(rate),
    }
}

/// A share as percent: `0.12 %`, `12.3 %`. Never 0 or 100 unless exact.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 | 100.0 => format!("{percent} %"),
        p if p > 0.0 && p < 0.01 => "< 0.01 %".to_owned(),
        p if p > 99.99 && p < 100.0 => "> 99.99 %".to_owned(),
        _ => format!("{} %", three(percent)),
    }
}

/// The value of a measure with its unit.
pub(crate) fn measured(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Rate => rate(value),
        Measure::Median | Measure::P99 => nanoseconds(value * 1e3),
        Measure::Cost => format!("{}µs", three(value)),
        Measure::Memory => bytes(value),
    }
}

/// `s` for all counts but one.
pub(crate) fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A moment as `2026-11-22T01:40:00Z` (RFC 3339), in whole seconds.
pub(crate) fn moment(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day since 1970-01-01. Years begin in March here, so that leap days end them;
/// 400 years have 146,097 days.
fn date(day: u64) -> (u64, u64, u64) {
    let since = day + 719_468; // days from 0000-03-01
    let (era, of_era) = (since / 146_097, since % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_unit() {
        let cases = [
            (0.0, "0ns"),
            (999.4, "999ns"),
            (999.6, "1.00µs"),
            (1234.0, "1.23µs"),
            (12_345.0, "12.3µs"),
            (9_996_000.0, "10.0ms"),
            (999_600_000.0, "1.00s"),
            (12_345_000_000.0, "12.3s"),
            (125e9, "2m05s"),
            (3599.7e9, "1h00m"),
            (11_070e9, "3h04m"),
            (f64::NAN, "–"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(nanoseconds(nanos), expected, "{nanos}");
        }
    }

    #[test]
    fn counts_rates_bytes_and_shares() {
        let all = [
            (bytes(0.0), "0 B"),
            (bytes(612.0), "612 B"),
            (bytes(1.5e15), "1.50 PB"),
            (bytes(1.5e19), "15000 PB"),
            (grouped(0), "0"),
            (grouped(999), "999"),
            (grouped(1000), "1,000"),
            (grouped(1_234_567), "1,234,567"),
            (rate(99.94), "99.9"),
            (rate(123_456.7), "123,457"),
            (rate(f64::NAN), "–"),
            (short(950.0), "950"),
            (short(12_345_678.0), "12.3 M"),
            (percent(0.0), "0 %"),
            (percent(1.0), "100 %"),
            (percent(0.000_01), "< 0.01 %"),
            (percent(0.999_999), "> 99.99 %"),
            (percent(0.1234), "12.3 %"),
            (percent(f64::NAN), "– %"),
            (measured(Measure::Cost, 7.413), "7.41µs"),
            (measured(Measure::P99, 1500.0), "1.50ms"),
        ];
        for (text, expected) in all {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn moments_are_written_as_rfc_3339_has_it() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_795_311_600, "2026-11-22T01:40:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(moment(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
