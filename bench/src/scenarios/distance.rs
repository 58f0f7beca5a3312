//! S1: connections without keep-alive, in large numbers, from far away.

use std::collections::BTreeSet;

use super::by_server::asides;
use super::published::{DISTANCES, Distance};
use super::saved::{Lane, Saved, Table};
use super::svg::{self, Line};
use crate::crosscheck::{whole, with_interval};
use crate::figure::Figure;
use crate::report::grid;

/// The servers of the plot and the table, with their colours.
const SERVERS: [(&str, &str); 3] = [("hayami", "c0"), ("nginx-tuned", "c1"), ("h2o", "c2")];
const TITLE: &str = "S1: a REST front end, connections from 100 ms away";
/// The reference of published ratios: same host, no keep-alive, 100 connections.
const REFERENCE: usize = 2;

/// The section.
pub(super) fn section(saved: &Saved) -> String {
    let mut lines = vec![headings()];
    lines.extend(DISTANCES.iter().map(|distance| cells(saved, distance)));
    let notes = remarks(saved);
    format!(
        "## {TITLE}\n\n\
         Published: `ab -c {{100,1000,10000,20000}} -t 10`, 612 bytes, each request on a new connection, `tc … netem \
         delay 100ms` for the rows with a delay. Here: `hayami bench --rtt 100ms` emulates the distance \
         ([how](bench.md#clients-far-away)); requests are HTTP/1.0 as ab's. A client that opens a connection for each request and \
         is *T* away can have at most c / 2*T* answers a second: the limit of the last rows.\n\n\
         ![s1: answers a second over connections](benchmarks/s1.svg)\n\n{}\n\
         Published ratio: to the row same host, no keep-alive, c=100; measured ratio: hayami's answers a second to its \
         own in that row. Where the rate is the limit's, the server's cost tells servers apart.\n\n\
         Not measured here: the rows from another host without delay need a second host. Behind the published front end stood a \
         REST service and a database; here it is the file alone. With \
         both: [a REST API behind hayami](rest-api.md).\n{notes}\n",
        grid(&lines)
    )
}

/// The plot of the rows with a delay.
pub(super) fn plot(saved: &Saved) -> String {
    let far = || DISTANCES.iter().filter(|distance| distance.delay_ms > 0);
    let point = |distance: &Distance, y: Option<f64>| {
        Some((f64::from(distance.connections), y.filter(|y| *y > 0.0)?))
    };
    let mut lines: Vec<Line> = SERVERS
        .iter()
        .map(|&(server, colour)| Line {
            label: server.to_owned(),
            points: far()
                .filter_map(|distance| point(distance, figure(saved, distance, server, Figure::Rate)))
                .collect(),
            colour,
            dashed: false,
        })
        .collect();
    lines.push(Line {
        label: "limit: c / 2T".to_owned(),
        points: far().filter_map(|distance| point(distance, limit(distance))).collect(),
        colour: "cs",
        dashed: true,
    });
    lines.push(Line {
        label: "published".to_owned(),
        points: far().filter_map(|distance| point(distance, Some(distance.rate))).collect(),
        colour: "co",
        dashed: false,
    });
    svg::lines(
        TITLE,
        "connections",
        "answers a second, 100 ms there and back, a connection for each request",
        &lines,
    )
}

fn headings() -> Vec<String> {
    let mut headings: Vec<String> =
        ["from", "keep-alive", "delay", "c", "published req/s", "ratio", "limit"].map(str::to_owned).into();
    headings.push("hayami's ratio".to_owned());
    headings.extend(SERVERS.map(|(server, _)| format!("{server} req/s")));
    headings.extend(SERVERS.map(|(server, _)| format!("{server} µs/response")));
    headings.push("hayami to nginx-tuned per CPU s (95 %)".to_owned());
    headings
}

