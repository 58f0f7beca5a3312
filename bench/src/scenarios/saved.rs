//! Results saved by the races, read back: the page is generated from them alone.

use std::collections::BTreeMap;

use hayami_load::compare::Ratio;
use serde_json::Value;

use crate::figure::Figure;
use crate::statistics::{Spread, spread};

/// A file of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Saved {
    pub(crate) about: About,
    pub(crate) tables: Vec<Table>,
}

/// How, when and where the results were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct About {
    pub(crate) command: String,
    pub(crate) plan: String,
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) cpu: String,
    pub(crate) cores: u64,
    pub(crate) kernel: String,
    /// Name and version of each server present.
    pub(crate) versions: Vec<(String, String)>,
}

/// The results of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// The name of the workload.
    pub(crate) name: String,
    pub(crate) notes: Vec<String>,
    pub(crate) lanes: Vec<Lane>,
}

/// The results of a server in a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lane {
    pub(crate) server: String,
    /// The figures of each round by heading.
    pub(crate) rounds: Vec<BTreeMap<String, f64>>,
    /// Why results are missing.
    pub(crate) fault: Option<String>,
}

impl Saved {
    /// Reads a file of results; `None` if the format is unexpected.
    pub(crate) fn read(document: &Value) -> Option<Self> {
        let tables = document.get("workloads").and_then(Value::as_array);
        let tables = tables.into_iter().flatten().map(Table::read).collect::<Option<_>>()?;
        Some(Self { about: About::read(document)?, tables })
    }

    /// The table of a workload.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl About {
    fn read(document: &Value) -> Option<Self> {
        let text = |path: &str| Some(document.pointer(path)?.as_str()?.to_owned());
        let versions = document.get("versions")?.as_object()?.iter();
        // A missing server has an object with the reason in place of a version.
        let versions =
            versions.filter_map(|(name, version)| Some((name.clone(), version.as_str()?.to_owned())));
        Some(Self {
            command: text("/command")?,
            plan: text("/plan")?,
            commit: text("/commit")?,
            date: text("/date")?,
            cpu: text("/machine/cpu")?,
            cores: document.pointer("/machine/cores")?.as_u64()?,
            kernel: text("/machine/kernel")?,
            versions: versions.collect(),
        })
    }
}

impl Table {
    fn read(value: &Value) -> Option<Self> {
        let notes = value.get("notes").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            name: value.get("name")?.as_str()?.to_owned(),
            notes: notes.filter_map(|note| Some(note.as_str()?.to_owned())).collect(),
            lanes: value.get("servers")?.as_array()?.iter().map(Lane::read).collect::<Option<_>>()?,
        })
    }

    /// The results of a server, if there are any.
    pub(crate) fn lane(&self, server: &str) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.server == server && !lane.rounds.is_empty())
    }
}

impl Lane {
    fn read(value: &Value) -> Option<Self> {
        let round = |round: &Value| {
            let figures = round.as_object()?.iter();
            // A value that is not a number is unknown.
            Some(figures.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect())
        };
        Some(Self {
            server: value.get("server")?.as_str()?.to_owned(),
            rounds: value.get("rounds")?.as_array()?.iter().map(round).collect::<Option<_>>()?,
            fault: value.get("fault").and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// A figure in each round; `None` where it is unknown.
    pub(crate) fn values(&self, figure: Figure) -> impl Iterator<Item = Option<f64>> {
        self.rounds.iter().map(move |round| round.get(figure.heading()).copied())
    }

    /// The spread of a figure over the rounds.
    pub(crate) fn spread(&self, figure: Figure) -> Option<Spread> {
        spread(self.values(figure).flatten())
    }

    /// The median of a figure over the rounds.
    pub(crate) fn median(&self, figure: Figure) -> Option<f64> {
        Some(self.spread(figure)?.median)
    }

    /// The ratio of a figure to that of another server, round by round.
    pub(crate) fn ratio(&self, figure: Figure, base: &Self) -> Option<Ratio> {
        let pairs = self.values(figure).zip(base.values(figure));
        Ratio::of_pairs(pairs.filter_map(|(ours, base)| Some((ours?, base?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Sample;
    use crate::machine::Machine;
    use crate::race;
    use crate::report::{self, Report};
    use crate::servers::Server;
    use crate::workload::{self, Group};

    fn report() -> Report {
        let sample = |cost| Sample::from([(Figure::Cost, cost), (Figure::PerCore, 1e6 / cost)]);
        let row = |server, costs: [f64; 2]| race::Row {
            samples: costs.map(sample).into(),
            ..race::Row::new(server)
        };
        let missing = race::Row { fault: Some("does not start".to_owned()), ..race::Row::new(Server::Nginx) };
        let rows = vec![row(Server::Hayami, [5.0, 6.0]), row(Server::H2o, [10.0, 12.0]), missing];
        let workload = workload::named("s0-tuning").unwrap();
        Report {
            command: "cargo run".to_owned(),
            machine: Machine {
                commit: "abc".to_owned(),
                date: "today".to_owned(),
                cpu: "a CPU".to_owned(),
                cores: 2,
                kernel: "6.1".to_owned(),
            },
            plan: "2 rounds".to_owned(),
            versions: vec![
                (Server::Hayami, Ok("hayami 1".to_owned())),
                (Server::Nginx, Err("not there".to_owned())),
            ],
            tables: vec![race::Table::new(workload, rows, vec!["load: hayami bench".to_owned()])],
            verdicts: Vec::new(),
        }
    }

    #[test]
    fn what_the_races_save_is_read_again() {
        let text = report::json(&report(), Group::Scenarios).to_string();
        let saved = Saved::read(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!((saved.about.command.as_str(), saved.about.cores), ("cargo run", 2));
        assert_eq!(saved.about.versions, [("hayami".to_owned(), "hayami 1".to_owned())]);
        let table = saved.table("s0-tuning").unwrap();
        assert!(table.notes.contains(&"load: hayami bench".to_owned()));
        let (hayami, h2o) = (table.lane("hayami").unwrap(), table.lane("h2o").unwrap());
        assert_eq!(hayami.median(Figure::Cost), Some(5.5));
        assert!((hayami.ratio(Figure::PerCore, h2o).unwrap().value - 2.0).abs() < 1e-9);
        assert!(table.lane("nginx").is_none(), "a server without a round gave nothing");
        assert_eq!(table.lanes[2].fault.as_deref(), Some("does not start"));
    }

    #[test]
    fn anything_else_is_no_file_of_results() {
        for text in ["{}", "[]", r#"{"command":"x","workloads":[{}]}"#] {
            assert_eq!(Saved::read(&serde_json::from_str(text).unwrap()), None, "{text}");
        }
    }
}
