//! The results: as text for the terminal and bench/RESULTS.md (the same Markdown), and as JSON.

mod json;
mod text;

pub(crate) use self::json::json;
pub(crate) use self::text::{heading, lanes, verdicts};

use crate::machine::Machine;
use crate::race::Table;
use crate::servers::Server;
use crate::targets::Verdict;

/// Everything a report says.
pub(crate) struct Report {
    /// The command that was run.
    pub(crate) command: String,
    pub(crate) machine: Machine,
    /// Rounds and seconds, in words.
    pub(crate) plan: String,
    /// The version of each server, or why it is not there.
    pub(crate) versions: Vec<(Server, Result<String, String>)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) verdicts: Vec<Verdict>,
}

/// The whole report in Markdown.
pub(crate) fn markdown(report: &Report) -> String {
    let tables: String = report.tables.iter().map(|table| format!("{}\n", lanes(table))).collect();
    format!(
        "# Results\n\nWhat the columns mean stands in README.md.\n\n{}\n{}\n{tables}",
        heading(report),
        verdicts(&report.verdicts)
    )
}
