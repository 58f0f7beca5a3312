//! What was counted, as it stands in `recorded.tsv`, and what has grown since.

use crate::profile::{CALLS, Profile};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/recorded.tsv");

/// More than so many percent above what was recorded is an error.
const TOLERANCE: u64 = 3;

/// Functions below so many percent of a scenario are not named.
const NAMED: u64 = 1;

/// So many functions are named of a scenario that has grown, the one that has grown most first.
const SHOWN: usize = 3;

const TOTAL: &str = "total";
const OTHERS: &str = "others";

/// The scenarios by name: `total`, the functions, `others`, calls.
#[derive(Debug, Default)]
pub(crate) struct Record(BTreeMap<String, Profile>);

impl Record {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a scenario.
    pub(crate) fn insert(&mut self, name: &str, mut profile: Profile) {
        let own = profile.iter().filter(|(name, _)| !name.starts_with(CALLS));
        let total = own.map(|(_, count)| count).sum();
        profile.insert(TOTAL.to_owned(), total);
        self.0.insert(name.to_owned(), profile);
    }

    /// The totals.
    pub(crate) fn shown(&self) -> String {
        let totals = self.0.iter().map(|(name, rows)| format!("{:>8}  {name}", rows[TOTAL]));
        totals.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn load() -> Result<Self, String> {
        let text = std::fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        Self::read(&text)
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut record = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split('\t');
            let (Some(scenario), Some(count), Some(name)) = (words.next(), words.next(), words.next()) else {
                return Err(format!("{FILE}: what is {line:?}?"));
            };
            let count = count.parse().map_err(|_| format!("{FILE}: {count:?} is not a number"))?;
            record.0.entry(scenario.to_owned()).or_default().insert(name.to_owned(), count);
        }
        Ok(record)
    }

    pub(crate) fn save(&self) -> Result<(), String> {
        std::fs::write(FILE, self.written()).map_err(|error| format!("{FILE}: {error}"))
    }

    fn written(&self) -> String {
        let mut text = format!(
            "# Instructions for one time of each scenario, by {}; cargo instructions --write\n",
            compiler()
        );
        for (scenario, rows) in &self.0 {
            let rows = folded(rows, &Profile::new());
            let mut rows: Vec<_> = rows.iter().collect();
            // Most first; the total is the most of all.
            rows.sort_by_key(|(name, count)| (name.starts_with(CALLS), std::cmp::Reverse(**count)));
            for (name, count) in rows {
                let _ = writeln!(text, "{scenario}\t{count}\t{name}");
            }
        }
        text
    }

    /// # Errors
    /// What has grown, and by which function.
    pub(crate) fn compare(&self, recorded: &Self) -> Result<(), String> {
        let mut grown = Vec::new();
        for (scenario, rows) in &self.0 {
            let old = recorded.0.get(scenario).ok_or(format!("{scenario} was never recorded: {ADVICE}"))?;
            grown.extend(compare(scenario, old, rows));
        }
        if grown.is_empty() {
            return Ok(());
        }
        let by = std::fs::read_to_string(FILE).unwrap_or_default();
        let same = by.lines().next().is_some_and(|line| line.contains(&compiler()));
        let note = if same { "" } else { "; another compiler made the recorded ones" };
        Err(format!("{}\n{ADVICE}{note}", grown.join("\n")))
    }
}

const ADVICE: &str =
    "if that is intended, record it with `cargo instructions --write` and say why in the commit";

/// The rows with small functions as one, but for those that have a row in `named`.
fn folded(rows: &Profile, named: &Profile) -> Profile {
    let mut folded = Profile::new();
    for (name, count) in rows {
        let small = !name.starts_with(CALLS) && count * 100 < NAMED * rows[TOTAL];
        let name = if small && !named.contains_key(name) { OTHERS } else { name };
        *folded.entry(name.to_owned()).or_default() += count;
    }
    folded
}

