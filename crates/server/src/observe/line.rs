//! The format of a line.

use super::{Severity, Subject};
use crate::calendar::Moment;
use hayami_net::clock::local_offset;
use std::fmt::{self, Write};
use std::time::Duration;

/// Longest line in bytes, with its end: what a pipe accepts atomically (`PIPE_BUF`), so that lines of several processes
/// do not mix.
const LONGEST: usize = 4096;

/// The end of a truncated line.
const CUT: &str = " [...]";

/// The line, with its end.
pub(super) fn line(now: Duration, severity: Severity, subject: Subject, text: &dyn fmt::Display) -> String {
    let mut line = String::with_capacity(200);
    let moment =
        Moment { unix: now.as_secs(), micros: now.subsec_micros(), offset: local_offset(now.as_secs()) };
    // Writing to a String cannot fail; the text's own `Display` may, and its output up to then is kept.
    let _ = write!(line, "{} {severity} {subject}: ", Timestamp(moment));
    let _ = write!(OneLine(&mut line), "{text}");
    line.push('\n');
    line
}

/// RFC 3339 with milliseconds and the offset of the local time: `2026-11-22T14:03:05.123+01:00`.
struct Timestamp(Moment);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(at) = self;
        let local = at.local();
        let (sign, minutes) = (if at.offset < 0 { '-' } else { '+' }, at.offset.unsigned_abs() / 60);
        write!(f, "{:04}-{:02}-{:02}T", local.year, local.month, local.day)?;
        write!(f, "{:02}:{:02}:{:02}.{:03}", local.hour, local.minute, local.second, at.micros / 1000)?;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// Escapes characters that would start another line or control a terminal, and truncates long text.
struct OneLine<'a>(&'a mut String);

impl fmt::Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let needed = if is_special(c) { c.escape_default().len() } else { c.len_utf8() };
            if self.0.len() + needed + CUT.len() + 1 > LONGEST {
                self.0.push_str(CUT);
                // Stops formatting the text.
                return Err(fmt::Error);
            }
            match is_special(c) {
                true => self.0.extend(c.escape_default()),
                false => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// Control characters, the line and paragraph separators, and those that reorder what a terminal shows.
fn is_special(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        line(Duration::from_millis(1_700_000_000_007), Severity::Warn, Subject::Upstream, &text)
    }

    #[test]
    fn a_line_has_time_severity_subject_and_text() {
        let line = written("a: refused");
        let (time, rest) = line.split_at(29);
        assert_eq!(rest, " warn upstream: a: refused\n");
        assert_eq!(&time[13..23], ":13:20.007", "{time}: minutes are the same in most zones");
    }

    #[test]
    fn the_time_is_rfc_3339_with_the_local_offset() {
        let cases = [
            (0, "1970-01-01T00:00:00.007+00:00"),
            (19_800, "1970-01-01T05:30:00.007+05:30"),
            (-34_200, "1969-12-31T14:30:00.007-09:30"),
        ];
        for (offset, want) in cases {
            assert_eq!(Timestamp(Moment { unix: 0, micros: 7_999, offset }).to_string(), want);
        }
    }

    #[test]
    fn a_line_stays_one_line_whatever_the_text() {
        let line = written("a\nb\rc\0d\x1b[31m\u{85}\u{2028}\u{202e}ü\t");
        let text = line.split_once("upstream: ").expect("a subject").1;
        assert_eq!(text, "a\\nb\\rc\\u{0}d\\u{1b}[31m\\u{85}\\u{2028}\\u{202e}ü\\t\n");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        for text in ["x".repeat(100_000), "\n".repeat(5_000), "ü".repeat(3_000)] {
            let line = written(&text);
            assert!(line.len() <= LONGEST && line.len() > LONGEST - 16, "{} bytes", line.len());
            assert!(line.ends_with(" [...]\n"));
            assert_eq!(line.matches('\n').count(), 1);
        }
        let fits = "x".repeat(LONGEST - written("").len() - CUT.len());
        assert!(written(&fits).ends_with("x\n"));
    }
}
