//! All samples behind the page, in machine-readable form.

use serde_json::{Value, json};

use super::Measured;
use super::step::Sample;

/// All results.
pub(super) fn json(measured: &Measured) -> Value {
    let machine = &measured.machine;
    let series = measured.samples.iter().map(|((pooling, step), samples)| {
        let rounds: Vec<Value> = samples.iter().map(sample).collect();
        json!({ "connections": pooling.name(), "step": step, "rounds": rounds })
    });
    json!({
        "command": measured.command,
        "plan": measured.plan,
        "commit": machine.commit,
        "date": machine.date,
        "machine": { "cpu": machine.cpu, "cores": machine.cores, "kernel": machine.kernel },
        "versions": measured.versions,
        "series": series.collect::<Vec<_>>(),
        "faults": measured.faults,
    })
}

fn sample(sample: &Sample) -> Value {
    let [hayami, api, database] = sample.cost_us;
    let [to_api, to_database] = sample.opened;
    json!({
        "connections": sample.connections,
        "responses_per_s": sample.rate,
        "p50_us": sample.p50_us,
        "p99_us": sample.p99_us,
        "errors": sample.errors,
        "cpu_us_per_response": { "hayami": hayami, "api": api, "database": database },
        "connections_opened_per_1000": { "api": to_api, "database": to_database },
    })
}
