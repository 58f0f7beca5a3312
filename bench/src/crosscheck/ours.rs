//! The report of `hayami bench --json`: the figures that the other tools have too, and the command of the run.

use serde_json::Value;

use super::reported::Reported;

/// Reads the figures of the single target; `None` if the document is not such a report.
pub(super) fn parse(document: &Value) -> Option<Reported> {
    let total = document.pointer("/targets/0/total")?;
    let latency = |name: &str| total.get("latency_us")?.get(name)?.as_f64();
    Some(Reported {
        responses: total.get("successes")?.as_u64()?,
        errors: total.pointer("/errors/total")?.as_u64()?,
        seconds: total.get("elapsed_s")?.as_f64()?,
        mean_us: latency("mean"),
        p50_us: latency("p50"),
        p99_us: latency("p99"),
    })
}

/// The command as a user types it, without options that only a program needs.
pub(super) fn command(document: &Value) -> Option<String> {
    let words = document.pointer("/about/command")?.as_array()?;
    let mut words = words.iter().filter_map(Value::as_str);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-q" => {}
            "--json" => drop(words.next()),
            _ => kept.push(word),
        }
    }
    Some(kept.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({
            "about": { "command": ["hayami", "bench", "-c", "100", "http://127.0.0.1:80/", "-q", "--json", "/o.json"] },
            "targets": [{ "total": {
                "successes": 31, "elapsed_s": 2.5, "errors": { "total": 2, "reset": 2 },
                "latency_us": { "mean": 10.5, "p50": 9.0, "p99": 40.0 },
            } }],
        })
    }

    #[test]
    fn the_document_gives_counts_time_and_latencies() {
        let expected = Reported {
            responses: 31,
            errors: 2,
            seconds: 2.5,
            mean_us: Some(10.5),
            p50_us: Some(9.0),
            p99_us: Some(40.0),
        };
        assert_eq!(parse(&document()), Some(expected));
        assert_eq!(parse(&json!({ "targets": [] })), None);
    }

    #[test]
    fn the_command_is_without_what_only_a_program_needs() {
        assert_eq!(command(&document()).as_deref(), Some("hayami bench -c 100 http://127.0.0.1:80/"));
    }
}
