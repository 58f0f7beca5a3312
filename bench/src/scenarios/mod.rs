//! docs/benchmarks.md: published figures beside measured ones, generated from the saved results of the races
//! (group `scenarios`) and of the cross-check. Nothing is run here.
//!
//! `published` holds the published figures, `saved` reads the measurements, `by_server`, `distance` and
//! `flood` write the sections, `svg` the plots, `page` the whole.

mod by_server;
mod distance;
mod flood;
mod page;
mod published;
mod saved;
pub(crate) mod svg;

use std::fs;
use std::path::Path;

use serde_json::Value;

use self::published::BY_SERVER;
use self::saved::Saved;
use crate::crosscheck::{self, Checked};

/// The folder of all samples behind published figures.
pub(crate) const SAMPLES: &str = "bench/samples";
/// Where the races save the results of their group `scenarios`.
const RESULTS: &str = "bench/samples/results-scenarios.json";
/// Where the cross-check saves its own.
pub(crate) const CROSSCHECK: &str = "bench/samples/crosscheck.json";
const PAGE: &str = "docs/benchmarks.md";
const PLOTS: &str = "docs/benchmarks";

/// Writes the page and its plots into the tree at `root`, from the results saved there.
///
/// # Errors
/// There are no saved results, or a file cannot be written.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let document = read(&root.join(RESULTS))?.ok_or_else(|| {
        format!("{RESULTS} is not there: run the races with --group scenarios --write first")
    })?;
    let saved = Saved::read(&document).ok_or_else(|| format!("{RESULTS}: not the results of a race"))?;
    let checked = match read(&root.join(CROSSCHECK))? {
        Some(document) => Some(
            checked(&document).ok_or_else(|| format!("{CROSSCHECK}: not the results of a cross-check"))?,
        ),
        None => None,
    };
    fs::create_dir_all(root.join(PLOTS)).map_err(|error| format!("{PLOTS}: {error}"))?;
    for scenario in BY_SERVER {
        put(root, &plot_file(scenario.id), &by_server::plot(&scenario, saved.table(scenario.workload)))?;
    }
    put(root, &plot_file("s1"), &distance::plot(&saved))?;
    put(root, &plot_file("s2b"), &flood::plot(&saved))?;
    put(root, PAGE, &page::page(&saved, checked.as_ref()))
}

/// Saves the results of a cross-check in a folder; `about` has command, machine and versions, as in race results.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn save_crosscheck(folder: &Path, mut about: Value, checked: &Checked) -> Result<(), String> {
    if let Some(members) = about.as_object_mut() {
        members.remove("workloads");
        members.remove("targets");
        members.insert("crosscheck".to_owned(), crosscheck::save(checked));
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    put(folder, "crosscheck.json", &format!("{about:#}\n"))
}

/// A cross-check and how it was run.
fn checked(document: &Value) -> Option<(Saved, Checked)> {
    Some((Saved::read(document)?, crosscheck::load(document.get("crosscheck")?)?))
}

fn plot_file(id: &str) -> String {
    format!("{PLOTS}/{id}.svg")
}

/// Reads a file of results; `None` if it does not exist.
fn read(file: &Path) -> Result<Option<Value>, String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    serde_json::from_str(&text).map(Some).map_err(|error| format!("{}: {error}", file.display()))
}

fn put(root: &Path, file: &str, text: &str) -> Result<(), String> {
    fs::write(root.join(file), text).map_err(|error| format!("{file}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::saved::{Lane, Table};
    use crate::figure::Figure;
    use std::collections::BTreeMap;

    /// A server with this cost in microseconds in each round.
    pub(super) fn lane(server: &str, costs: &[f64]) -> Lane {
        let round = |cost: &f64| {
            let figures = [(Figure::Cost, *cost), (Figure::PerCore, 1e6 / cost), (Figure::Rate, 5e5 / cost)];
            let named = figures.map(|(figure, value)| (figure.heading().to_owned(), value));
            named.into_iter().collect::<BTreeMap<_, _>>()
        };
        Lane { server: server.to_owned(), rounds: costs.iter().map(round).collect(), fault: None }
    }

    pub(super) fn table(name: &str, lanes: Vec<Lane>) -> Table {
        Table { name: name.to_owned(), notes: Vec::new(), lanes }
    }

    /// The lines of a text without alignment spaces.
    pub(super) fn rows(text: &str) -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }
}