fn compare(scenario: &str, old: &Profile, new: &Profile) -> Vec<String> {
    let new = &folded(new, old);
    let count = |rows: &Profile, name: &str| rows.get(name).copied().unwrap_or(0);
    let grown = |name: &str| count(new, name) * 100 > count(old, name) * (100 + TOLERANCE);
    let said = |name: &str| format!("{} → {}", count(old, name), count(new, name));
    let mut lines = Vec::new();
    if grown(TOTAL) {
        lines.push(format!("{scenario}: {} instructions", said(TOTAL)));
        let more = |name: &str| count(new, name).saturating_sub(count(old, name));
        let own = |name: &&String| *name != TOTAL && !name.starts_with(CALLS) && more(name) > 0;
        let mut functions: Vec<_> = new.keys().filter(own).collect();
        functions.sort_by_key(|name| std::cmp::Reverse(more(name)));
        lines.extend(functions.iter().take(SHOWN).map(|name| format!("    {} in {name}", said(name))));
    }
    let calls = new.keys().filter(|name| name.starts_with(CALLS) && grown(name));
    lines.extend(calls.map(|name| format!("{scenario}: {} {name}", said(name))));
    lines
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(
        |_| "an unknown rustc".to_owned(),
        |output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.split(' ').take(2).collect::<Vec<_>>().join(" ")
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario of 10,000 instructions.
    fn profile(parse: u64) -> Profile {
        let rows = [("h1::parse", parse), ("h1::write", 3_900), ("h1::tiny", 100), ("calls of memcpy", 2)];
        rows.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn record(profile: Profile) -> Record {
        let mut record = Record::default();
        record.insert("h1", profile);
        record
    }

    #[test]
    fn four_percent_more_fail_and_the_function_is_named() {
        let error = record(profile(6_400)).compare(&record(profile(6_000))).unwrap_err();
        let mut lines = error.lines();
        assert_eq!(lines.next(), Some("h1: 10000 → 10400 instructions"));
        assert_eq!(lines.next(), Some("    6000 → 6400 in h1::parse"));
        assert!(lines.next().is_some_and(|line| line.starts_with(ADVICE)), "{error}");
    }

    #[test]
    fn a_function_of_its_own_that_is_new_is_named_as_well() {
        let mut grown = profile(6_000);
        grown.insert("h1::check".to_owned(), 350);
        let error = record(grown).compare(&record(profile(6_000))).unwrap_err();
        assert!(error.contains("\n    0 → 350 in h1::check\n"), "{error}");
    }

    #[test]
    fn three_percent_more_or_fewer_instructions_pass() {
        let recorded = record(profile(6_000));
        assert_eq!(record(profile(6_300)).compare(&recorded), Ok(()));
        assert_eq!(record(profile(4_000)).compare(&recorded), Ok(()));
    }

    #[test]
    fn one_call_more_of_an_allocator_or_of_memcpy_fails() {
        let mut grown = profile(6_000);
        grown.insert("calls of malloc".to_owned(), 1);
        let error = record(grown).compare(&record(profile(6_000))).unwrap_err();
        assert!(error.starts_with("h1: 0 → 1 calls of malloc\n"), "{error}");
    }

    #[test]
    fn a_scenario_that_was_never_recorded_fails() {
        let error = record(profile(6_000)).compare(&Record::default()).unwrap_err();
        assert!(error.starts_with("h1 was never recorded: "), "{error}");
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let record = record(profile(6_400));
        let text = record.written();
        let rows: Vec<_> = text.lines().skip(1).collect();
        let small = "h1\t100\tothers";
        assert_eq!(
            rows,
            [
                "h1\t10400\ttotal",
                "h1\t6400\th1::parse",
                "h1\t3900\th1::write",
                small,
                "h1\t2\tcalls of memcpy"
            ]
        );
        assert_eq!(record.compare(&Record::read(&text).expect("rows")), Ok(()));
    }
}