fn cells(saved: &Saved, distance: &Distance) -> Vec<String> {
    let all = |wanted: Figure, shown: fn(f64) -> String| {
        SERVERS.map(|(server, _)| figure(saved, distance, server, wanted).map_or("-".to_owned(), shown))
    };
    let ours = |distance: &Distance| figure(saved, distance, "hayami", Figure::Rate);
    let own_ratio =
        ours(distance).zip(ours(&DISTANCES[REFERENCE])).map(|(rate, base)| format!("{:.2}", rate / base));
    let beside = table(saved, distance)
        .and_then(|table| table.lane("hayami")?.ratio(Figure::PerCore, table.lane("nginx-tuned")?));
    let mut cells = vec![
        format!("{} host", distance.host),
        if distance.keep_alive { "yes" } else { "no" }.to_owned(),
        if distance.delay_ms > 0 { format!("{} ms", distance.delay_ms) } else { "-".to_owned() },
        whole(f64::from(distance.connections)),
        whole(distance.rate),
        format!("{:.2}", distance.rate / DISTANCES[REFERENCE].rate),
        limit(distance).map_or("-".to_owned(), whole),
        own_ratio.unwrap_or("-".to_owned()),
    ];
    cells.extend(all(Figure::Rate, whole));
    cells.extend(all(Figure::Cost, |cost| format!("{cost:.2}")));
    cells.push(beside.map_or("-".to_owned(), with_interval));
    cells
}

/// The maximum of responses per second for this many connections at that distance.
fn limit(distance: &Distance) -> Option<f64> {
    let seconds = f64::from(distance.delay_ms) / 1e3;
    (seconds > 0.0).then(|| f64::from(distance.connections) / (2.0 * seconds))
}

fn table<'a>(saved: &'a Saved, distance: &Distance) -> Option<&'a Table> {
    saved.table(distance.here.ok()?)
}

fn figure(saved: &Saved, distance: &Distance, server: &str, wanted: Figure) -> Option<f64> {
    table(saved, distance)?.lane(server).and_then(|lane: &Lane| lane.median(wanted))
}

/// The remarks on each workload; those common to several appear once.
fn remarks(saved: &Saved) -> String {
    let (mut items, mut shared) = (String::new(), BTreeSet::new());
    for table in DISTANCES.iter().filter_map(|distance| table(saved, distance)) {
        let asides = asides(table);
        let said = asides.lines().filter(|line| !line.is_empty());
        let (heads, own): (Vec<&str>, Vec<&str>) =
            said.partition(|line| line.starts_with("responses differ"));
        shared.extend(heads.into_iter().map(str::to_owned));
        if !own.is_empty() {
            items += &format!("- {}: {}\n", table.name, own.join("; "));
        }
    }
    let shared: String = shared.into_iter().map(|line| format!("- {line}\n")).collect();
    format!("\n{items}{shared}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::{lane, rows, table};

    fn saved() -> Saved {
        let far = vec![lane("hayami", &[20.0, 20.0]), lane("nginx-tuned", &[40.0, 40.0])];
        let near = vec![lane("hayami", &[10.0, 10.0])];
        let tables = vec![table("s1-far-1000", far), table("s1-new-100", near)];
        Saved { tables, ..Saved::default() }
    }

    #[test]
    fn each_row_has_the_limit_of_its_distance_and_both_ratios() {
        let text = rows(&section(&saved()));
        for expected in [
            "| other host | no | 100 ms | 1,000 | 1,269 | 0.09 | 5,000 | 0.50 | 25,000 | 12,500 | - | 20.00 | 40.00 | - | 2.00 (2.00–2.00) |",
            "| other host | no | - | 20,000 | 745 | 0.05 | - | - | - | - | - | - | - | - | - |",
        ] {
            assert!(text.iter().any(|row| row == expected), "{expected}\n{text:#?}");
        }
    }

    #[test]
    fn what_is_the_same_for_several_workloads_is_said_once() {
        let mut saved = saved();
        for (table, note) in saved.tables.iter_mut().zip(["load: a", "load: b"]) {
            table.notes = vec![note.to_owned(), "responses differ by their heads".to_owned()];
        }
        let expected = "\n- s1-new-100: load: b\n- s1-far-1000: load: a\n- responses differ by their heads\n";
        assert_eq!(remarks(&saved), expected);
    }

    #[test]
    fn the_plot_has_a_line_for_each_server_the_limit_and_the_published_figures() {
        let plot = plot(&saved());
        for label in ["hayami", "nginx-tuned", "limit: c / 2T", "published"] {
            assert!(plot.contains(&format!(">{label}<")), "{label}");
        }
        assert!(super::super::svg::well_formed(&plot).is_ok());
    }
}
