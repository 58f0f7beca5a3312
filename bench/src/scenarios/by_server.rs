//! Scenarios whose published table has a row for each server: S0, S2 A, S3 and S4.

use hayami_load::compare::{Ratio, Verdict};

use super::published::{ByServer, Here, Row};
use super::saved::{Lane, Table};
use super::svg::{self, Bar};
use crate::crosscheck::{whole, with_interval};
use crate::figure::Figure;
use crate::report::grid;

/// The figure that ratios compare: more is better, as in the published ones, and the client's share of the
/// machine is excluded.
const COMPARED: Figure = Figure::PerCore;
const OURS: &str = "hayami";

/// A published row and the corresponding measurement, or one of the two.
struct Pair<'a> {
    label: &'a str,
    published: Option<&'a Row>,
    lane: Option<&'a Lane>,
}

/// The section of a scenario. Without a table it states that it was not run.
pub(super) fn section(scenario: &ByServer, table: Option<&Table>) -> String {
    let pairs = pairs(scenario, table);
    let reference = reference(scenario, table);
    let mut lines = vec![headings(scenario)];
    lines.extend(pairs.iter().map(|pair| cells(scenario, pair, reference, ours(table))));
    let plot = format!("![{}: measured and published ratios](benchmarks/{}.svg)\n", scenario.id, scenario.id);
    let measured = table.map_or("Not run.\n".to_owned(), |table| balance(table) + &asides(table));
    format!(
        "## {}\n\n{}\n\n{plot}\n{}\n{measured}{}\n",
        scenario.title,
        scenario.about,
        grid(&lines),
        left_out(scenario)
    )
}

/// The plot of a scenario.
pub(super) fn plot(scenario: &ByServer, table: Option<&Table>) -> String {
    let reference = reference(scenario, table);
    let bar = |pair: &Pair<'_>| {
        let ratio = pair.lane.zip(reference).and_then(|(lane, base)| lane.ratio(COMPARED, base));
        Bar {
            label: pair.label.to_owned(),
            measured: ratio.map(|ratio| ratio.value),
            interval: ratio.and_then(|ratio| ratio.interval),
            published: pair.published.and_then(|row| scenario.ratio(row)),
            ours: pair.lane.is_some_and(|lane| lane.server == OURS),
        }
    };
    let bars: Vec<Bar> = pairs(scenario, table).iter().map(bar).collect();
    svg::bars(&scenario.title.replace('`', ""), scenario.reference_name, &bars)
}

/// Ours first, then the published rows in their order, then other measurements.
fn pairs<'a>(scenario: &'a ByServer, table: Option<&'a Table>) -> Vec<Pair<'a>> {
    let lane = |server: &str| table.and_then(|table| table.lane(server));
    let beside = |row: &Row| match row.here {
        Here::Server(server) => lane(server),
        Here::Nothing(_) => None,
    };
    let is_published = |name: &str| {
        scenario.rows.iter().any(|row| matches!(row.here, Here::Server(server) if server == name))
    };
    let mut pairs: Vec<Pair<'_>> = scenario
        .rows
        .iter()
        .map(|row| Pair { label: row.who, published: Some(row), lane: beside(row) })
        .collect();
    let lanes = table.into_iter().flat_map(|table| &table.lanes);
    for lane in lanes.filter(|lane| !lane.rounds.is_empty() && !is_published(&lane.server)) {
        let pair = Pair { label: &lane.server, published: None, lane: Some(lane) };
        if lane.server == OURS { pairs.insert(0, pair) } else { pairs.push(pair) }
    }
    pairs
}

fn ours(table: Option<&Table>) -> Option<&Lane> {
    table?.lane(OURS)
}

fn reference<'a>(scenario: &ByServer, table: Option<&'a Table>) -> Option<&'a Lane> {
    table?.lane(scenario.reference_server()?)
}

fn headings(scenario: &ByServer) -> Vec<String> {
    let to = |what: &str| format!("{what} to {}", scenario.reference_name);
    vec![
        "server and set-up".to_owned(),
        "published req/s".to_owned(),
        to("published ratio"),
        to("measured ratio (95 %)"),
        "cost µs/response".to_owned(),
        "responses per CPU s".to_owned(),
        "responses/s".to_owned(),
        "hayami to this (95 %)".to_owned(),
    ]
}

fn cells(scenario: &ByServer, pair: &Pair<'_>, reference: Option<&Lane>, ours: Option<&Lane>) -> Vec<String> {
    let Pair { label, published, lane } = pair;
    let is_ours = lane.is_some_and(|lane| lane.server == OURS);
    let to = |base: Option<&Lane>, lane: Option<&Lane>| {
        lane.zip(base).and_then(|(lane, base)| lane.ratio(COMPARED, base))
    };
    let shown = |ratio: Option<Ratio>| ratio.map_or("-".to_owned(), with_interval);
    let figure = |figure| lane.and_then(|lane| lane.median(figure));
    vec![
        if is_ours { format!("**{label}**") } else { (*label).to_owned() },
        published.map_or("-".to_owned(), rate),
        published.and_then(|row| scenario.ratio(row)).map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        shown(to(reference, *lane)),
        figure(Figure::Cost).map_or("-".to_owned(), |cost| format!("{cost:.2}")),
        figure(Figure::PerCore).map_or("-".to_owned(), whole),
        figure(Figure::Rate).map_or("-".to_owned(), whole),
        if is_ours { "-".to_owned() } else { shown(to(*lane, ours)) },
    ]
}

