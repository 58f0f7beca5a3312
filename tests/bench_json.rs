//! `--json`: the manual lists every member, and no other.

use crate::support::bench::measured;
use crate::support::{Scratch, certificates::Authority, tls};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const MANUAL: &str = include_str!("../docs/bench.md");

/// What `comparison.rows[].figures` has.
const MEASURES: [&str; 5] =
    ["requests_per_s", "p50_us", "p99_us", "server_cpu_us_per_response", "server_memory_bytes"];

/// The members that the manual names, their braces written out.
fn documented() -> BTreeSet<String> {
    let section = MANUAL.split("\n## JSON\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows = section.expect("a section").lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" |").next().map(|cell| format!("`{cell}")));
    let names = |cell: String| cell.split('`').skip(1).step_by(2).flat_map(spelled).collect::<Vec<_>>();
    cells.flat_map(names).collect()
}

/// `a.{b,c}` as `a.b` and `a.c`.
fn spelled(text: &str) -> Vec<String> {
    let Some((before, rest)) = text.split_once('{') else { return vec![text.to_owned()] };
    let (words, after) = rest.split_once('}').expect("braces in pairs");
    words.split(',').flat_map(|word| spelled(&format!("{before}{word}{after}"))).collect()
}

/// Paths to all values other than objects, and whether each was ever known; measures and elements are not
/// distinguished.
fn members(value: &Value, path: &str, found: &mut BTreeMap<String, bool>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let is_measure = path.ends_with(".figures") && MEASURES.contains(&name.as_str());
                let name = if is_measure { "*" } else { name };
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                members(value, &path, found);
            }
        }
        Value::Array(all) if all.first().is_some_and(Value::is_object) => {
            all.iter().for_each(|value| members(value, &format!("{path}[]"), found));
        }
        value => *found.entry(path.to_owned()).or_default() |= !value.is_null(),
    }
}

#[test]
fn the_manual_lists_every_member_of_the_report_and_no_other() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("urls", "1 /\n1 /missing\n");
    Authority::new(&dir).issue_leaf();
    let server = tls::site(&dir, "", "");
    let url = format!("{}/", server.banner("address").trim_end_matches('/'));
    // Everything that makes an object of a `null`.
    let options = ["-k", "-c", "2", "-n", "20", "-r", "100", "--rtt", "2ms", "--rounds", "2"];
    let urls = ["--urls", &dir.text("urls")];
    let (report, code) = measured(&[&options[..], &urls, &[&url, &url]].concat());
    assert_eq!(code, 0, "{report}");
    let mut found = BTreeMap::new();
    members(&report, "", &mut found);
    // The first target has no ratio, nor has a figure that was 0: objects that are `null`.
    let within = |path: &str| found.keys().any(|other| other.starts_with(&format!("{path}.")));
    let members = found.iter().filter(|(path, known)| **known || !within(path));
    let found: BTreeSet<_> = members.map(|(path, _)| path.clone()).collect();
    let manual = documented();
    let missing: Vec<_> = found.difference(&manual).collect();
    let gone: Vec<_> = manual.difference(&found).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not in the manual: {missing:?}; only there: {gone:?}");
}
