//! The performance targets of hayami, and whether they are reached. Lost rows are reported like the others.

use crate::figure::Figure;
use crate::race::Table;
use crate::servers::Server::{self, Bare, H2o, Haproxy, Hayami, Nghttpd, NginxTuned};
use crate::statistics::{Spread, spread};

/// The limit of one of hayami's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// At most this many times the other server's.
    TimesAtMost(Server, f64),
    /// At least this many times the other server's.
    TimesAtLeast(Server, f64),
    /// At most this, regardless of other servers.
    Plain(f64),
}

/// One target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Target {
    /// The name of the workload.
    pub(crate) workload: &'static str,
    /// The figure compared.
    pub(crate) figure: Figure,
    /// The limit to meet.
    pub(crate) limit: Limit,
}

/// A target and its outcome.
pub(crate) struct Verdict {
    pub(crate) target: Target,
    /// The ratio of the medians, or hayami's median, and the range of the rounds, pair by pair. `None` if one
    /// of the two was not measured.
    pub(crate) measured: Option<Spread>,
}

const fn at_most(workload: &'static str, figure: Figure, other: Server, times: f64) -> Target {
    Target { workload, figure, limit: Limit::TimesAtMost(other, times) }
}

const fn at_least(workload: &'static str, figure: Figure, other: Server, times: f64) -> Target {
    Target { workload, figure, limit: Limit::TimesAtLeast(other, times) }
}

const fn absolute(workload: &'static str, figure: Figure, most: f64) -> Target {
    Target { workload, figure, limit: Limit::Plain(most) }
}

/// All targets.
pub(crate) const TARGETS: [Target; 70] = [
    at_most("s0", Figure::Cost, NginxTuned, 0.70),
    at_most("s0", Figure::Cost, H2o, 0.90),
    at_most("s0", Figure::Cost, Bare, 1.20),
    at_most("s4", Figure::Cost, NginxTuned, 0.65),
    at_most("close-200", Figure::Cost, NginxTuned, 0.75),
    at_most("close-200", Figure::Cost, H2o, 0.85),
    at_most("close-200", Figure::Cost, Bare, 1.20),
    at_most("close-1000", Figure::Cost, NginxTuned, 0.75),
    at_most("close-1000", Figure::Cost, H2o, 0.85),
    at_most("close-1000", Figure::Cost, Bare, 1.20),
    at_least("pipeline-16", Figure::PerCore, NginxTuned, 5.0),
    at_least("pipeline-16", Figure::Rate, NginxTuned, 5.0),
    at_most("1mb", Figure::CostPerMegabyte, NginxTuned, 1.0),
    at_most("1gb", Figure::CostPerMegabyte, NginxTuned, 1.0),
    absolute("idle-18000", Figure::MemoryPerConnection, 2048.0),
    at_most("idle-18000", Figure::MemoryPerConnection, NginxTuned, 1.0),
    at_most("idle-18000", Figure::MemoryWithReserve, NginxTuned, 1.0),
    // One receive and one send per request, and waits shared by the ready connections; the hundredth is for
    // calls interrupted by attaching strace.
    absolute("strace", Figure::ReceiveCalls, 1.01),
    absolute("strace", Figure::SendCalls, 1.01),
    absolute("strace", Figure::WaitCalls, 0.99),
    absolute("strace", Figure::OtherCalls, 0.01),
    at_most("h2c", Figure::Cost, H2o, 0.60),
    at_most("h2c", Figure::Cost, Nghttpd, 0.30),
    at_most("h2c", Figure::Cost, Bare, 2.0),
    at_most("tls", Figure::Cost, H2o, 0.75),
    at_most("tls", Figure::Cost, Nghttpd, 0.45),
    at_most("tls", Figure::Cost, NginxTuned, 0.20),
    at_most("tls-1", Figure::Cost, H2o, 0.85),
    at_most("tls-1", Figure::Cost, NginxTuned, 0.85),
    at_most("tls-500", Figure::Cost, H2o, 0.85),
    at_most("tls-500", Figure::Cost, NginxTuned, 0.85),
    at_most("tls-513kb", Figure::CostPerMegabyte, H2o, 0.90),
    at_most("tls-513kb", Figure::CostPerMegabyte, NginxTuned, 0.90),
    at_most("tls-full", Figure::Cost, NginxTuned, 0.70),
    at_most("tls-full", Figure::Cost, H2o, 0.70),
    at_most("tls-resumed", Figure::Cost, NginxTuned, 0.70),
    at_most("tls-resumed", Figure::Cost, H2o, 0.70),
    // The limit is the better of the two, so both are targets.
    at_most("idle-tls-settings", Figure::MemoryPerConnection, NginxTuned, 1.0),
    at_most("idle-tls-settings", Figure::MemoryPerConnection, H2o, 1.0),
    at_most("idle-tls-asked", Figure::MemoryPerConnection, NginxTuned, 1.0),
    at_most("idle-tls-asked", Figure::MemoryPerConnection, H2o, 1.0),
    absolute("s2b", Figure::LostInAll, 0.0),
    at_most("s2b", Figure::PeakInAll, H2o, 1.0),
    absolute("s2b-1100", Figure::LostInAll, 0.0),
    absolute("s2b-images", Figure::LostInAll, 0.0),
    at_most("s2b-images", Figure::PeakInAll, H2o, 1.0),
    absolute("s2b-images-1100", Figure::LostInAll, 0.0),
    at_most("proxy", Figure::Cost, NginxTuned, 0.75),
    at_most("proxy", Figure::Cost, H2o, 0.85),
    at_most("proxy", Figure::Cost, Bare, 1.20),
    at_most("proxy", Figure::Cost, Haproxy, 1.0),
    at_most("proxy-new", Figure::Cost, NginxTuned, 0.75),
    at_most("proxy-new", Figure::Cost, H2o, 0.85),
    at_most("proxy-new", Figure::Cost, Bare, 1.20),
    at_most("proxy-new", Figure::Cost, Haproxy, 1.0),
    at_most("proxy-h2", Figure::Cost, NginxTuned, 0.60),
    at_most("proxy-h2", Figure::Cost, H2o, 0.85),
    at_least("proxy-far-10000", Figure::Rate, NginxTuned, 1.0),
    at_most("proxy-far-10000", Figure::P99, NginxTuned, 1.0),
    at_most("proxy-far-10000", Figure::PeakInAll, NginxTuned, 1.0),
    absolute("proxy-far-10000", Figure::Errors, 0.0),
    at_least("proxy-far-20000", Figure::Rate, NginxTuned, 1.0),
    at_most("proxy-far-20000", Figure::P99, NginxTuned, 1.0),
    at_most("proxy-far-20000", Figure::PeakInAll, NginxTuned, 1.0),
    absolute("proxy-far-20000", Figure::Errors, 0.0),
    // 100 concurrent requests: this many opened connections mean that 99.9 % of the requests use a pooled one.
    absolute("proxy-opened-1", Figure::Opened, 100.0),
    absolute("proxy-opened-2", Figure::Opened, 100.0),
    absolute("proxy-opened-8", Figure::Opened, 100.0),
    absolute("proxy-1gb", Figure::PeakInAll, 64.0),
    at_most("php", Figure::Cost, NginxTuned, 0.90),
];

