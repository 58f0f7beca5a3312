//! The JSON report of `hayami bench` (docs/bench.md). It includes the server's CPU time while it measured, so
//! that no figure contains warm-up or start-up.

use serde_json::Value;

/// The results of a run. Unknown figures are NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Complete and correct responses.
    pub(crate) responses: u64,
    /// Everything else: refused and broken connections, timeouts, other statuses, wrong lengths.
    pub(crate) errors: u64,
    /// Bytes received, including heads and unfinished responses, excluding TLS.
    pub(crate) bytes: u64,
    /// Bytes of heads received; over HTTP/2, of field blocks.
    pub(crate) head_bytes: u64,
    /// Connections opened.
    pub(crate) connections: u64,
    /// Those of them that resumed a TLS session.
    pub(crate) resumed: u64,
    /// The measured duration.
    pub(crate) seconds: f64,
    /// The median latency in microseconds.
    pub(crate) p50_us: f64,
    /// The 99th percentile of the latency in microseconds.
    pub(crate) p99_us: f64,
    /// User CPU time of the server meanwhile, in microseconds.
    pub(crate) user_us: f64,
    /// System CPU time of the server meanwhile, in microseconds.
    pub(crate) system_us: f64,
    /// The share of its time that the generator's thread was busy.
    pub(crate) generator_share: f64,
}

/// Reads the report on the single target.
///
/// # Errors
/// It is not such a report, or no request was answered.
pub(crate) fn read(report: &str) -> Result<Outcome, String> {
    let document: Value = serde_json::from_str(report).map_err(|error| format!("its report: {error}"))?;
    let total = document.pointer("/targets/0/total").ok_or("its report has no target")?;
    let count = |path: &str| {
        let value = total.pointer(path).and_then(Value::as_u64);
        value.ok_or_else(|| format!("its report has no {path}"))
    };
    // Unknown values are null.
    let number = |path: &str| total.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let outcome = Outcome {
        responses: count("/successes")?,
        errors: count("/errors/total")?,
        bytes: count("/in_bytes")?,
        head_bytes: count("/head_bytes")?,
        connections: count("/connections")?,
        resumed: count("/resumed")?,
        seconds: number("/elapsed_s"),
        p50_us: number("/latency_us/p50"),
        p99_us: number("/latency_us/p99"),
        user_us: number("/server/user_s") * 1e6,
        system_us: number("/server/system_s") * 1e6,
        generator_share: number("/generator/share"),
    };
    if outcome.responses == 0 && (outcome.bytes == 0 || outcome.errors > 0) {
        return Err(format!("no response was right{}", kinds(total)));
    }
    Ok(outcome)
}

/// `: connect 3, reset 5`.
fn kinds(total: &Value) -> String {
    let errors = total.pointer("/errors").and_then(Value::as_object);
    let kinds: Vec<String> = errors
        .into_iter()
        .flatten()
        .filter_map(|(kind, count)| Some((kind, count.as_u64()?)))
        .filter(|(kind, count)| *count > 0 && *kind != "total")
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({ "targets": [{ "total": {
            "successes": 1000, "in_bytes": 800_000, "head_bytes": 180_000, "connections": 10, "resumed": 4,
            "elapsed_s": 2.5, "errors": { "total": 3, "reset": 2, "timeout": 1, "tls": 0 },
            "latency_us": { "p50": 101.5, "p99": 250.0 },
            "generator": { "share": 0.75 },
            "server": { "user_s": 0.5, "system_s": 1.25 },
        } }] })
    }

    #[test]
    fn the_report_gives_counts_times_and_what_the_server_paid() {
        let expected = Outcome {
            responses: 1000,
            errors: 3,
            bytes: 800_000,
            head_bytes: 180_000,
            connections: 10,
            resumed: 4,
            seconds: 2.5,
            p50_us: 101.5,
            p99_us: 250.0,
            user_us: 500_000.0,
            system_us: 1_250_000.0,
            generator_share: 0.75,
        };
        assert_eq!(read(&report().to_string()), Ok(expected));
    }

    #[test]
    fn what_the_generator_does_not_know_is_no_number() {
        let mut report = report();
        for unknown in ["server", "latency_us"] {
            report["targets"][0]["total"][unknown] = Value::Null;
        }
        let outcome = read(&report.to_string()).unwrap();
        assert!(outcome.user_us.is_nan() && outcome.p99_us.is_nan());
        assert_eq!(outcome.responses, 1000);
    }

    #[test]
    fn a_run_without_a_right_answer_is_a_fault_that_names_the_errors() {
        let mut report = report();
        let total = &mut report["targets"][0]["total"];
        total["successes"] = json!(0);
        assert_eq!(read(&report.to_string()).unwrap_err(), "no response was right: reset 2, timeout 1");
        // A large file may be in progress all the time, which is not a fault.
        report["targets"][0]["total"]["errors"] = json!({ "total": 0 });
        assert!(read(&report.to_string()).is_ok());
        report["targets"][0]["total"]["in_bytes"] = json!(0);
        assert_eq!(read(&report.to_string()).unwrap_err(), "no response was right");
    }

    #[test]
    fn anything_else_is_no_report() {
        for (text, words) in [
            ("", "its report"),
            ("{}", "no target"),
            (r#"{"targets":[{"total":{"successes":1}}]}"#, "/errors/total"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
