//! The report of h2load, which has the mean latency but no quantiles.

use super::reported::{Reported, duration_us};

/// Reads the report; `None` if the format is unexpected. Requests in flight at the end of a timed run are not
/// errors: h2load does not count them at all.
pub(super) fn parse(report: &str) -> Option<Reported> {
    let (mut reported, mut found) = (Reported::default(), 0);
    for line in report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["finished", "in", time, ..] => {
                reported.seconds = duration_us(time.trim_end_matches(','))? / 1e6;
                found += 1;
            }
            ["requests:", total, "total,", _, "started,", _, "done,", succeeded, "succeeded,", ..] => {
                reported.responses = succeeded.parse().ok()?;
                reported.errors = total.parse::<u64>().ok()?.saturating_sub(reported.responses);
                found += 1;
            }
            ["time", "for", "request:", _, _, mean, ..] => reported.mean_us = Some(duration_us(mean)?),
            _ => {}
        }
    }
    (found == 2).then_some(reported)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
starting benchmark...
finished in 3.00s, 123456.00 req/s, 80.12MB/s
requests: 370368 total, 372868 started, 370368 done, 370300 succeeded, 68 failed, 60 errored, 8 timeout
status codes: 370300 2xx, 0 3xx, 8 4xx, 0 5xx
traffic: 240.36MB (252034567) total, 8.12MB (8512345) headers (space savings 93.80%), 216.16MB (226665216) data
                     min         max         mean         sd        +/- sd
time for request:      103us     12.34ms       1.40ms       123us    85.00%
time for connect:       40us       7.00s       100us         1us    85.00%
req/s           :    2100.00     2500.00     2469.00      10.00    70.00%
";

    #[test]
    fn the_report_gives_successes_time_and_the_mean_latency() {
        let expected = Reported {
            responses: 370_300,
            errors: 68,
            seconds: 3.0,
            mean_us: Some(1400.0),
            p50_us: None,
            p99_us: None,
        };
        assert_eq!(parse(REPORT), Some(expected));
    }

    #[test]
    fn anything_else_is_no_report() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("starting benchmark...\nfinished in 1.00s, 0 req/s, 0B/s\n"), None);
    }
}
