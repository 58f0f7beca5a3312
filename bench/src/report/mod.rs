//! The results: as text for the terminal and bench/RESULTS.md (the same Markdown), and as JSON.

mod json;
mod text;

pub(crate) use self::json::json;
pub(crate) use self::text::{grid, heading, lanes, verdicts};

use crate::machine::Machine;
use crate::race::Table;
use crate::servers::Server;
use crate::targets::Verdict;
use crate::workload::Group;

/// The content of a report.
pub(crate) struct Report {
    /// The command that was run.
    pub(crate) command: String,
    pub(crate) machine: Machine,
    /// Rounds and seconds, in words.
    pub(crate) plan: String,
    /// The version of each server, or why it is missing.
    pub(crate) versions: Vec<(Server, Result<String, String>)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) verdicts: Vec<Verdict>,
}

impl Report {
    /// The tables of a group.
    pub(crate) fn tables_of(&self, group: Group) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(move |table| table.workload.group == group)
    }

    /// The verdicts on the targets of a group.
    fn verdicts_of(&self, group: Group) -> Vec<&Verdict> {
        let names: Vec<&str> = self.tables_of(group).map(|table| table.workload.name).collect();
        self.verdicts.iter().filter(|verdict| names.contains(&verdict.target.workload)).collect()
    }
}

/// The report on a group in Markdown.
pub(crate) fn markdown(report: &Report, group: Group) -> String {
    let tables: String = report.tables_of(group).map(|table| format!("{}\n", lanes(table))).collect();
    format!(
        "# Results\n\nWhat the columns mean stands in README.md.\n\n{}\n{}\n{tables}",
        heading(report),
        verdicts(&report.verdicts_of(group))
    )
}
