//! Markdown with aligned tables, so that it is readable in a terminal too.

use super::Report;
use crate::figure::Figure;
use crate::race::{Row, Table};
use crate::statistics::Spread;
use crate::targets::{Limit, Verdict};

/// The command, the machine, the versions.
pub(crate) fn heading(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = format!(
        "- command: `{}`\n- plan: {}\n- commit: {}\n- date: {}\n- machine: {}, {} cores, Linux {}\n",
        report.command, report.plan, machine.commit, machine.date, machine.cpu, machine.cores, machine.kernel
    );
    for (server, version) in &report.versions {
        let version = match version {
            Ok(version) => version.clone(),
            Err(reason) => format!("not raced: {reason}"),
        };
        text += &format!("- {}: {version}\n", server.name());
    }
    text
}

/// One workload: a row per server.
pub(crate) fn lanes(table: &Table) -> String {
    let workload = &table.workload;
    let mut lines = vec![vec!["server".to_owned()]];
    lines[0].extend(workload.columns.iter().map(|figure| figure.heading().to_owned()));
    lines[0].extend(["peak MB".to_owned(), "bytes/response".to_owned()]);
    lines.extend(
        table.rows.iter().filter(|row| !row.samples.is_empty()).map(|row| cells(row, workload.columns)),
    );
    let mut text = format!("## {}: {}\n\n{}", workload.name, workload.about, grid(&lines));
    let faults = table.rows.iter().filter_map(|row| Some((row.server.name(), row.fault.as_ref()?)));
    for (server, fault) in faults {
        text += &format!("\n{server}: {fault}\n");
    }
    for (row, reason) in workload.absent {
        text += &format!("\nnot run: {row}: {reason}\n");
    }
    for note in &table.notes {
        text += &format!("\n{note}\n");
    }
    text
}

/// The deciding column also has its range; the others have the median only.
fn cells(row: &Row, columns: &[Figure]) -> Vec<String> {
    let mut cells = vec![row.server.name().to_owned()];
    cells.extend(columns.iter().enumerate().map(|(index, figure)| match row.spread(*figure) {
        Some(spread) if index == 0 => with_range(spread, figure.decimals()),
        Some(spread) => format!("{:.*}", figure.decimals(), spread.median),
        None => "-".to_owned(),
    }));
    cells.push(format!("{:.1}", row.peak_memory as f64 / 1e6));
    cells.push(row.bytes.to_string());
    cells
}

/// The targets and whether they were reached.
pub(crate) fn verdicts(verdicts: &[&Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let headings = ["workload", "figure of hayami", "against", "to reach", "measured (rounds)", ""];
    let mut lines = vec![headings.map(str::to_owned).to_vec()];
    lines.extend(verdicts.iter().copied().map(verdict));
    let missed = verdicts.iter().filter(|verdict| verdict.is_reached() == Some(false)).count();
    let reached = verdicts.iter().filter(|verdict| verdict.is_reached() == Some(true)).count();
    let open = verdicts.len() - missed - reached;
    format!(
        "## To reach\n\n{}\n{reached} reached, {missed} not reached, {open} not measured.\n",
        grid(&lines)
    )
}

fn verdict(verdict: &Verdict) -> Vec<String> {
    let target = verdict.target;
    let decimals = if target.limit.against().is_some() { 2 } else { target.figure.decimals() };
    let (against, limit) = match target.limit {
        Limit::TimesAtMost(server, times) => (server.name(), format!("≤ {times:.2}")),
        Limit::TimesAtLeast(server, times) => (server.name(), format!("≥ {times:.2}")),
        Limit::Plain(most) => ("-", format!("≤ {most}")),
    };
    let measured = verdict.measured.map_or("-".to_owned(), |spread| with_range(spread, decimals));
    let outcome = match verdict.is_reached() {
        Some(true) => "reached",
        Some(false) => "NOT reached",
        None => "not measured",
    };
    [target.workload, target.figure.heading(), against, &limit, &measured, outcome]
        .map(str::to_owned)
        .to_vec()
}

fn with_range(spread: Spread, decimals: usize) -> String {
    format!("{:.decimals$} ({:.decimals$}–{:.decimals$})", spread.median, spread.min, spread.max)
}

/// A Markdown table; its first line is the heading.
pub(crate) fn grid(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max())
        .map(|width| width.unwrap_or(0).max(3))
        .collect();
    let render = |line: &Vec<String>| {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text: String = lines.iter().take(1).map(render).collect();
    text += &format!("| {} |\n", rule.join(" | "));
    text.extend(lines.iter().skip(1).map(render));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_by_characters_not_bytes() {
        let lines = [vec!["µs".to_owned(), "server".to_owned()], vec!["1.25".to_owned(), "h2o".to_owned()]];
        assert_eq!(grid(&lines), "| µs   | server |\n| ---- | ------ |\n| 1.25 | h2o    |\n");
    }
}
