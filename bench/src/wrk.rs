//! `wrk`, the load tool of the published small-file rows: run it, read its report.

use std::process::Command;
use std::time::Duration;

use crate::client::Outcome;
use crate::pin;

/// Whether wrk is installed.
pub(crate) fn present() -> bool {
    // wrk prints its version with exit code 1, so only the spawn counts.
    Command::new("wrk").arg("-v").output().is_ok()
}

/// One run of wrk with one thread on `core`.
///
/// # Errors
/// wrk cannot be started, fails, or prints something else than its report.
pub(crate) fn run(
    url: &str,
    connections: usize,
    per_request: bool,
    time: Duration,
    core: usize,
) -> Result<Outcome, String> {
    let mut command = Command::new("wrk");
    command.args(["-t1", "--latency", "--timeout", "5s"]);
    if per_request {
        command.args(["-H", "Connection: close"]);
    }
    command.arg(format!("-c{connections}")).arg(format!("-d{}s", time.as_secs().max(1))).arg(url);
    let output = pin::on_core(core, || command.output()).map_err(|error| format!("wrk: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| format!("wrk: no report: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Reads wrk's report with `--latency`.
fn parse(report: &str) -> Option<Outcome> {
    let words: Vec<Vec<&str>> = report.lines().map(|line| line.split_whitespace().collect()).collect();
    let mut outcome = Outcome::default();
    let mut complete = false;
    for line in &words {
        match line[..] {
            ["50%", value] => outcome.p50_us = duration_us(value)?,
            ["99%", value] => outcome.p99_us = duration_us(value)?,
            [count, "requests", "in", time, amount, "read"] => {
                outcome.responses = count.parse().ok()?;
                outcome.seconds = duration_us(time.trim_end_matches(','))? / 1e6;
                outcome.octets = size(amount)?;
                complete = true;
            }
            ["Socket", "errors:", "connect", a, "read", b, "write", c, "timeout", d] => {
                outcome.errors += counts(&[a, b, c, d])?;
            }
            ["Non-2xx", "or", "3xx", "responses:", count] => {
                let refused: u64 = count.parse().ok()?;
                outcome.errors += refused;
                outcome.responses = outcome.responses.saturating_sub(refused);
            }
            _ => {}
        }
    }
    complete.then_some(outcome)
}

fn counts(words: &[&str]) -> Option<u64> {
    words.iter().map(|word| word.trim_end_matches(',').parse::<u64>().ok()).sum()
}

/// wrk's durations: `653.00us`, `1.05ms`, `3.00s`, `1.20m`.
fn duration_us(text: &str) -> Option<f64> {
    let (number, unit) = split_unit(text)?;
    let factor = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    Some(number * factor)
}

/// wrk's amounts: powers of 1024 with a one-letter prefix.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text)?;
    let power = ["B", "KB", "MB", "GB", "TB"].iter().position(|name| *name == unit)?;
    Some((number * 1024_f64.powi(power as i32)) as u64)
}

fn split_unit(text: &str) -> Option<(f64, &str)> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    Some((text[..at].parse().ok()?, &text[at..]))
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
    fn the_report_gives_responses_time_octets_and_latencies() {
        let outcome = parse(REPORT).unwrap();
        assert_eq!(outcome.responses, 285_420);
        assert_eq!(outcome.errors, 0);
        assert_eq!(outcome.octets, (229.21 * 1048576.0) as u64);
        assert!((outcome.seconds - 3.1).abs() < 1e-9);
        assert!((outcome.p50_us - 1030.0).abs() < 1e-9);
        assert!((outcome.p99_us - 653.0).abs() < 1e-9);
    }

    #[test]
    fn errors_of_sockets_and_statuses_are_counted_and_not_successes() {
        let extra =
            "  Socket errors: connect 1, read 20, write 300, timeout 4000\n  Non-2xx or 3xx responses: 420\n";
        let outcome = parse(&REPORT.replace("Requests/sec", &format!("{extra}Requests/sec"))).unwrap();
        assert_eq!(outcome.errors, 4321 + 420);
        assert_eq!(outcome.responses, 285_000);
    }

    #[test]
    fn durations_and_amounts_come_in_all_of_wrks_units() {
        for (text, us) in [("0.00us", 0.0), ("2.50ms", 2500.0), ("1.20s", 1.2e6), ("1.00m", 60e6)] {
            assert_eq!(duration_us(text), Some(us), "{text}");
        }
        for (text, octets) in [("12.00B", 12), ("1.50KB", 1536), ("2.00GB", 2 << 30)] {
            assert_eq!(size(text), Some(octets), "{text}");
        }
        assert_eq!((duration_us("12"), duration_us("x"), size("3.0XB")), (None, None, None));
    }

    #[test]
    fn anything_else_is_no_report() {
        assert!(parse("unable to connect to 127.0.0.1:1 Connection refused\n").is_none());
    }
}
