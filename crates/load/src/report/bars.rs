//! A histogram of latencies as bars of text: the same in the live view and in the summary.

use super::figure::{duration, grouped};
use crate::Histogram;
use std::time::Duration;

/// A line for each of up to `lines` steps of equal ratio between the shortest and the longest latency:
/// `≤ 1.02ms  12,345  ██████▌`, at most `columns` wide.
pub(crate) fn bars(latency: &Histogram, lines: usize, columns: usize) -> Vec<String> {
    let (low, high) = (latency.min(), latency.max());
    // The histogram's resolution is 1 %.
    let steps = ((high.as_secs_f64() / low.as_secs_f64().max(1e-9)).ln() / 1.02_f64.ln()) as usize;
    let mut steps: Vec<(Duration, f64)> = latency
        .spread(low, high, lines.min(steps))
        .iter()
        .map(|bucket| (Duration::from_nanos(bucket.high as u64), bucket.count))
        .collect();
    if steps.is_empty() && !latency.is_empty() {
        steps.push((high, latency.count() as f64));
    }
    let most = steps.iter().map(|(_, count)| *count).fold(1.0, f64::max);
    let counts: Vec<_> = steps.iter().map(|(_, count)| grouped(count.round() as u64)).collect();
    let width = counts.iter().map(String::len).max().unwrap_or(0);
    let room = columns.saturating_sub("  ≤ 1.02ms  ".chars().count() + width + 2).min(40);
    let line = |((end, count), text): ((Duration, f64), String)| {
        let eighths = (count / most * room as f64 * 8.0).round() as usize;
        // Any nonzero count is visible.
        let eighths = if count >= 0.5 { eighths.max(1) } else { eighths };
        format!("  ≤ {:>6}  {text:>width$}  {}", duration(end), bar(eighths)).trim_end().to_owned()
    };
    steps.into_iter().zip(counts).map(line).collect()
}

/// A bar of this many eighths of a column.
pub(crate) fn bar(eighths: usize) -> String {
    let mut bar = "█".repeat(eighths / 8);
    if let Some(part) = (eighths % 8).checked_sub(1) {
        bar.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][part]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_of_the_most_frequent_latency() {
        let mut latency = Histogram::new();
        latency.record_many(1_000_000, 800);
        latency.record_many(10_000_000, 2);
        let lines = bars(&latency, 4, 60);
        assert_eq!(lines.len(), 4);
        assert!(lines[0].contains("800  ████████████████████████████████████████"), "{lines:#?}");
        assert!(lines[3].starts_with("  ≤ 10.0ms    2  ▏") && lines[1].ends_with("  0"), "{lines:#?}");
        assert!(bars(&latency, 4, 30).iter().all(|line| line.chars().count() <= 30));
    }

    #[test]
    fn one_latency_is_one_bar_and_none_is_nothing() {
        let mut latency = Histogram::new();
        assert_eq!(bars(&latency, 8, 60), Vec::<String>::new());
        latency.record_many(1_000_000, 3);
        assert_eq!(bars(&latency, 8, 20), ["  ≤ 1.00ms  3  █████"]);
    }
}
