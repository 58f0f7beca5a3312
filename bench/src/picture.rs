//! The plot of README.md, drawn from the tables of `RESULTS*.md` in the tree, so that it can be redrawn
//! without a race.

use crate::scenarios::svg::{Panel, panels};
use std::fs;
use std::path::Path;

/// Path of the plot.
pub(crate) const FILE: &str = "docs/benchmarks/overview.svg";

const COLUMN: &str = "cost µs/response";

/// A workload in the plot: the file with its table, its name there, and its description.
struct Chosen {
    file: &'static str,
    workload: &'static str,
    title: &'static str,
}

const CHOSEN: [Chosen; 4] = [
    Chosen { file: "RESULTS.md", workload: "s0", title: "a file of 612 bytes, HTTP/1.1, connections kept" },
    Chosen { file: "RESULTS.md", workload: "close-200", title: "the same, a connection for each request" },
    Chosen { file: "RESULTS-http2.md", workload: "tls", title: "the same, HTTP/2 over TLS" },
    Chosen { file: "RESULTS-proxy.md", workload: "proxy", title: "1 KB from an upstream, HTTP/1.1" },
];

/// Server names in the tables and in the plot, ours first.
const SERVERS: [(&str, &str); 4] =
    [("hayami", "hayami"), ("nginx-tuned", "nginx, tuned"), ("h2o", "h2o"), ("haproxy", "HAProxy")];

/// Draws the plot of the tree at `root`.
///
/// # Errors
/// A table or column is missing, or a file cannot be read or written.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let read = |name: &str| {
        let path = root.join("bench").join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let drawn = CHOSEN.iter().map(|chosen| panel(&read(chosen.file)?, chosen));
    let drawn = drawn.collect::<Result<Vec<_>, String>>()?;
    let first = read(CHOSEN[0].file)?;
    let about = |name: &str| value_of(&first, name).unwrap_or("unknown").to_owned();
    let source = format!("{}; {}; bench/README.md says how it is measured", about("machine"), about("date"));
    let svg = panels(
        "CPU time of the server for each response, in microseconds",
        "less is better; every server on one core, beside the same load",
        &source,
        &drawn,
    );
    fs::write(root.join(FILE), svg).map_err(|error| format!("{FILE}: {error}"))
}

/// The value of a line `- name: value` of the heading.
fn value_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix("- ")?.strip_prefix(name)?.strip_prefix(": "))
}

/// The costs of a workload for the servers present.
fn panel(text: &str, chosen: &Chosen) -> Result<Panel, String> {
    let wrong = |what: &str| format!("bench/{}: `{}` has {what}", chosen.file, chosen.workload);
    let heading = format!("## {}:", chosen.workload);
    let lines = text.lines().skip_while(|line| !line.starts_with(&heading));
    let mut rows =
        lines.skip(1).skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let columns = cells(rows.next().ok_or_else(|| wrong("no table"))?);
    let column = columns.iter().position(|name| *name == COLUMN);
    let column = column.ok_or_else(|| wrong(&format!("no column `{COLUMN}`")))?;
    let rows: Vec<_> = rows.map(cells).collect();
    let cost = |server: &str| {
        let row = rows.iter().find(|row| row.first() == Some(&server))?;
        // `5.30 (4.96–5.80)`: the median, the minimum and the maximum.
        row.get(column)?.split(' ').next()?.parse::<f64>().ok()
    };
    cost(SERVERS[0].0).ok_or_else(|| wrong("no row of hayami"))?;
    let rows = SERVERS.iter().filter_map(|(name, label)| Some(((*label).to_owned(), cost(name)?)));
    Ok(Panel { title: chosen.title.to_owned(), rows: rows.collect() })
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Results\n\n- machine: M\n- date: D\n\n## s0: things\n\n\
        | server | cost µs/response | user |\n| --- | --- | --- |\n| hayami | 5.30 (4.96–5.80) | 1 |\n\
        | h2o | 6.19 (5.30–6.73) | 2 |\n| other | 1.00 (1–1) | 2 |\n| nginx-tuned | - | 3 |\n\n## s1: more\n";

    #[test]
    fn medians_are_read_of_the_servers_that_were_measured() {
        let panel = panel(TABLE, &CHOSEN[0]).expect("a table");
        assert_eq!(panel.rows, [("hayami".to_owned(), 5.3), ("h2o".to_owned(), 6.19)]);
        assert_eq!((value_of(TABLE, "machine"), value_of(TABLE, "commit")), (Some("M"), None));
    }

    #[test]
    fn a_table_that_is_not_as_expected_is_named() {
        for (text, want) in [
            ("", "bench/RESULTS.md: `s0` has no table"),
            ("## s0: a\n\n| server | x |\n", "bench/RESULTS.md: `s0` has no column `cost µs/response`"),
            (
                "## s0: a\n\n| server | cost µs/response |\n| h2o | 1 |\n",
                "bench/RESULTS.md: `s0` has no row of hayami",
            ),
        ] {
            assert_eq!(panel(text, &CHOSEN[0]).expect_err(text), want);
        }
    }

    #[test]
    fn the_results_of_the_tree_can_be_drawn() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for chosen in &CHOSEN {
            let text = fs::read_to_string(root.join("bench").join(chosen.file)).expect("results");
            assert!(panel(&text, chosen).expect("a table").rows.len() >= 3, "{}", chosen.workload);
        }
    }
}
