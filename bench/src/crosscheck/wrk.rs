//! The report of wrk with `--latency`.

use super::reported::{Reported, duration_us};

/// Reads the report; `None` if the format is unexpected.
pub(super) fn parse(report: &str) -> Option<Reported> {
    let (mut reported, mut complete) = (Reported::default(), false);
    for line in report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Latency", mean, _, _, _] => reported.mean_us = Some(duration_us(mean)?),
            ["50%", value] => reported.p50_us = Some(duration_us(value)?),
            ["99%", value] => reported.p99_us = Some(duration_us(value)?),
            [count, "requests", "in", time, _, "read"] => {
                reported.responses = count.parse().ok()?;
                reported.seconds = duration_us(time.trim_end_matches(','))? / 1e6;
                complete = true;
            }
            ["Socket", "errors:", "connect", a, "read", b, "write", c, "timeout", d] => {
                reported.errors += counts(&[a, b, c, d])?;
            }
            ["Non-2xx", "or", "3xx", "responses:", count] => {
                let refused: u64 = count.parse().ok()?;
                reported.errors += refused;
                reported.responses = reported.responses.saturating_sub(refused);
            }
            _ => {}
        }
    }
    complete.then_some(reported)
}

fn counts(words: &[&str]) -> Option<u64> {
    words.iter().map(|word| word.trim_end_matches(',').parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Running 3s test @ http://127.0.0.1:41231/
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.05ms  112.40us   6.03ms   91.20%
    Req/Sec    95.14k     3.32k  101.02k    73.33%
  Latency Distribution
     50%    1.03ms
     75%    1.08ms
     90%    1.13ms
     99%  653.00us
  285420 requests in 3.10s, 229.21MB read
Requests/sec:  94683.12
Transfer/sec:     76.02MB
";

    #[test]
    fn the_report_gives_responses_time_and_latencies() {
        let expected = Reported {
            responses: 285_420,
            errors: 0,
            seconds: 3.1,
            mean_us: Some(1050.0),
            p50_us: Some(1030.0),
            p99_us: Some(653.0),
        };
        assert_eq!(parse(REPORT), Some(expected));
    }

    #[test]
    fn errors_of_sockets_and_statuses_are_counted_and_not_successes() {
        let extra =
            "  Socket errors: connect 1, read 20, write 300, timeout 4000\n  Non-2xx or 3xx responses: 420\n";
        let reported = parse(&REPORT.replace("Requests/sec", &format!("{extra}Requests/sec")));
        let counted = reported.map(|reported| (reported.responses, reported.errors));
        assert_eq!(counted, Some((285_000, 4321 + 420)));
    }

    #[test]
    fn anything_else_is_no_report() {
        assert_eq!(parse("unable to connect to 127.0.0.1:1 Connection refused\n"), None);
    }
}
