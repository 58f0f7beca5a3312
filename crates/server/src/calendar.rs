//! The Gregorian calendar: converts seconds since 1970 to dates and back.

/// A point in time with the UTC offset of local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Seconds since 1970.
    pub(crate) unix: u64,
    /// Microseconds.
    pub(crate) micros: u32,
    /// Seconds by which the local time is ahead of UTC.
    pub(crate) offset: i32,
}

/// A date and time of the Gregorian calendar.
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// 0 is Sunday.
    pub(crate) weekday: i64,
    /// 0 is the first of January.
    pub(crate) yearday: i64,
}

impl Moment {
    pub(crate) fn local(&self) -> Civil {
        let seconds = self.unix as i64 + i64::from(self.offset);
        let (days, rest) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
        let (year, month, day) = date(days);
        Civil {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (days + 4).rem_euclid(7), // 1970 began on a Thursday
            yearday: days - days_before(year, 1, 1),
        }
    }
}

impl Civil {
    /// Year and week of ISO 8601: weeks begin on Monday, the first one has the year's first Thursday.
    pub(crate) fn iso_week(&self) -> (i64, i64) {
        let monday_based = (self.weekday + 6) % 7;
        let thursday = days_before(self.year, 1, 1) + self.yearday - monday_based + 3;
        let year = date(thursday).0;
        (year, (thursday - days_before(year, 1, 1)) / 7 + 1)
    }
}

/// Days from 1970 to a date. Years are counted from March, so that the leap day is the last day.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month > 2 { year } else { year - 1 };
    let months = (month + 9) % 12;
    let yearday = (153 * months + 2) / 5 + day - 1;
    let leap_days = shifted.div_euclid(4) - shifted.div_euclid(100) + shifted.div_euclid(400);
    365 * shifted + leap_days + yearday - 719_468
}

/// Year, month and day of the day `days` after 1 January 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let guess = 1970 + days.div_euclid(366);
    let year = (guess..).find(|year| days_before(year + 1, 1, 1) > days).unwrap_or(guess);
    let month = (1..12).find(|month| days_before(year, month + 1, 1) > days).unwrap_or(12);
    (year, month, days - days_before(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_comes_after_the_one_before() {
        let mut before = date(-1);
        for days in 0..146_097 {
            let (year, month, day) = date(days);
            assert_eq!(days_before(year, month, day), days);
            let new_year = (before.0 + 1, 1, 1);
            let new_month = (before.0, before.1 + 1, 1);
            let next_day = (before.0, before.1, before.2 + 1);
            assert!([next_day, new_month, new_year].contains(&(year, month, day)), "{before:?}");
            before = (year, month, day);
        }
        assert_eq!(before, (2369, 12, 31));
    }
}
