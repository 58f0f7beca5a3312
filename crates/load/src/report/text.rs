//! The summary for a terminal: similar to wrk's, with more details.

use super::bars::bars;
use super::failures::{causes, death, remedy};
use super::figure::{bytes, duration, grouped, measured, percent, plural, rate};
use super::summary::Summary;
use super::{PERCENTILES, Report};
use crate::compare::{Comparison, Figure, Ratio, Verdict};
use crate::plan::{KeepAlive, Plan, Protocol};
use crate::{Ended, Histogram};

/// The whole summary, ending with a newline. Plain text without colours; columns are aligned by characters.
#[must_use]
pub fn text(report: &Report<'_>) -> String {
    let mut out = String::new();
    for (index, summary) in Summary::all(report).iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        one(&mut out, report.plan, summary);
    }
    if let Some(comparison) = Comparison::of(report.plan, report.outcomes) {
        compared(&mut out, report.plan, &comparison);
    }
    if !report.warnings.is_empty() {
        out.push('\n');
    }
    report.warnings.iter().for_each(|warning| line(&mut out, &format!("Warning: {warning}")));
    out
}

/// Writing to a string cannot fail.
fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn one(out: &mut String, plan: &Plan, summary: &Summary<'_>) {
    let rounds = summary.rounds.len();
    let in_rounds = if rounds > 1 { format!(" in {rounds} rounds") } else { String::new() };
    let stopped = if summary.ended == Ended::Interrupted { ", interrupted" } else { "" };
    line(out, &format!("{}{in_rounds}{stopped} @ {}", duration(summary.elapsed), summary.target.name));
    line(out, &format!("  {}", set_up(plan, summary)));
    deaths(out, summary);
    times(out, summary);
    distribution(out, summary);
    if plan.targets.len() == 1 {
        histogram(out, summary);
    }
    totals(out, summary);
    statuses(out, summary);
    errors(out, plan, summary);
    costs(out, summary);
    let failed = summary.tally.successes() < summary.tally.responses;
    let successful = if failed { " (successful)" } else { "" };
    line(out, &format!("Requests/sec: {:>12.2}{successful}", summary.rate()));
    line(out, &format!("Transfer/sec: {:>12}", bytes(summary.transfer())));
}

/// `2 threads and 100 connections, HTTP/1.1, rtt 100ms`.
fn set_up(plan: &Plan, summary: &Summary<'_>) -> String {
    let (threads, connections) = (plan.threads as u64, plan.connections as u64);
    let mut words = vec![format!(
        "{threads} thread{} and {connections} connection{}",
        plural(threads),
        plural(connections)
    )];
    words.extend(Some(protocol(plan, summary)).filter(|protocol| !protocol.is_empty()));
    match plan.keep_alive {
        KeepAlive::On => {}
        KeepAlive::Off => words.push("one request per connection".into()),
        KeepAlive::Requests(n) => words.push(format!("{n} request{} per connection", plural(n))),
    }
    if plan.streams > 1 {
        words.push(format!("{} streams", plan.streams));
    }
    if plan.pipeline > 1 {
        words.push(format!("{} pipelined", plan.pipeline));
    }
    words.extend(plan.rate.map(|due| format!("{} requests/s due", rate(due))));
    words.extend(plan.distance.map(|distance| format!("emulated rtt {}", duration(distance.rtt))));
    words.join(", ")
}

/// The protocol of the responses, or the requested one; empty if neither is known.
pub(super) fn protocol(plan: &Plan, summary: &Summary<'_>) -> String {
    if let Some(sample) = &summary.tally.sample {
        let tls = sample.tls.as_ref().map(|tls| format!(", {tls}")).unwrap_or_default();
        let asked = if plan.protocol == Protocol::Http10 { "HTTP/1.0" } else { "HTTP/1.1" };
        let differs = sample.protocol.starts_with("HTTP/1.") && sample.protocol != asked;
        let asked = if differs { format!("{asked} answered in ") } else { String::new() };
        return format!("{asked}{}{tls}", sample.protocol);
    }
    let planned = match plan.protocol {
        Protocol::Auto => "",
        Protocol::Http10 => "HTTP/1.0",
        Protocol::Http11 => "HTTP/1.1",
        Protocol::Http2 => "HTTP/2",
    };
    planned.to_owned()
}

fn times(out: &mut String, summary: &Summary<'_>) {
    let tally = &summary.tally;
    let connects = tally.connects();
    let rows = [
        ("Latency", Some(&tally.latency)),
        ("Since sent", tally.uncorrected.as_ref()),
        ("First byte", Some(&tally.first_byte)),
        ("Connect", Some(&connects)),
    ];
    if tally.latency.is_empty() && connects.is_empty() {
        return line(out, "  no response");
    }
    line(out, &format!("  {:<14}{:>10}{:>10}{:>10}{:>10}", "", "Avg", "Stdev", "Min", "Max"));
    for (name, times) in rows {
        if let Some(times) = times.filter(|times| !times.is_empty()) {
            let cells = [times.mean(), times.deviation(), times.min(), times.max()].map(duration);
            let [mean, deviation, min, max] = cells;
            line(out, &format!("  {name:<14}{mean:>10}{deviation:>10}{min:>10}{max:>10}"));
        }
    }
    if tally.latency.is_empty() {
        line(out, "  no response");
    }
}

