//! The tables of the page.

use super::super::failures::causes;
use super::super::figure::{bytes, duration, grouped, percent, plural, rate, three};
use super::super::summary::Summary;
use super::super::text::protocol;
use super::super::{PERCENTILES, Report, figure, shell};
use super::plot::COLOURS;
use super::{escape, section};
use crate::Histogram;
use crate::plan::{Address, KeepAlive, Plan, Until};
use crate::tally::causes::status;

/// The most important figures of one target.
pub(super) fn cards(summary: &Summary<'_>) -> String {
    let tally = &summary.tally;
    let at = |quantile| known(&tally.latency, |latency| duration(latency.quantile(quantile)));
    let mut cards = vec![
        ("requests per second", rate(summary.rate())),
        ("p50 latency", at(0.5)),
        ("p99 latency", at(0.99)),
        ("p99.9 latency", at(0.999)),
        ("errors", grouped(tally.errors.total())),
        ("received per second", bytes(summary.transfer())),
    ];
    // Two full rows, whether the server's cost is known or not.
    cards.push(
        cost(summary).map_or_else(
            || ("responses", grouped(tally.responses)),
            |cost| ("server CPU per response", cost),
        ),
    );
    cards.push(("generator CPU", percent(summary.generator_share())));
    let cards: String =
        cards.iter().map(|(name, value)| format!("<div><b>{value}</b><span>{name}</span></div>")).collect();
    format!("<div class=\"cards\">{cards}</div>\n")
}

fn known(times: &Histogram, value: impl Fn(&Histogram) -> String) -> String {
    if times.is_empty() { "–".to_owned() } else { value(times) }
}

fn cost(summary: &Summary<'_>) -> Option<String> {
    let known = summary.cost_us().filter(|_| summary.is_cost_known());
    known.map(|(user, system)| format!("{}µs", three(user + system)))
}

const OVERVIEW: [&str; 9] =
    ["target", "requests/s", "p50", "p99", "p99.9", "errors", "received/s", "server CPU", "server memory"];

const TIMES: [&str; 10] = ["", "mean", "min", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "max"];

