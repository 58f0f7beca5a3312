//! The UTC offset of local time, even after 2038 on systems with a 32-bit `time_t`.

/// The calendar repeats with the same weekdays after this many years, from 1901 to 2099.
const CYCLE: i64 = 28;
/// The end of the year 9999.
const LAST: u64 = 253_402_300_799;
const DAY: i64 = 86_400;

/// Offset of local time (`TZ`, `/etc/localtime`) from UTC in seconds, at a Unix time; 0 if the system cannot tell.
pub fn local_offset(unix: u64) -> i32 {
    offset_at(libc::time_t::try_from(unix).unwrap_or_else(|_| alike(unix)))
}

#[allow(unsafe_code)]
fn offset_at(time: libc::time_t) -> i32 {
    let mut local = std::mem::MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid for the call; all-zero bytes are a valid `tm`, so it may be read
    // even if the call fails.
    let local = unsafe {
        libc::localtime_r(&raw const time, local.as_mut_ptr());
        local.assume_init()
    };
    i32::try_from(local.tm_gmtoff).unwrap_or(0)
}

/// The same moment in the latest year before 2038 with the same calendar: daylight saving rules are based on weekdays
/// and dates, so those of that year apply.
fn alike(unix: u64) -> libc::time_t {
    let unix = unix.min(LAST) as i64;
    let (year, day) = year_of(unix / DAY);
    let is_alike =
        |other: &i64| first_weekday(*other) == first_weekday(year) && days_in(*other) == days_in(year);
    // A 32-bit time ends in January 2038.
    let other = (2038 - CYCLE..2038).rev().find(is_alike).unwrap_or(2037);
    libc::time_t::try_from((days_before(other) + day) * DAY + unix % DAY).unwrap_or(0)
}

/// The year of a day since 1970, and the day within it.
fn year_of(day: i64) -> (i64, i64) {
    let mut year = 1970 + day / 366;
    while days_before(year + 1) <= day {
        year += 1;
    }
    (year, day - days_before(year))
}

/// Days from 1970 to January 1 of the year.
fn days_before(year: i64) -> i64 {
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    365 * (year - 1970) + leaps(year - 1) - leaps(1969)
}

fn days_in(year: i64) -> i64 {
    days_before(year + 1) - days_before(year)
}

/// 1970 began on a Thursday.
fn first_weekday(year: i64) -> i64 {
    (days_before(year) + 4) % 7
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the first second beyond 32 bits to the end of 2099.
    const BEYOND: std::ops::Range<u64> = 1 << 31..4_102_444_800;

    #[test]
    #[allow(clippy::useless_conversion, reason = "a moment has 32 bits on machines of 32")]
    fn a_moment_beyond_32_bits_has_one_like_it_before() {
        for unix in BEYOND.step_by(40_009) {
            let other = alike(unix);
            let (time, like) = (unix as i64, i64::from(other));
            assert!((0..1 << 31).contains(&like), "{unix}");
            assert_eq!(
                (time % DAY, (time / DAY) % 7),
                (like % DAY, (like / DAY) % 7),
                "{unix}: time and weekday"
            );
            let ((year, day), (other_year, other_day)) = (year_of(time / DAY), year_of(like / DAY));
            assert_eq!((day, days_in(year)), (other_day, days_in(other_year)), "{unix}: date");
        }
        assert_eq!((alike(u64::MAX), alike(LAST)), (alike(LAST), alike(LAST)));
    }

    #[test]
    fn years_begin_when_they_do() {
        for (year, seconds, days) in [
            (1970, 0, 365),
            (2000, 946_684_800, 366),
            (2038, 2_145_916_800, 365),
            (2100, 4_102_444_800_i64, 365),
        ] {
            assert_eq!((days_before(year) * DAY, days_in(year)), (seconds, days), "{year}");
            assert_eq!(year_of(seconds / DAY), (year, 0));
            assert_eq!(year_of(seconds / DAY + days - 1), (year, days - 1));
        }
    }

    /// The time zone is a property of the process, so the test runs in one of its own.
    #[test]
    fn summer_time_goes_on_beyond_32_bits() {
        const CHILD: &str = "HAYAMI_TEST_OF_LOCAL_TIME";
        if std::env::var_os(CHILD).is_none() {
            let own = std::env::current_exe().expect("a program");
            let mut child = std::process::Command::new(own);
            child.args(["--exact", "local_time::tests::summer_time_goes_on_beyond_32_bits"]);
            child.env(CHILD, "1").env("TZ", "CET-1CEST,M3.5.0,M10.5.0/3");
            return assert!(child.output().expect("it starts").status.success());
        }
        let offsets: Vec<_> = BEYOND.step_by(10_007).map(|unix| offset_at(alike(unix))).collect();
        assert!(offsets.contains(&3600) && offsets.contains(&7200));
        // Compare with the system, where it can tell.
        for (unix, offset) in BEYOND.step_by(10_007).zip(offsets) {
            if let Ok(time) = libc::time_t::try_from(unix) {
                assert_eq!(offset, offset_at(time), "{unix}");
            }
        }
    }
}