fn distribution(out: &mut String, summary: &Summary<'_>) {
    let tally = &summary.tally;
    if tally.latency.is_empty() {
        return;
    }
    let at = |times: &Histogram, quantile| duration(times.quantile(quantile));
    match &tally.uncorrected {
        None => line(out, "  Latency distribution"),
        Some(_) => line(out, "  Latency distribution   since due  since sent (hides waiting)"),
    }
    for (name, quantile) in PERCENTILES {
        let sent = tally.uncorrected.as_ref().map(|times| at(times, quantile)).unwrap_or_default();
        let width = if tally.uncorrected.is_some() { 26 } else { 10 };
        let name = format!("{}%", &name[1..]);
        line(out, &format!("  {name:>8}{:>width$}{sent:>12}", at(&tally.latency, quantile)));
    }
}

fn totals(out: &mut String, summary: &Summary<'_>) {
    let tally = &summary.tally;
    let connections = tally.connects().count();
    let successes = match tally.successes() {
        successes if successes == tally.responses => String::new(),
        successes => format!(" ({} successful)", grouped(successes)),
    };
    line(
        out,
        &format!(
            "  {} response{}{successes} in {}, {} read, {} sent, {} connection{} opened",
            grouped(tally.responses),
            plural(tally.responses),
            duration(summary.elapsed),
            bytes(tally.bytes_in as f64),
            bytes(tally.bytes_out as f64),
            grouped(connections),
            plural(connections),
        ),
    );
    if tally.errors.lost > 0 {
        line(out, &format!("  Lost by --loss: {} connections", grouped(tally.errors.lost)));
    }
}

/// The runs in which the server stopped answering.
fn deaths(out: &mut String, summary: &Summary<'_>) {
    for (round, outcome) in summary.rounds.iter().enumerate() {
        let Some(dead) = &outcome.death else { continue };
        let round = if summary.rounds.len() > 1 { format!("Round {}: ", round + 1) } else { String::new() };
        line(out, &format!("  {round}{}", death(outcome, dead)));
    }
}

/// Columns of the bars: with the summary's other tables, no wider than 80.
const COLUMNS: usize = 72;

fn histogram(out: &mut String, summary: &Summary<'_>) {
    let bars = bars(&summary.tally.latency, 10, COLUMNS);
    if !bars.is_empty() {
        line(out, "  Latency histogram");
    }
    bars.iter().for_each(|bar| line(out, bar));
}

fn statuses(out: &mut String, summary: &Summary<'_>) {
    let mut statuses: Vec<_> = summary.tally.statuses.iter().collect();
    statuses.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if !statuses.is_empty() {
        line(out, "  Status code distribution");
    }
    for (code, count) in statuses {
        line(out, &format!("    [{code}] {} response{}", grouped(count), plural(count)));
    }
}

fn errors(out: &mut String, plan: &Plan, summary: &Summary<'_>) {
    let causes = causes(plan, &summary.tally);
    if !causes.is_empty() {
        line(out, "  Error distribution");
    }
    for cause in causes {
        let remedy = remedy(&cause).map(|remedy| format!("; {remedy}")).unwrap_or_default();
        line(out, &format!("    [{}] {}{remedy}", grouped(cause.count), cause.text));
    }
}

fn costs(out: &mut String, summary: &Summary<'_>) {
    let threads = summary.threads as u64;
    let share = percent(summary.generator_share());
    line(out, &format!("  Generator: {share} of the CPU time of {threads} thread{}", plural(threads)));
    if let Some(server) = &summary.server {
        let cost = summary.cost_text().unwrap_or_else(|| "no successful response".to_owned());
        line(out, &format!("  Server: {}, {cost}, {}", server.name, bytes(server.memory as f64)));
    }
}

fn compared(out: &mut String, plan: &Plan, comparison: &Comparison) {
    let rounds = comparison.rows.iter().map(|row| row.figures[0].rounds.len()).min().unwrap_or(0);
    let plural = plural(rounds as u64);
    out.push('\n');
    line(
        out,
        &format!(
            "Comparison over {rounds} round{plural}: medians and ratios to the first, with 95 % confidence intervals"
        ),
    );
    for measure in comparison.measures() {
        let better = if measure.more_is_better() { "more" } else { "less" };
        line(out, &format!("  {} ({better} is better)", measure.label()));
        for row in &comparison.rows {
            let figure = row.figure(measure);
            let value = figure.median.map_or_else(|| "unknown".into(), |value| measured(measure, value));
            line(
                out,
                &format!(
                    "    {value:>12}  {:<34}  {}",
                    verdict(row.target, figure),
                    plan.targets[row.target].name
                ),
            );
        }
    }
}

