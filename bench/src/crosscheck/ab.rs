//! The report of ab and the percentiles that it writes with `-e`: those have three decimals of a millisecond,
//! the report none.

use super::reported::Reported;

/// Reads the report and the table of percentiles; `None` if the format is unexpected.
pub(super) fn parse(report: &str, percentiles: &str) -> Option<Reported> {
    let field = |name: &str| {
        let rest = report.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse::<f64>().ok()
    };
    let complete = field("Complete requests:")?;
    let refused = field("Non-2xx responses:").unwrap_or(0.0);
    let errors = field("Failed requests:")? + refused;
    Some(Reported {
        responses: (complete - errors).max(0.0) as u64,
        errors: errors as u64,
        seconds: field("Time taken for tests:")?,
        // The first of two lines with this name: per request, not across all concurrent requests.
        mean_us: field("Time per request:").map(|ms| ms * 1e3),
        p50_us: percentile(percentiles, "50"),
        p99_us: percentile(percentiles, "99"),
    })
}

fn percentile(table: &str, wanted: &str) -> Option<f64> {
    let values = table.lines().filter_map(|line| line.split_once(','));
    let value = values.filter(|(percent, _)| *percent == wanted).find_map(|(_, value)| value.parse().ok());
    value.map(|ms: f64| ms * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Concurrency Level:      100
Time taken for tests:   1.049 seconds
Complete requests:      30000
Failed requests:        0
Total transferred:      25680000 bytes
Requests per second:    28594.58 [#/sec] (mean)
Time per request:       3.497 [ms] (mean)
Time per request:       0.035 [ms] (mean, across all concurrent requests)

Percentage of the requests served within a certain time (ms)
  50%      4
  99%      5
";
    const PERCENTILES: &str =
        "Percentage served,Time in ms\n0,0.412\n5,1.000\n50,3.441\n90,4.700\n99,5.218\n100,7.001\n";

    #[test]
    fn the_report_gives_counts_and_its_table_percentiles() {
        let expected = Reported {
            responses: 30_000,
            errors: 0,
            seconds: 1.049,
            mean_us: Some(3497.0),
            p50_us: Some(3441.0),
            p99_us: Some(5218.0),
        };
        assert_eq!(parse(REPORT, PERCENTILES), Some(expected));
    }

    #[test]
    fn failed_and_refused_requests_are_not_successes() {
        let report = REPORT
            .replace("Failed requests:        0", "Failed requests:        20\nNon-2xx responses:      300");
        let counted =
            parse(&report, "").map(|reported| (reported.responses, reported.errors, reported.p50_us));
        assert_eq!(counted, Some((29_680, 320, None)));
    }

    #[test]
    fn anything_else_is_no_report() {
        assert_eq!(parse("apr_socket_connect(): Connection refused (111)\n", PERCENTILES), None);
    }
}
