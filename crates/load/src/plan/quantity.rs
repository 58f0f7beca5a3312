//! Times, shares and other quantities as people write them.

use std::time::Duration;

/// Reads `10`, `10s`, `1.5m`, `100ms`, `250us`, `2h`: a number alone is in seconds.
///
/// # Errors
/// It is not a duration, or longer than a year.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "" | "s" | "sec" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{text}` is not a time; write 10s, 1.5m, 100ms or 250us")),
    };
    let seconds = number.parse::<f64>().map(|number| number * scale);
    match seconds {
        Ok(seconds) if seconds <= 31_536_000.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("`{text}` is not a time; write 10s, 1.5m, 100ms or 250us")),
    }
}

/// Reads a whole number above 0, also with `k` or `M`: `10k`.
///
/// # Errors
/// It is invalid.
pub fn count(text: &str) -> Result<u64, String> {
    let (digits, scale) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    number.filter(|&number| number > 0).ok_or_else(|| format!("`{text}` is not a positive integer"))
}

/// Reads a rate: requests per second, above 0; also with `k`, `M`, and `/s` or `/m`.
///
/// # Errors
/// It is invalid.
pub fn rate(text: &str) -> Result<f64, String> {
    let (number, per) = match text.split_once('/') {
        Some((number, "m" | "min")) => (number, 60.0),
        Some((number, "s")) => (number, 1.0),
        Some(_) => return Err(format!("`{text}` is not a rate; write 1000, 10k or 30/m")),
        None => (text, 1.0),
    };
    let (number, scale) = match number.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => number.strip_suffix('M').map_or((number, 1.0), |number| (number, 1e6)),
    };
    let rate = number.parse::<f64>().ok().map(|number| number * scale / per);
    rate.filter(|rate| *rate > 0.0 && *rate <= 1e9)
        .ok_or_else(|| format!("`{text}` is not a rate; write 1000, 10k or 30/m"))
}

/// Reads a share: `1%` or `0.01`.
///
/// # Errors
/// It is not a share between 0 and 1.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / scale);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{text}` is not a share; write 1% or 0.01"))
}

/// Reads statuses: `200`, `2xx`, `200-299`, several with commas.
///
/// # Errors
/// A part is not a status.
pub fn statuses(text: &str) -> Result<Vec<(u16, u16)>, String> {
    text.split(',').map(|part| one_status(part.trim())).collect()
}

fn one_status(text: &str) -> Result<(u16, u16), String> {
    let wrong = || format!("`{text}` is not a status; write 200, 2xx, 200-299 or 200,404");
    let number = |text: &str| text.parse().ok().filter(|status| (100..1000).contains(status));
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=9).contains(class)).ok_or_else(wrong)?;
        return Ok((class * 100, class * 100 + 99));
    }
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let range = (number(low).ok_or_else(wrong)?, number(high).ok_or_else(wrong)?);
    if range.0 <= range.1 { Ok(range) } else { Err(wrong()) }
}

/// A method's name: a token (RFC 9110 §9.1).
///
/// # Errors
/// It is invalid.
pub fn method(text: &str) -> Result<String, String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match !text.is_empty() && text.chars().all(token) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is not a method; write GET, POST, …")),
    }
}

/// A field line: `Name: value` (RFC 9110 §5).
///
/// # Errors
/// It is invalid.
pub fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once(':').ok_or_else(|| format!("`{text}` is not a header field; write 'Name: value'"))?;
    method(name).map_err(|_| format!("`{name}` is not a field name; write 'Name: value'"))?;
    let value = value.trim_matches([' ', '\t']);
    match value.contains(['\r', '\n', '\0']) {
        true => Err(format!("the value of `{name}` contains a line break")),
        false => Ok((name.to_owned(), value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_seconds_are_the_default() {
        for (text, micros) in [
            ("10", 10_000_000),
            ("1.5m", 90_000_000),
            ("100ms", 100_000),
            ("250us", 250),
            ("2h", 7_200_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in ["", "x", "-1", "1 year", "1e3", "1.2.3", "99999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_rates_and_shares_are_within_reason() {
        assert_eq!((count("10k"), count("2M"), count("7")), (Ok(10_000), Ok(2_000_000), Ok(7)));
        assert!(["0", "-1", "x", "", "99999999999999999999k"].iter().all(|text| count(text).is_err()));
        assert_eq!((rate("10k"), rate("30/m"), rate("2.5/s")), (Ok(10_000.0), Ok(0.5), Ok(2.5)));
        assert!(["0", "-1", "x", "nan", "inf", "1/h"].iter().all(|text| rate(text).is_err()));
        assert_eq!((share("1%"), share("0.5"), share("0")), (Ok(0.01), Ok(0.5), Ok(0.0)));
        assert!(["101%", "2", "x", "-1%", "nan"].iter().all(|text| share(text).is_err()));
    }

    #[test]
    fn statuses_are_numbers_classes_or_ranges() {
        assert_eq!(statuses("200"), Ok(vec![(200, 200)]));
        assert_eq!(statuses("2xx, 404,500-503"), Ok(vec![(200, 299), (404, 404), (500, 503)]));
        for text in ["", "20", "0xx", "299-200", "2xx-3xx", "ok", "1000"] {
            assert!(statuses(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fields_and_methods_are_what_rfc_9110_allows() {
        assert_eq!(field("A: b: c "), Ok(("A".into(), "b: c".into())));
        assert_eq!(field("A:"), Ok(("A".into(), String::new())));
        for text in ["A", ": b", "A b: c", "A: b\r\nC: d"] {
            assert!(field(text).is_err(), "{text}");
        }
        assert!(method("GET").is_ok() && method("").is_err() && method("GE T").is_err());
    }
}