/// A line for each of several targets.
pub(super) fn overview(summaries: &[Summary<'_>]) -> String {
    let line = |(index, summary): (usize, &Summary<'_>)| {
        let tally = &summary.tally;
        let at = |quantile| known(&tally.latency, |latency| duration(latency.quantile(quantile)));
        let memory =
            summary.server.as_ref().map_or_else(|| "–".to_owned(), |server| bytes(server.memory as f64));
        let cells = [
            rate(summary.rate()),
            at(0.5),
            at(0.99),
            at(0.999),
            grouped(tally.errors.total()),
            bytes(summary.transfer()),
            cost(summary).unwrap_or_else(|| "–".to_owned()),
            memory,
        ];
        let dot = format!("<i class=\"dot s{}\"></i>", index % COLOURS);
        row(&OVERVIEW, &format!("{dot}{}", escape(&summary.target.name)), cells)
    };
    let rows: String = summaries.iter().enumerate().map(line).collect();
    section("Targets", "All rounds of each target together.", &table(&OVERVIEW, &rows))
}

fn row(head: &[&str], name: &str, cells: impl IntoIterator<Item = String>) -> String {
    // Where the table is too wide for the page, each cell follows its column's name.
    let columns = head.iter().skip(1);
    let cells: String = columns
        .zip(cells)
        .map(|(column, cell)| format!("<td data-column=\"{column}\">{cell}</td>"))
        .collect();
    let class = if name.starts_with("<i") { "name keyed" } else { "name" };
    format!("<tr><th class=\"{class}\" scope=\"row\">{name}</th>{cells}</tr>")
}

fn table(head: &[&str], rows: &str) -> String {
    let head: String = head.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    format!(
        "<div class=\"wide\"><table class=\"figures\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\n"
    )
}

/// A table of names and values.
fn facts(facts: &[(&str, String)]) -> String {
    let known = facts.iter().filter(|(_, value)| !value.is_empty());
    let rows: String = known
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>"))
        .collect();
    format!("<table class=\"facts\"><tbody>{rows}</tbody></table>\n")
}

/// All counts of one target.
pub(super) fn details(plan: &Plan, summary: &Summary<'_>, several: bool) -> String {
    let heading = if several { escape(&summary.target.name) } else { "Times and counts".to_owned() };
    section(&heading, "", &format!("{}{}", times(summary), counts(plan, summary)))
}

fn times(summary: &Summary<'_>) -> String {
    let tally = &summary.tally;
    let connects = tally.connects();
    let latency = if tally.uncorrected.is_some() { "latency since due" } else { "latency" };
    let all = [
        (latency, Some(&tally.latency)),
        ("latency since sent", tally.uncorrected.as_ref()),
        ("first byte", Some(&tally.first_byte)),
        ("connect", Some(&connects)),
    ];
    let rows: String = all
        .into_iter()
        .filter_map(|(name, times)| Some((name, times.filter(|times| !times.is_empty())?)))
        .map(|(name, times)| {
            let percentiles = PERCENTILES.iter().map(|(_, quantile)| times.quantile(*quantile));
            let cells = [times.mean(), times.min()].into_iter().chain(percentiles).chain([times.max()]);
            row(&TIMES, name, cells.map(duration))
        })
        .collect();
    if rows.is_empty() {
        return "<p>There was no response, so there are no times.</p>".to_owned();
    }
    table(&TIMES, &rows)
}

fn counts(plan: &Plan, summary: &Summary<'_>) -> String {
    let tally = &summary.tally;
    let statuses =
        tally.statuses.iter().map(|(code, count)| format!("{} × {}", grouped(count), status(code)));
    let errors = causes(plan, tally)
        .into_iter()
        .map(|cause| format!("{} × {}", grouped(cause.count), escape(&cause.text)));
    let resumed = if tally.resumed > 0 {
        format!(", {} resumed TLS sessions", grouped(tally.resumed))
    } else {
        String::new()
    };
    let lost = if tally.errors.lost > 0 {
        format!("{} connections", grouped(tally.errors.lost))
    } else {
        String::new()
    };
    let server = summary.server.as_ref().map(|server| {
        let cost = summary.cost_text().map_or_else(String::new, |cost| format!(", {cost}"));
        format!("{}{cost}, {} of memory", escape(&server.name), bytes(server.memory as f64))
    });
    let threads = summary.threads as u64;
    facts(&[
        ("protocol", escape(&protocol(plan, summary))),
        (
            "responses",
            format!(
                "{} in {}, {} successful",
                grouped(tally.responses),
                duration(summary.elapsed),
                grouped(tally.successes())
            ),
        ),
        ("status", list(statuses)),
        ("errors", list(errors)),
        ("lost by --loss", lost),
        (
            "connections",
            format!(
                "{} opened before measuring, {} while measuring{resumed}",
                grouped(tally.connect_before.count()),
                grouped(tally.connections)
            ),
        ),
        (
            "bytes",
            format!(
                "{} received ({} heads, {} content), {} sent",
                bytes(tally.bytes_in as f64),
                bytes(tally.bytes_head as f64),
                bytes(tally.bytes_content as f64),
                bytes(tally.bytes_out as f64)
            ),
        ),
        ("server", server.unwrap_or_default()),
        (
            "generator",
            format!(
                "{} of the CPU time of {threads} thread{}",
                percent(summary.generator_share()),
                plural(threads)
            ),
        ),
    ])
}

/// Lines, or `none`.
fn list(lines: impl Iterator<Item = String>) -> String {
    let lines = lines.collect::<Vec<_>>().join("<br>");
    if lines.is_empty() { "none".to_owned() } else { lines }
}

/// The information needed to repeat the run.
pub(super) fn repeat(report: &Report<'_>) -> String {
    let (plan, about) = (report.plan, report.about);
    let machine = &about.machine;
    let cores = machine.cores as u64;
    let memory = if machine.memory > 0 {
        format!(", {} of memory", bytes(machine.memory as f64))
    } else {
        String::new()
    };
    let cpu = if machine.cpu.is_empty() { "unknown processor" } else { &machine.cpu };
    let facts = facts(&[
        ("program", escape(&about.program)),
        ("machine", format!("{}, {cores} core{}{memory}", escape(cpu), plural(cores))),
        ("system", escape(&format!("{} {}", machine.kernel, machine.architecture))),
        ("begun", report.outcomes.first().map(|outcome| figure::moment(outcome.started)).unwrap_or_default()),
        (
            "targets",
            plan.targets
                .iter()
                .map(|target| escape(&address(&target.address)))
                .collect::<Vec<_>>()
                .join("<br>"),
        ),
        ("load", load(plan)),
        ("connections", connections(plan)),
        ("time", time(plan)),
        ("distance", distance(plan)),
    ]);
    let command = format!("<pre>{}</pre>\n", escape(&shell(&about.command)));
    section("How to repeat this run", "", &format!("{command}{facts}"))
}

fn address(address: &Address) -> String {
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => format!("unix:{}", path.display()),
    }
}

fn load(plan: &Plan) -> String {
    let model = plan.rate.map_or_else(
        || "closed: the next request is sent when a response is complete".to_owned(),
        |due| format!("open: {} requests per second are sent on schedule", rate(due)),
    );
    let (streams, pipeline) = (plan.streams as u64, plan.pipeline as u64);
    format!("{model}; {streams} stream{}, {pipeline} pipelined", plural(streams))
}

fn connections(plan: &Plan) -> String {
    let (connections, threads) = (plan.connections as u64, plan.threads as u64);
    let kept = match plan.keep_alive {
        KeepAlive::On => "kept alive".to_owned(),
        KeepAlive::Off => "a request each".to_owned(),
        KeepAlive::Requests(count) => format!("{count} request{} each", plural(count)),
    };
    format!("{} by {threads} thread{}, {kept}", grouped(connections), plural(threads))
}

fn time(plan: &Plan) -> String {
    let until = match plan.until {
        Until::Elapsed(time) => duration(time),
        Until::Requests(count) => format!("{} requests", grouped(count)),
    };
    let rounds = plan.rounds as u64;
    let mut words = vec![format!("{until} in {rounds} round{}", plural(rounds))];
    let before = [("ramp-up", plan.ramp_up), ("warm-up", plan.warm_up)]
        .into_iter()
        .filter(|(_, time)| !time.is_zero());
    words.extend(before.map(|(name, time)| format!("{name} {}", duration(time))));
    words.push(format!("timeout {}", duration(plan.timeout)));
    words.join(", ")
}

fn distance(plan: &Plan) -> String {
    plan.distance.map_or_else(String::new, |distance| {
        let (rtt, jitter) = (duration(distance.rtt), duration(distance.jitter));
        format!("emulated round trip {rtt}, jitter {jitter}, {} of connections lost", percent(distance.loss))
    })
}
