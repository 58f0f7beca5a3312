//! The results in machine-readable form: every sample of every round.

use serde_json::{Map, Value, json};

use super::Report;
use crate::race::{Row, Table};
use crate::targets::{Limit, Verdict};
use crate::workload::Group;

/// The report on a group.
pub(crate) fn json(report: &Report, group: Group) -> Value {
    let machine = &report.machine;
    let versions: Map<String, Value> = report
        .versions
        .iter()
        .map(|(server, version)| {
            let value =
                version.as_ref().map_or_else(|reason| json!({ "missing": reason }), |text| json!(text));
            (server.name().to_owned(), value)
        })
        .collect();
    json!({
        "command": report.command,
        "plan": report.plan,
        "commit": machine.commit,
        "date": machine.date,
        "machine": { "cpu": machine.cpu, "cores": machine.cores, "kernel": machine.kernel },
        "versions": versions,
        "workloads": report.tables_of(group).map(table).collect::<Vec<_>>(),
        "targets": report.verdicts_of(group).into_iter().map(verdict).collect::<Vec<_>>(),
    })
}

fn table(table: &Table) -> Value {
    json!({
        "name": table.workload.name,
        "about": table.workload.about,
        "notes": table.notes,
        "not_run": table.workload.absent.iter().map(|(row, reason)| json!({ "row": row, "reason": reason })).collect::<Vec<_>>(),
        "servers": table.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    let rounds = row.samples.iter().map(|sample| {
        sample
            .iter()
            .map(|(figure, value)| (figure.heading().to_owned(), json!(value)))
            .collect::<Map<_, _>>()
    });
    let medians: Map<String, Value> = row
        .samples
        .first()
        .into_iter()
        .flat_map(|sample| sample.keys())
        .map(|figure| (figure.heading().to_owned(), json!(row.spread(*figure).map(|spread| spread.median))))
        .collect();
    json!({
        "server": row.server.name(),
        "bytes_per_response": row.bytes,
        "peak_memory_bytes": row.peak_memory,
        "fault": row.fault,
        "medians": medians,
        "rounds": rounds.map(Value::Object).collect::<Vec<_>>(),
    })
}

fn verdict(verdict: &Verdict) -> Value {
    let (bound, limit) = match verdict.target.limit {
        Limit::TimesAtMost(_, limit) => ("at most times", limit),
        Limit::TimesAtLeast(_, limit) => ("at least times", limit),
        Limit::Plain(limit) => ("at most", limit),
    };
    json!({
        "workload": verdict.target.workload,
        "figure": verdict.target.figure.heading(),
        "against": verdict.target.limit.against().map(|server| server.name()),
        "bound": bound,
        "limit": limit,
        "measured": verdict.measured.map(|spread| spread.median),
        "range": verdict.measured.map(|spread| [spread.min, spread.max]),
        "reached": verdict.is_reached(),
    })
}
