//! Dates as HTTP writes them (RFC 9110 §5.6.7), as seconds since 1970 (Unix time).
//!
//! Not here: a clock (the caller knows the time) and the access log's own date format.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

/// Length of a date in the preferred format, in bytes.
pub const LEN: usize = 29;

/// The last second of the year 9999, the last one that the format can represent.
const LAST: u64 = 253_402_300_799;

/// `seconds` in the preferred format, IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`. A time after the
/// year 9999 becomes the end of that year.
pub fn format(seconds: u64) -> [u8; LEN] {
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    let mut text = [0; LEN];
    write!(&mut text[..], "{}", httpdate::HttpDate::from(time)).expect("an IMF-fixdate has 29 bytes");
    text
}

/// The seconds that a date in one of the three formats stands for: IMF-fixdate, RFC 850, asctime. All
/// are GMT. `None` if it has none of these formats, lies before 1970, or if there is no such day.
///
/// Two digits of a year mean 1970 to 2069. RFC 9110 §5.6.7 wants a sliding window, which differs from this
/// fixed one only for years that no file has yet.
pub fn parse(text: &[u8]) -> Option<u64> {
    let time = httpdate::parse_http_date(str::from_utf8(text).ok()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// A second together with its text, for callers that write the same Date field many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    seconds: u64,
    text: [u8; LEN],
}

impl Date {
    /// The date of that second.
    pub fn new(seconds: u64) -> Self {
        Self { seconds, text: format(seconds) }
    }

    /// Moves to another second; formats only if it is another one.
    pub fn set(&mut self, seconds: u64) {
        if seconds != self.seconds {
            *self = Self::new(seconds);
        }
    }

    /// Seconds since 1970.
    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    /// The text, an IMF-fixdate.
    pub fn as_bytes(&self) -> &[u8; LEN] {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seconds_are_written_as_imf_fixdate() {
        let cases = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (LAST, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ];
        for (seconds, want) in cases {
            assert_eq!(format(seconds), want.as_bytes(), "{seconds}");
        }
    }

    #[test]
    fn all_three_formats_are_understood_and_nothing_else() {
        let cases = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Thursday, 01-Jan-70 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2000 00:00:00 GMT", Some(951_782_400)),
            ("Thu, 29 Feb 2001 00:00:00 GMT", None),
            ("Sun, 06 Nov 1994 24:00:00 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 1994 08:49:37", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", None),
            ("Wed, 31 Dec 1969 23:59:59 GMT", None),
            ("1994-11-06T08:49:37Z", None),
            ("784111777", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text.as_bytes()), want, "{text:?}");
        }
    }

    #[test]
    fn a_date_follows_the_clock_both_ways() {
        let mut date = Date::new(784_111_777);
        for seconds in [784_111_777, 784_111_778, 784_111_770] {
            date.set(seconds);
            assert_eq!((date.seconds(), parse(date.as_bytes())), (seconds, Some(seconds)));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in 0..=LAST) {
            prop_assert_eq!(parse(&format(seconds)), Some(seconds));
        }

        #[test]
        fn any_bytes_are_a_date_or_none(text: Vec<u8>) {
            let _ = parse(&text);
        }

        #[test]
        fn nearly_dates_are_a_date_or_none(at in 0..LEN, byte: u8) {
            let mut text = format(784_111_777);
            text[at] = byte;
            let _ = parse(&text);
        }
    }
}