/// `1.23 times [1.20, 1.26]`, or another verdict.
fn verdict(target: usize, figure: &Figure) -> String {
    match figure.ratio {
        None if target == 0 => "baseline".into(),
        None => "not comparable".into(),
        Some(ratio) => ratio_text(&ratio),
    }
}

pub(super) fn ratio_text(ratio: &Ratio) -> String {
    let Some((low, high)) = ratio.interval else {
        let digits = decimals(ratio.value);
        return format!("{:.digits$} times, one round only", ratio.value);
    };
    // Two decimals would hide a narrow interval, and a ratio that differs from 1 would be shown as 1.00.
    let digits = match decimals(ratio.value) {
        2 if high - low < 0.02 => 3,
        digits => digits,
    };
    let interval = format!("[{low:.digits$}, {high:.digits$}]");
    match ratio.verdict() {
        Verdict::NoDifference => format!("no difference shown {interval}"),
        _ => format!("{:.digits$} times {interval}", ratio.value),
    }
}

/// Decimals of a ratio: two, one for large ratios, and three significant digits for small ones.
pub(super) fn decimals(ratio: f64) -> usize {
    match ratio {
        10.0.. => 1,
        _ if ratio > 0.0 && ratio < 0.1 => (2.0 - ratio.log10().floor()).min(9.0) as usize,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::report::samples::golden;
    use std::time::Duration;

    #[test]
    fn summaries_are_written_in_these_words() {
        golden("txt", text);
    }

    #[test]
    fn what_a_ratio_tells() {
        let cases = [
            (1.0, None, "1.00 times, one round only"),
            (1.234, Some((1.2, 1.3)), "1.23 times [1.20, 1.30]"),
            (1.01, Some((0.99, 1.03)), "no difference shown [0.99, 1.03]"),
            (44.375, Some((30.81, 63.94)), "44.4 times [30.8, 63.9]"),
            (1.002, Some((1.001, 1.003)), "1.002 times [1.001, 1.003]"),
            (0.5, Some((0.495, 0.505)), "0.500 times [0.495, 0.505]"),
            (0.001_234, Some((0.000_98, 0.001_56)), "0.00123 times [0.00098, 0.00156]"),
            (0.0123, None, "0.0123 times, one round only"),
        ];
        for (value, interval, expected) in cases {
            assert_eq!(ratio_text(&Ratio { value, interval, rounds: 2 }), expected);
        }
    }

    #[test]
    fn failed_responses_are_told_apart_from_successful_ones() {
        let (plan, outcomes) = samples::troubled();
        let about = samples::about();
        let said = text(&Report { plan: &plan, outcomes: &outcomes, warnings: &[], about: &about });
        let tally = &outcomes[0].tally;
        let counts =
            format!("{} responses ({} successful)", grouped(tally.responses), grouped(tally.responses - 28));
        assert!(said.contains(&counts), "{said}");
        assert!(said.lines().any(|line| line.starts_with("Requests/sec") && line.ends_with(" (successful)")));
        assert!(said.contains("Since sent") && !said.contains("Uncorrected"), "{said}");
    }

    #[test]
    fn an_unknown_protocol_is_left_out() {
        let (mut plan, outcomes) = samples::nothing();
        plan.protocol = Protocol::Auto;
        let about = samples::about();
        let said = text(&Report { plan: &plan, outcomes: &outcomes, warnings: &[], about: &about });
        assert!(said.contains("2 threads and 100 connections\n") && !said.contains("HTTP"), "{said}");
        assert!(said.contains("0 connections opened"), "{said}");
    }

    #[test]
    fn cpu_time_of_a_few_clock_ticks_gives_no_cost() {
        let (plan, mut outcomes) = samples::single();
        for (user, want) in [(0, false), (30, false), (60, true)] {
            let server = outcomes[0].server.as_mut().expect("known");
            (server.user, server.system) = (Duration::from_millis(user), Duration::ZERO);
            let about = samples::about();
            let said = text(&Report { plan: &plan, outcomes: &outcomes, warnings: &[], about: &about });
            assert_eq!(said.contains("µs CPU per response"), want, "{said}");
            assert_eq!(said.contains("too short to measure its CPU time"), !want, "{said}");
        }
    }

    #[test]
    fn a_target_without_a_single_run_is_no_trouble() {
        let (plan, _) = samples::compared();
        let about = samples::about();
        let report = Report { plan: &plan, outcomes: &[], warnings: &["nothing ran".into()], about: &about };
        let text = text(&report);
        assert!(text.contains("no response") && text.contains("Warning: nothing ran"), "{text}");
    }
}