fn rate(row: &Row) -> String {
    match (row.rate, row.remark) {
        (Some(rate), "") => whole(rate),
        (Some(rate), remark) => format!("{} ({remark})", whole(rate)),
        (None, "") => "-".to_owned(),
        (None, remark) => remark.to_owned(),
    }
}

/// Wins and losses, in one sentence each.
fn balance(table: &Table) -> String {
    let Some(ours) = table.lane(OURS) else { return "hayami was not run.\n".to_owned() };
    let others = || table.lanes.iter().filter(|lane| lane.server != OURS && !lane.rounds.is_empty());
    let against = |wanted: Verdict| {
        let verdict =
            |lane: &&Lane| ours.ratio(COMPARED, lane).is_some_and(|ratio| ratio.verdict() == wanted);
        let names: Vec<&str> = others().filter(verdict).map(|lane| lane.server.as_str()).collect();
        names.join(", ")
    };
    let sentences = [
        ("more than", Verdict::Higher),
        ("less than", Verdict::Lower),
        ("no difference shown to", Verdict::NoDifference),
        ("too few rounds to tell beside", Verdict::TooFewRounds),
    ];
    let said = sentences.map(|(words, verdict)| (words, against(verdict)));
    let said: Vec<String> = said
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(words, names)| format!("{words} {names}"))
        .collect();
    format!("Responses for each CPU second, hayami: {}.\n", said.join("; "))
}

/// Faults, errors, and how the load was generated.
pub(super) fn asides(table: &Table) -> String {
    let faults =
        table.lanes.iter().filter_map(|lane| Some(format!("{}: {}", lane.server, lane.fault.as_ref()?)));
    let errors = table.lanes.iter().filter_map(errors);
    let notes = faults.chain(errors).chain(table.notes.iter().cloned());
    notes.map(|note| format!("\n{note}\n")).collect()
}

/// How many requests failed besides those counted, which readers of the rates need to know.
fn errors(lane: &Lane) -> Option<String> {
    let sum = |figure| lane.values(figure).flatten().sum::<f64>();
    let (wrong, right) = (sum(Figure::Errors), sum(Figure::Succeeded));
    (wrong > 0.0).then(|| {
        format!(
            "{}: {} errors beside {} right responses in all rounds",
            lane.server,
            whole(wrong),
            whole(right)
        )
    })
}

fn left_out(scenario: &ByServer) -> String {
    let reason = |row: &Row| match row.here {
        Here::Nothing(reason) => Some(format!("- {}: {reason}.\n", row.who)),
        Here::Server(_) => None,
    };
    let reasons: String = scenario.rows.iter().filter_map(reason).collect();
    if reasons.is_empty() { reasons } else { format!("\nNot measured here:\n\n{reasons}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::published::BY_SERVER;
    use crate::scenarios::tests::{lane, rows, table};

    fn s0() -> Table {
        let costs = [("hayami", 5.0), ("nginx-tuned", 10.0), ("nginx", 20.0), ("bare", 4.0)];
        table("s0-tuning", costs.map(|(server, cost)| lane(server, &[cost, cost, cost])).into())
    }

    #[test]
    fn published_and_measured_ratios_stand_side_by_side() {
        let text = rows(&section(&BY_SERVER[0], Some(&s0())));
        for expected in [
            "| **hayami** | - | - | 2.00 (2.00–2.00) | 5.00 | 200,000 | 100,000 | - |",
            "| nginx, shipped defaults (1 worker) | 53,434 | 0.06 | 0.50 (0.50–0.50) | 20.00 | 50,000 | 25,000 | 4.00 (4.00–4.00) |",
            "| + tcp_nopush on | 824,800 | 1.00 | 1.00 (1.00–1.00) | 10.00 | 100,000 | 50,000 | 2.00 (2.00–2.00) |",
            "| h2o, num-threads 16, max-connections 10240 | 708,329 | 0.86 | - | - | - | - | - |",
            "Responses for each CPU second, hayami: more than nginx-tuned, nginx; less than bare.",
            "| bare | - | - | 2.50 (2.50–2.50) | 4.00 | 250,000 | 125,000 | 0.80 (0.80–0.80) |",
        ] {
            assert!(text.iter().any(|row| row == expected), "{expected}\n{text:#?}");
        }
        assert!(text.iter().any(|row| row.starts_with("- h2o, num-threads 16") && row.ends_with('.')));
    }

    #[test]
    fn errors_and_faults_of_a_server_are_named() {
        let mut s0 = s0();
        s0.lanes[2].fault = Some("ended during the race".to_owned());
        for (figure, value) in [(Figure::Errors, 20.0), (Figure::Succeeded, 1500.0)] {
            s0.lanes[1].rounds[0].insert(figure.heading().to_owned(), value);
        }
        let text = section(&BY_SERVER[0], Some(&s0));
        assert!(
            text.contains("nginx-tuned: 20 errors beside 1,500 right responses in all rounds\n"),
            "{text}"
        );
        assert!(text.contains("nginx: ended during the race\n"), "{text}");
    }

    #[test]
    fn without_measurements_the_published_rows_stay() {
        for scenario in BY_SERVER {
            let text = section(&scenario, None);
            assert!(text.contains("Not run.") && scenario.rows.iter().all(|row| text.contains(row.who)));
            assert!(plot(&scenario, None).contains("not measured here"));
        }
    }
}
