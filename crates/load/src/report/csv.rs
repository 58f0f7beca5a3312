//! A line for each run: target, round, figures. For spreadsheets and data frames (RFC 4180).

use super::{PERCENTILES, Report, figure};
use crate::{Histogram, Outcome};
use std::fmt::Display;
use std::time::Duration;

/// The table, its first line naming the columns. An unknown figure is an empty cell; durations are in the
/// unit that their column's name ends with.
#[must_use]
pub fn csv(report: &Report<'_>) -> String {
    let mut out = String::new();
    let mut rounds = vec![0_usize; report.plan.targets.len()];
    let mut head = true;
    for outcome in report.outcomes {
        let Some(round) = rounds.get_mut(outcome.target) else { continue };
        *round += 1;
        let name = &report.plan.targets[outcome.target].name;
        let cells = cells(name, *round, outcome);
        if std::mem::take(&mut head) {
            line(&mut out, cells.iter().map(|(column, _)| column.clone()));
        }
        line(&mut out, cells.into_iter().map(|(_, value)| value));
    }
    out
}

type Cell = (String, String);

fn cell(column: &str, value: impl Display) -> Cell {
    (column.to_owned(), value.to_string())
}

fn cells(name: &str, round: usize, outcome: &Outcome) -> Vec<Cell> {
    let tally = &outcome.tally;
    let mut cells = vec![
        cell("target", name),
        cell("round", round),
        cell("started", figure::moment(outcome.started)),
        cell("ended", format!("{:?}", outcome.ended).to_lowercase()),
        cell("elapsed_s", seconds(outcome.elapsed)),
        cell("requests", tally.requests),
        cell("responses", tally.responses),
        cell("successes", tally.successes()),
        cell("connections", tally.connections),
        cell("connections_before", tally.connect_before.count()),
        cell("resumed", tally.resumed),
        cell("bytes_in", tally.bytes_in),
        cell("bytes_out", tally.bytes_out),
        cell("bytes_head", tally.bytes_head),
        cell("bytes_content", tally.bytes_content),
    ];
    let classes = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];
    cells.extend(
        classes
            .iter()
            .zip(tally.statuses.classes())
            .map(|(class, count)| cell(&format!("status_{class}"), count)),
    );
    cells.extend(tally.errors.by_kind().map(|(kind, count)| cell(&format!("error_{kind}"), count)));
    cells.push(cell("lost", tally.errors.lost));
    times(&mut cells, "latency", Some(&tally.latency));
    times(&mut cells, "uncorrected", tally.uncorrected.as_ref());
    times(&mut cells, "first_byte", Some(&tally.first_byte));
    times(&mut cells, "connect", Some(&tally.connects()));
    cells.push(cell("generator_cpu_s", seconds(outcome.generator_cpu)));
    cells.push(cell("generator_threads", outcome.threads));
    let server = outcome.server.as_ref();
    let known = |value: Option<String>| value.unwrap_or_default();
    cells.push(cell("server_user_s", known(server.map(|server| seconds(server.user)))));
    cells.push(cell("server_system_s", known(server.map(|server| seconds(server.system)))));
    cells.push(cell("server_memory_bytes", known(server.map(|server| server.memory.to_string()))));
    cells
}

fn times(cells: &mut Vec<Cell>, what: &str, times: Option<&Histogram>) {
    let times = times.filter(|times| !times.is_empty());
    let known =
        |value: fn(&Histogram) -> Duration| times.map(|times| micros(value(times))).unwrap_or_default();
    let quantile = |quantile| times.map(|times| micros(times.quantile(quantile))).unwrap_or_default();
    cells.push(cell(&format!("{what}_min_us"), known(Histogram::min)));
    cells.push(cell(&format!("{what}_mean_us"), known(Histogram::mean)));
    cells.extend(PERCENTILES.map(|(name, share)| cell(&format!("{what}_{name}_us"), quantile(share))));
    cells.push(cell(&format!("{what}_max_us"), known(Histogram::max)));
}

fn micros(duration: Duration) -> String {
    format!("{:.3}", duration.as_nanos() as f64 / 1e3)
}

fn seconds(duration: Duration) -> String {
    format!("{:.6}", duration.as_secs_f64())
}

/// RFC 4180 §2: cells are parted by commas, lines end with CRLF; cells with commas, quotes or line ends are quoted,
/// quotes in them doubled.
fn line(out: &mut String, cells: impl Iterator<Item = String>) {
    let quoted = cells.map(|cell| match cell.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    });
    out.push_str(&quoted.collect::<Vec<_>>().join(","));
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::golden;

    #[test]
    fn tables_are_written_like_this() {
        golden("csv", csv);
    }

    #[test]
    fn every_line_has_as_many_cells_as_the_first() {
        golden("csv", |report| {
            let table = csv(report);
            let cells: Vec<_> = table.lines().map(|line| line.split(',').count()).collect();
            assert!(cells.len() > 1 && cells.iter().all(|count| *count == cells[0]), "{cells:?}");
            table
        });
    }

    #[test]
    fn cells_are_quoted_as_rfc_4180_has_it() {
        let mut out = String::new();
        line(&mut out, ["a", "b,c", "d\"e", "f\ng"].map(str::to_owned).into_iter());
        assert_eq!(out, "a,\"b,c\",\"d\"\"e\",\"f\ng\"\r\n");
    }
}
