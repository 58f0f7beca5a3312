//! S2 B: a thousand connections of a thousand streams each, three times.

use super::by_server::asides;
use super::published::{FLOOD, FLOODS, FloodRun};
use super::saved::{Lane, Saved};
use super::svg::{self, Bar};
use crate::crosscheck::whole;
use crate::figure::Figure;
use crate::report::grid;

const TITLE: &str = "S2 B: a flood of HTTP/2 streams";

/// The section.
pub(super) fn section(saved: &Saved) -> String {
    let table = saved.table(FLOOD);
    let mut lines = vec![headings()];
    for server in servers(saved) {
        let lane = table.and_then(|table| table.lane(server));
        let published = published(server);
        lines.extend((0..3).map(|run| cells(server, run, published.map(|runs| &runs[run]), lane)));
    }
    format!(
        "## {TITLE}\n\n\
         Published: `h2load -n 100000 -c 1020 -m 1020`, a page of 513 KB, three runs five seconds apart: 1,020 connections of as many \
         streams, over a million requests under way, 51 GB a run. What counts is that every request succeeds. Here: the \
         same connections and streams, a part of the requests; all of them with `--only s2b`.\n\n\
         ![s2b: the part of the requests that succeeded](benchmarks/s2b.svg)\n\n{}\n{}\n",
        grid(&lines),
        table.map_or("Not run.\n".to_owned(), asides)
    )
}

/// The share of requests that succeeded, over all three runs.
pub(super) fn plot(saved: &Saved) -> String {
    let table = saved.table(FLOOD);
    let bar = |server: &str| {
        let lane = table.and_then(|table| table.lane(server));
        let all = lane.map(|lane| (0..3).filter_map(|run| succeeded(lane, run)).sum::<f64>() / 300.0);
        let published =
            published(server).map(|runs| runs.iter().map(|run| run.succeeded).sum::<f64>() / 300.0);
        Bar { label: server.to_owned(), measured: all, interval: None, published, ours: server == "hayami" }
    };
    let bars: Vec<Bar> = servers(saved).into_iter().map(bar).collect();
    svg::bars(TITLE, "all requests of the three runs succeeded", &bars)
}

/// Ours, those of the publication, and other servers that were run.
fn servers(saved: &Saved) -> Vec<&str> {
    let mut servers = vec!["hayami"];
    let run = saved.table(FLOOD).into_iter().flat_map(|table| &table.lanes).map(|lane| lane.server.as_str());
    for server in FLOODS.iter().map(|runs| runs[0].server).chain(run) {
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    servers
}

fn published(server: &str) -> Option<&'static [FloodRun; 3]> {
    FLOODS.iter().find(|runs| runs[0].server == server)
}

fn headings() -> Vec<String> {
    let headings = [
        "server",
        "run",
        "published req/s",
        "published succeeded",
        "succeeded",
        "responses/s",
        "cost µs/response",
        "peak MB of all runs",
    ];
    headings.map(str::to_owned).into()
}

fn cells(server: &str, run: usize, published: Option<&FloodRun>, lane: Option<&Lane>) -> Vec<String> {
    let figure = |wanted: Figure| lane.and_then(|lane| lane.values(wanted).nth(run).flatten());
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        if server == "hayami" { format!("**{server}**") } else { server.to_owned() },
        (run + 1).to_string(),
        or_dash(published.and_then(|run| run.rate).map(|rate| format!("{rate:.1}"))),
        or_dash(published.map(|run| percent(run.succeeded))),
        or_dash(lane.and_then(|lane| succeeded(lane, run)).map(percent)),
        or_dash(figure(Figure::Rate).map(|rate| format!("{rate:.1}"))),
        or_dash(figure(Figure::Cost).map(|cost| format!("{cost:.1}"))),
        or_dash(lane.and_then(|lane| lane.median(Figure::PeakInAll)).map(whole)),
    ]
}

/// The percentage of a run's requests that succeeded.
fn succeeded(lane: &Lane, run: usize) -> Option<f64> {
    let figure = |wanted| lane.values(wanted).nth(run).flatten();
    let (right, wrong) = (figure(Figure::Succeeded)?, figure(Figure::Errors)?);
    let all = right + wrong;
    (all > 0.0).then(|| right * 100.0 / all)
}

/// 100 % only if all succeeded.
fn percent(value: f64) -> String {
    if value >= 100.0 { "100 %".to_owned() } else { format!("{:.1} %", (value * 10.0).floor() / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::saved::Lane;
    use crate::scenarios::tests::{rows, table};
    use std::collections::BTreeMap;

    #[test]
    fn each_run_stands_beside_its_published_one() {
        let run = |right: f64, wrong: f64| {
            let figures = [(Figure::Succeeded, right), (Figure::Errors, wrong), (Figure::Rate, 250.5)];
            figures
                .map(|(figure, value)| (figure.heading().to_owned(), value))
                .into_iter()
                .collect::<BTreeMap<_, _>>()
        };
        let lane = Lane {
            server: "nghttpd".to_owned(),
            rounds: vec![run(1000.0, 0.0), run(154.0, 846.0), run(9999.0, 1.0)],
            fault: None,
        };
        let saved = Saved { tables: vec![table(FLOOD, vec![lane])], ..Saved::default() };
        let text = rows(&section(&saved));
        for expected in [
            "| nghttpd | 1 | 221.9 | 100 % | 100 % | 250.5 | - | - |",
            "| nghttpd | 2 | 1381.7 | 15.4 % | 15.4 % | 250.5 | - | - |",
            "| nghttpd | 3 | 398.5 | 55.3 % | 99.9 % | 250.5 | - | - |",
            "| h2o | 3 | - | 100 % | - | - | - | - |",
        ] {
            assert!(text.iter().any(|row| row == expected), "{expected}\n{text:#?}");
        }
        assert!(super::super::svg::well_formed(&plot(&saved)).is_ok());
    }
}
