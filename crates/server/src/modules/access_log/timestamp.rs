//! Times in a log line: `%t`, its fractions, and `strftime` in the C locale.

use crate::calendar::{Civil, Moment};
use std::io::Write;

/// How a time is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// `[02/Jan/2006:15:04:05 -0700]`
    Bracketed,
    Seconds,
    Milliseconds,
    Microseconds,
    MillisecondFraction,
    MicrosecondFraction,
    /// The conversions of `strftime` with the text between them.
    Strftime(Vec<Part>),
}

/// A part of a `strftime` format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Conversion(char),
}

/// The supported conversions. The modifiers `E` and `O` have no effect in the C locale.
const CONVERSIONS: &str = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%";

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl TimeFormat {
    /// The format called `name` in `%{name}t`.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        Ok(match name {
            "sec" => Self::Seconds,
            "msec" => Self::Milliseconds,
            "usec" => Self::Microseconds,
            "msec_frac" => Self::MillisecondFraction,
            "usec_frac" => Self::MicrosecondFraction,
            _ => Self::Strftime(
                strftime_parts(name)
                    .map_err(|odd| format!("invalid format `%{{{name}}}t`: strftime has no `%{odd}`"))?,
            ),
        })
    }

    /// Whether it needs a resolution finer than a second.
    pub(super) fn is_fine(&self) -> bool {
        !matches!(self, Self::Bracketed | Self::Seconds | Self::Strftime(_))
    }

    /// Appends `at` to `out`.
    pub(super) fn push(&self, at: &Moment, out: &mut Vec<u8>) {
        let micros = u64::from(at.micros);
        // Writing to a Vec cannot fail.
        let _ = match self {
            Self::Bracketed => {
                let local = at.local();
                let month = &MONTHS[local.month as usize - 1][..3];
                write!(out, "[{:02}/{month}/{}:", local.day, local.year)
                    .and_then(|()| write!(out, "{:02}:{:02}:{:02} ", local.hour, local.minute, local.second))
                    .and_then(|()| write!(out, "{}]", Offset(at.offset)))
            }
            Self::Seconds => write!(out, "{}", at.unix),
            Self::Milliseconds => write!(out, "{}", at.unix * 1000 + micros / 1000),
            Self::Microseconds => write!(out, "{}", at.unix * 1_000_000 + micros),
            Self::MillisecondFraction => write!(out, "{:03}", micros / 1000),
            Self::MicrosecondFraction => write!(out, "{micros:06}"),
            Self::Strftime(parts) => {
                let local = at.local();
                parts.iter().for_each(|part| match part {
                    Part::Text(text) => out.extend_from_slice(text.as_bytes()),
                    Part::Conversion(letter) => convert(*letter, at, &local, out),
                });
                Ok(())
            }
        };
    }
}

fn strftime_parts(text: &str) -> Result<Vec<Part>, char> {
    let mut parts = Vec::new();
    let mut pieces = text.split('%');
    parts.extend(pieces.next().filter(|text| !text.is_empty()).map(|text| Part::Text(text.to_owned())));
    while let Some(piece) = pieces.next() {
        // Two percent signs in a row leave an empty piece between them.
        let piece =
            if piece.is_empty() { format!("%{}", pieces.next().ok_or(' ')?) } else { piece.to_owned() };
        let conversion = piece.trim_start_matches(['E', 'O']);
        let letter = conversion.chars().next().ok_or(' ')?;
        if !CONVERSIONS.contains(letter) {
            return Err(letter);
        }
        parts.push(Part::Conversion(letter));
        let rest = &conversion[letter.len_utf8()..];
        parts.extend((!rest.is_empty()).then(|| Part::Text(rest.to_owned())));
    }
    Ok(parts)
}

/// `+0900`
struct Offset(i32);

impl std::fmt::Display for Offset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        let minutes = self.0.unsigned_abs() / 60;
        write!(f, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
    }
}

