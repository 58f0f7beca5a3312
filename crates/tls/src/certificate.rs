//! The fields of a certificate (RFC 5280 §4.1) that appear in messages and logs.

use crate::der::{Der, Element, SEQUENCE};

/// The reported fields of a certificate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certificate<'a> {
    subject: Element<'a>,
    /// Seconds since 1970: valid from, and until.
    pub(crate) validity: (u64, u64),
}

impl<'a> Certificate<'a> {
    /// Finds the fields; `None` if `der` is not a certificate.
    pub(crate) fn read(der: &'a [u8]) -> Option<Self> {
        let mut fields = Der(der).expect(SEQUENCE)?.inner().expect(SEQUENCE)?.inner();
        let first = fields.next()?; // the version, absent in version 1 certificates, else the serial number
        if first.tag == 0xa0 {
            fields.expect(0x02)?;
        }
        let [_algorithm, _issuer, validity, subject] = [
            fields.expect(SEQUENCE)?,
            fields.expect(SEQUENCE)?,
            fields.expect(SEQUENCE)?,
            fields.expect(SEQUENCE)?,
        ];
        let mut times = validity.inner();
        Some(Self { subject, validity: (time(times.next()?)?, time(times.next()?)?) })
    }

    /// The subject as RFC 4514 writes it, last part first: `CN=alice,O=Example`.
    pub(crate) fn subject(&self) -> String {
        let mut parts = Vec::new();
        let mut names = self.subject.inner();
        while let Some(set) = names.next() {
            parts.extend(set.inner().next().and_then(attribute));
        }
        parts.reverse();
        parts.join(",")
    }
}

/// `CN=alice` of one attribute of a name; those without a short name are left out.
fn attribute(attribute: Element<'_>) -> Option<String> {
    let mut fields = attribute.inner();
    let (kind, value) = (fields.expect(0x06)?, fields.next()?);
    let name = match kind.content {
        [0x55, 4, 3] => "CN",
        [0x55, 4, 6] => "C",
        [0x55, 4, 7] => "L",
        [0x55, 4, 8] => "ST",
        [0x55, 4, 10] => "O",
        [0x55, 4, 11] => "OU",
        _ => return None,
    };
    let mut text = format!("{name}=");
    for c in String::from_utf8_lossy(value.content).chars() {
        // RFC 4514 §2.4, and no characters that would break a log line.
        if matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';') {
            text.push('\\');
        }
        text.push(if c.is_control() { '?' } else { c });
    }
    Some(text)
}

/// UTCTime or GeneralizedTime (RFC 5280 §4.1.2.5) in seconds since 1970.
pub(crate) fn time(element: Element<'_>) -> Option<u64> {
    let text = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
    let (year, rest) = match element.tag {
        0x17 => {
            let year: u64 = text.get(..2)?.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, &text[2..])
        }
        0x18 => (text.get(..4)?.parse().ok()?, &text[4..]),
        _ => return None,
    };
    let two = |at: usize| rest.get(at..at + 2)?.parse::<u64>().ok();
    let days = days_since_1970(year, two(0)?, two(2)?);
    Some(days.max(0) as u64 * 86_400 + two(4)? * 3_600 + two(6)? * 60 + two(8)?)
}

/// Days of the Gregorian calendar; months from March, so that a leap day is the last of its year.
fn days_since_1970(year: u64, month: u64, day: u64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.saturating_sub(1), month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    days as i64 - 719_469
}

/// `2026-01-31` of seconds since 1970.
pub(crate) fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_both_forms() {
        for (tag, text, seconds) in [
            (0x17, "700101000000Z", Some(0)),
            (0x17, "000229000000Z", Some(951_782_400)),
            (0x17, "491231235959Z", Some(2_524_607_999)),
            (0x18, "20500101000000Z", Some(2_524_608_000)),
            (0x18, "19691231235959Z", Some(86_399)), // before 1970: somewhere in its first day
            (0x18, "2050", None),
            (0x17, "7001010000", None),
            (0x02, "700101000000Z", None),
        ] {
            let whole = text.as_bytes();
            assert_eq!(time(Element { tag, content: whole, whole }), seconds, "{text}");
        }
    }

    #[test]
    fn dates_are_written_as_they_were_read() {
        for (seconds, text) in [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (2_524_608_000, "2050-01-01")]
        {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn subjects_are_written_last_part_first_and_on_one_line() {
        let mut params = rcgen::CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "Example, Inc.");
        params.distinguished_name.push(rcgen::DnType::CommonName, "alice\nin");
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let read = Certificate::read(certificate.der()).expect("the fields");
        assert_eq!(read.subject(), "CN=alice?in,O=Example\\, Inc.");
        for len in 0..certificate.der().len() {
            assert!(Certificate::read(&certificate.der()[..len]).is_none());
        }
    }
}
