//! The plots of latency and rate.

use super::super::summary::{Point, Summary};
use super::axis::Axis;
use super::plot::{COLOURS, Plot};
use super::{escape, section};
use crate::Histogram;
use std::time::Duration;

/// Buckets of the latency plot; fewer where a bucket would be narrower than the histogram's resolution.
const BUCKETS: f64 = 90.0;

/// The distribution of latencies: the share of the responses in each bucket.
pub(super) fn spread(summaries: &[Summary<'_>]) -> String {
    let Some(x) = time_axis("latency (logarithmic)", summaries) else { return String::new() };
    let (low, high) = x.ends();
    let parts = ((high / low).ln() / 1.02_f64.ln()).min(BUCKETS) as usize;
    let (low, high) = (Duration::from_nanos(low as u64), Duration::from_nanos(high as u64));
    let curves: Vec<_> =
        summaries.iter().map(|summary| steps(&summary.tally.latency, low, high, parts)).collect();
    let most = curves.iter().flatten().map(|(_, share)| *share).fold(0.0, f64::max);
    let y = Axis::linear("share of the responses", most, " %");
    let described = "The distribution of latencies over the responses, in percent.";
    let mut plot = Plot::new("Latency histogram", described, x, y);
    for (series, points) in curves.iter().enumerate().filter(|(_, points)| !points.is_empty()) {
        plot.area(series, points);
        plot.curve(series, false, points);
    }
    if let [only] = summaries {
        let at = |quantile| only.tally.latency.quantile(quantile).as_nanos() as f64;
        plot.marks(&[(at(0.5), "p50"), (at(0.9), "p90"), (at(0.99), "p99"), (at(0.999), "p99.9")]);
    }
    section("Latency histogram", "", &format!("{}{}", legend(summaries, None), plot.done()))
}

/// The outline of the buckets, in percent. Empty ends are left out.
fn steps(latency: &Histogram, low: Duration, high: Duration, parts: usize) -> Vec<(f64, f64)> {
    let buckets = latency.spread(low, high, parts);
    let Some(first) = buckets.iter().position(|bucket| bucket.count > 0.0) else { return Vec::new() };
    let last = buckets.iter().rposition(|bucket| bucket.count > 0.0).unwrap_or(first);
    let mut points = vec![(buckets[first].low, 0.0)];
    for bucket in &buckets[first..=last] {
        let share = bucket.count / latency.count() as f64 * 100.0;
        points.extend([(bucket.low, share), (bucket.high, share)]);
    }
    points.push((buckets[last].high, 0.0));
    points
}

/// The latency within which each share of the responses arrived.
pub(super) fn percentiles(summaries: &[Summary<'_>]) -> String {
    let Some(y) = time_axis("latency (logarithmic)", summaries) else { return String::new() };
    let count = summaries.iter().map(|summary| summary.tally.latency.count()).max().unwrap_or(0);
    let nines = (count as f64).log10().ceil().clamp(2.0, 5.0) as usize;
    let described = "The latency that each share of the responses did not exceed.";
    let mut plot =
        Plot::new("Latency percentiles", described, Axis::nines("share of the responses", nines), y);
    for (series, summary) in summaries.iter().enumerate() {
        plot.curve(series, false, &curve(&summary.tally.latency, nines));
        if let Some(uncorrected) = &summary.tally.uncorrected {
            plot.curve(series, true, &curve(uncorrected, nines));
        }
    }
    let corrected = summaries.iter().any(|summary| summary.tally.uncorrected.is_some());
    let dashed = corrected.then_some("since sent (hides waiting)");
    section("Latency percentiles", "", &format!("{}{}", legend(summaries, dashed), plot.done()))
}

/// The curve up to the last quantile with at least one response beyond it.
fn curve(latency: &Histogram, nines: usize) -> Vec<(f64, f64)> {
    if latency.is_empty() {
        return Vec::new();
    }
    let end = (latency.count() as f64).log10().min(nines as f64);
    let quantiles = (0..=300).map(|step| 1.0 - 10_f64.powf(-end * f64::from(step) / 300.0));
    quantiles.map(|quantile| (quantile, latency.quantile(quantile).as_nanos() as f64)).collect()
}

/// Answers a second over the measured time, with marks where there were errors.
pub(super) fn over_time(summaries: &[Summary<'_>]) -> String {
    let series: Vec<Vec<Point>> = summaries.iter().map(Summary::points).collect();
    let most = series.iter().flatten().map(|point| point.rate).fold(0.0, f64::max);
    let longest = summaries.iter().map(|summary| summary.elapsed).max().unwrap_or_default();
    let nothing = |point: &Point| point.slot.responses == 0 && point.slot.errors == 0;
    if series.iter().flatten().all(nothing) || longest.is_zero() {
        return String::new();
    }
    let x = Axis::until("measured time", longest.as_secs_f64(), " s");
    let y = Axis::linear("responses per second", most, "");
    let described =
        "The rate of responses over the measured time; strokes on the axis are moments with errors.";
    let mut plot = Plot::new("Rate over time", described, x, y);
    for (index, points) in series.iter().enumerate().filter(|(_, points)| !points.is_empty()) {
        let points: Vec<_> = points.iter().map(|point| (point.at, point.rate)).collect();
        plot.curve(index, false, &points);
    }
    let failed = series.iter().flatten().filter(|point| point.slot.errors > 0).map(|point| point.at);
    plot.errors(failed);
    let note = over_time_note(summaries, series.iter().flatten().any(|point| point.slot.errors > 0));
    section("Rate over time", &note, &format!("{}{}", legend(summaries, None), plot.done()))
}

fn over_time_note(summaries: &[Summary<'_>], failed: bool) -> String {
    let rounds = summaries.iter().map(|summary| summary.rounds.len()).max().unwrap_or(0);
    let mut notes = Vec::new();
    if rounds > 1 {
        notes.push(format!("{rounds} rounds one after another, without the time between them."));
    }
    if failed {
        notes.push("Red strokes on the axis: moments with errors.".to_owned());
    }
    notes.join(" ")
}

/// From the shortest to the longest latency of all. `None` when nothing was answered.
fn time_axis(title: &'static str, summaries: &[Summary<'_>]) -> Option<Axis> {
    let all = summaries
        .iter()
        .flat_map(|summary| [Some(&summary.tally.latency), summary.tally.uncorrected.as_ref()]);
    let known: Vec<_> = all.flatten().filter(|latency| !latency.is_empty()).collect();
    let least = known.iter().map(|latency| latency.min()).min()?;
    let most = known.iter().map(|latency| latency.max()).max()?;
    Some(Axis::time(title, least.as_nanos() as f64, most.as_nanos() as f64))
}

/// The legend of colours and targets; empty for one target and one kind of line.
fn legend(summaries: &[Summary<'_>], dashed: Option<&str>) -> String {
    if summaries.len() < 2 && dashed.is_none() {
        return String::new();
    }
    let mut legend = String::from("<div class=\"legend\">");
    for (series, summary) in summaries.iter().enumerate() {
        let name = if summaries.len() == 1 { "since due" } else { &summary.target.name };
        legend += &format!("<span><i class=\"dot s{}\"></i>{}</span>", series % COLOURS, escape(name));
    }
    if let Some(label) = dashed {
        legend += &format!("<span><i class=\"dash s0\"></i>{label}</span>");
    }
    legend + "</div>"
}