/// One conversion of `strftime` (POSIX), and glibc's `k`, `l`, `P` and `s`.
fn convert(letter: char, at: &Moment, local: &Civil, out: &mut Vec<u8>) {
    let day = DAYS[local.weekday as usize];
    let month = MONTHS[local.month as usize - 1];
    let hour12 = (local.hour + 11) % 12 + 1;
    let half = if local.hour < 12 { "AM" } else { "PM" };
    let all = |text: &str, out: &mut Vec<u8>| {
        text.chars().for_each(|c| match c {
            ' ' | ':' | '/' | '-' => out.push(c as u8),
            letter => convert(letter, at, local, out),
        })
    };
    // Writing to a Vec cannot fail.
    let _ = match letter {
        'a' => write!(out, "{}", &day[..3]),
        'A' => write!(out, "{day}"),
        'b' | 'h' => write!(out, "{}", &month[..3]),
        'B' => write!(out, "{month}"),
        'c' => return all("a b e T Y", out),
        'C' => write!(out, "{:02}", local.year / 100),
        'd' => write!(out, "{:02}", local.day),
        'D' | 'x' => return all("m/d/y", out),
        'e' => write!(out, "{:2}", local.day),
        'F' => return all("Y-m-d", out),
        'g' => write!(out, "{:02}", local.iso_week().0 % 100),
        'G' => write!(out, "{}", local.iso_week().0),
        'H' => write!(out, "{:02}", local.hour),
        'I' => write!(out, "{hour12:02}"),
        'j' => write!(out, "{:03}", local.yearday + 1),
        'k' => write!(out, "{:2}", local.hour),
        'l' => write!(out, "{hour12:2}"),
        'm' => write!(out, "{:02}", local.month),
        'M' => write!(out, "{:02}", local.minute),
        // A log line must remain one line.
        'n' | 't' => write!(out, " "),
        'p' => write!(out, "{half}"),
        'P' => write!(out, "{}", half.to_ascii_lowercase()),
        'r' => return all("I:M:S p", out),
        'R' => return all("H:M", out),
        's' => write!(out, "{}", at.unix),
        'S' => write!(out, "{:02}", local.second),
        'T' | 'X' => return all("H:M:S", out),
        'u' => write!(out, "{}", (local.weekday + 6) % 7 + 1),
        'U' => write!(out, "{:02}", (local.yearday + 7 - local.weekday) / 7),
        'V' => write!(out, "{:02}", local.iso_week().1),
        'w' => write!(out, "{}", local.weekday),
        'W' => write!(out, "{:02}", (local.yearday + 7 - (local.weekday + 6) % 7) / 7),
        'y' => write!(out, "{:02}", local.year % 100),
        'Y' => write!(out, "{}", local.year),
        'z' => write!(out, "{}", Offset(at.offset)),
        // The zone's name would need its tables.
        'Z' if at.offset == 0 => write!(out, "UTC"),
        'Z' => write!(out, "{}", Offset(at.offset)),
        _ => write!(out, "%"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, unix: u64, offset: i32) -> String {
        let mut out = Vec::new();
        TimeFormat::new(name).unwrap().push(&Moment { unix, micros: 4_056, offset }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_default_is_apaches() {
        let mut out = Vec::new();
        TimeFormat::Bracketed.push(&Moment { unix: 1_136_239_445, micros: 0, offset: -25_200 }, &mut out);
        assert_eq!(out, b"[02/Jan/2006:15:04:05 -0700]");
    }

    #[test]
    fn seconds_have_whole_numbers_and_fractions() {
        let cases = [
            ("sec", "1136239445"),
            ("msec", "1136239445004"),
            ("usec", "1136239445004056"),
            ("msec_frac", "004"),
            ("usec_frac", "004056"),
        ];
        for (name, want) in cases {
            assert_eq!(text(name, 1_136_239_445, 0), want, "{name}");
        }
    }

    /// The right side is the output of `date -u -d @N +FORMAT` with LC_ALL=C.
    #[test]
    fn strftime_does_what_the_c_library_does() {
        let all = "%a %A %b %B %C %d %D %e %F %g %G %h %H %I %j %k %l %m %M %p %P %r %R %S %T %u %U %V %w %W %y %Y %Z %%";
        let cases = [
            (
                0,
                "Thu Thursday Jan January 19 01 01/01/70  1 1970-01-01 70 1970 Jan 00 12 001  0 12 01 00 AM am 12:00:00 AM 00:00 00 00:00:00 4 00 01 4 00 70 1970 UTC %",
            ),
            (
                951_827_696,
                "Tue Tuesday Feb February 20 29 02/29/00 29 2000-02-29 00 2000 Feb 12 12 060 12 12 02 34 PM pm 12:34:56 PM 12:34 56 12:34:56 2 09 09 2 09 00 2000 UTC %",
            ),
            (
                1_735_603_199,
                "Mon Monday Dec December 20 30 12/30/24 30 2024-12-30 25 2025 Dec 23 11 365 23 11 12 59 PM pm 11:59:59 PM 23:59 59 23:59:59 1 52 01 1 53 24 2024 UTC %",
            ),
            (
                4_107_542_399,
                "Sun Sunday Feb February 21 28 02/28/00 28 2100-02-28 00 2100 Feb 23 11 059 23 11 02 59 PM pm 11:59:59 PM 23:59 59 23:59:59 7 09 08 0 08 00 2100 UTC %",
            ),
        ];
        for (unix, want) in cases {
            assert_eq!(text(all, unix, 0), want);
        }
        assert_eq!(
            text("%c|%s|%z|%Ey%n", 1_136_239_445, 34_200),
            "Tue Jan  3 07:34:05 2006|1136239445|+0930|06 "
        );
    }

    #[test]
    fn unknown_conversions_are_told() {
        for (name, odd) in [("%Q", 'Q'), ("%H:%", ' '), ("%E", ' '), ("%%%J", 'J')] {
            assert!(
                TimeFormat::new(name).unwrap_err().ends_with(&format!("strftime has no `%{odd}`")),
                "{name}"
            );
        }
    }
}