impl Verdict {
    /// Whether the target is reached; `None` if it was not measured.
    pub(crate) fn is_reached(&self) -> Option<bool> {
        let median = self.measured?.median;
        Some(match self.target.limit {
            Limit::TimesAtMost(_, limit) | Limit::Plain(limit) => median <= limit,
            Limit::TimesAtLeast(_, limit) => median >= limit,
        })
    }
}

impl Limit {
    /// The other server, if there is one.
    pub(crate) fn against(self) -> Option<Server> {
        match self {
            Self::TimesAtMost(server, _) | Self::TimesAtLeast(server, _) => Some(server),
            Self::Plain(_) => None,
        }
    }
}

/// The verdicts on all targets whose workload was run.
pub(crate) fn judge(tables: &[Table]) -> Vec<Verdict> {
    let table = |target: &Target| tables.iter().find(|table| table.workload.name == target.workload);
    let verdict = |target: Target| {
        let table = table(&target)?;
        Some(Verdict { target, measured: measure(table, &target) })
    };
    TARGETS.into_iter().filter_map(verdict).collect()
}

fn measure(table: &Table, target: &Target) -> Option<Spread> {
    let ours = table.row(Hayami)?;
    let Some(other) = target.limit.against() else { return ours.spread(target.figure) };
    let theirs = table.row(other)?;
    let median = ours.spread(target.figure)?.median / theirs.spread(target.figure)?.median;
    let pairs = ours.values(target.figure).zip(theirs.values(target.figure));
    // If a peer's figure did not grow, there is no ratio.
    let rounds = spread(pairs.map(|(ours, theirs)| ours / theirs))?;
    median.is_finite().then_some(Spread { median, ..rounds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Sample;
    use crate::race::Row;
    use crate::workload;

    fn table(name: &str, figure: Figure, values: &[(Server, &[f64])]) -> Table {
        let workload = workload::named(name).unwrap();
        let rows = values.iter().map(|(server, values)| Row {
            samples: values.iter().map(|value| Sample::from([(figure, *value)])).collect(),
            ..Row::new(*server)
        });
        Table::new(workload, rows.collect(), Vec::new())
    }

    #[test]
    fn every_target_names_a_workload_and_servers_that_take_part() {
        for target in TARGETS {
            let workload = workload::named(target.workload).unwrap();
            assert!(workload.servers.contains(&Hayami), "{target:?}");
            assert!(
                target.limit.against().is_none_or(|other| workload.servers.contains(&other)),
                "{target:?}"
            );
        }
    }

    #[test]
    fn ratios_are_of_medians_and_reached_on_the_right_side_of_the_limit() {
        let cases = [
            ("s0", Figure::Cost, [5.0, 6.0, 7.0], [10.0, 10.0, 10.0], 0.6, true),
            ("s0", Figure::Cost, [8.0; 3], [10.0; 3], 0.8, false),
            ("pipeline-16", Figure::PerCore, [490.0; 3], [100.0; 3], 4.9, false),
        ];
        for (name, figure, ours, theirs, ratio, reached) in cases {
            let verdicts = judge(&[table(name, figure, &[(Hayami, &ours), (NginxTuned, &theirs)])]);
            let verdict = &verdicts[0];
            assert!((verdict.measured.unwrap().median - ratio).abs() < 1e-9, "{name}");
            assert_eq!(verdict.is_reached(), Some(reached), "{name}");
        }
    }

    #[test]
    fn what_was_not_measured_is_neither_reached_nor_lost() {
        let verdicts = judge(&[table("s0", Figure::Cost, &[(NginxTuned, &[10.0])])]);
        assert_eq!(verdicts.len(), 3);
        assert!(verdicts.iter().all(|verdict| verdict.is_reached().is_none()));
    }
}
