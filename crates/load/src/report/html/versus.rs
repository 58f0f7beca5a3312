//! Several targets side by side: a table for each measure, with bars of the ratios and whiskers of their intervals.

use super::super::figure::{measured, plural};
use super::super::text::{decimals, ratio_text};
use super::plot::COLOURS;
use super::{escape, section};
use crate::Plan;
use crate::compare::{Comparison, Figure, Measure, Row, Verdict};

/// Width and height of a bar's drawing.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 30.0;

/// The section; empty with one target.
pub(super) fn versus(plan: &Plan, comparison: Option<&Comparison>) -> String {
    let Some(comparison) = comparison else { return String::new() };
    let rounds = comparison.rows.iter().map(|row| row.figures[0].rounds.len()).min().unwrap_or(0) as u64;
    let note = format!(
        "Medians over {rounds} round{}, and ratios to the first target with their 95 % confidence intervals \
         (Student's, of the logarithms of the ratios of paired rounds). An interval that contains 1 shows no difference.",
        plural(rounds)
    );
    let tables: String =
        comparison.measures().into_iter().map(|measure| table(plan, comparison, measure)).collect();
    section("Comparison", &note, &tables)
}

fn table(plan: &Plan, comparison: &Comparison, measure: Measure) -> String {
    let most = scale(comparison, measure);
    let rows: String = comparison.rows.iter().map(|row| line(plan, comparison, row, measure, most)).collect();
    let better = if measure.more_is_better() { "more is better" } else { "less is better" };
    format!(
        "<div class=\"wide\"><table class=\"versus\"><thead><tr><th>{} <span class=\"note\">({better})</span></th>\
         <th>median</th><th>ratio</th><th>ratio to the first, with interval</th></tr></thead><tbody>{rows}</tbody></table></div>\n",
        measure.label()
    )
}

/// The ratio at the right end of the bars. An interval that reaches beyond twice the largest ratio is cut off:
/// otherwise the bars would be too small.
fn scale(comparison: &Comparison, measure: Measure) -> f64 {
    let figures = || comparison.rows.iter().map(|row| row.figure(measure));
    let ratios = figures().map(|figure| ratio(comparison, figure).unwrap_or(1.0));
    let largest = ratios.fold(1.0, f64::max);
    let ends = figures().filter_map(|figure| Some(figure.ratio?.interval?.1));
    ends.fold(largest, f64::max).min(largest * 2.0) * 1.04
}

/// The ratio over paired rounds; for the first target 1.
fn ratio(comparison: &Comparison, figure: &Figure) -> Option<f64> {
    let first = comparison.rows[0].figure(figure.measure);
    if std::ptr::eq(first, figure) {
        figure.median.map(|_| 1.0)
    } else {
        figure.ratio.map(|ratio| ratio.value)
    }
}

fn line(plan: &Plan, comparison: &Comparison, row: &Row, measure: Measure, most: f64) -> String {
    let figure = row.figure(measure);
    let name = escape(&plan.targets[row.target].name);
    let colour = row.target % COLOURS;
    let median = figure.median.map_or_else(|| "unknown".to_owned(), |value| measured(measure, value));
    let (class, said) = said(row, figure);
    format!(
        "<tr><th class=\"name keyed\" scope=\"row\"><i class=\"dot s{colour}\"></i>{name}</th><td>{median}</td>\
         <td class=\"{class}\">{said}</td><td class=\"bar\">{}</td></tr>",
        bar(comparison, figure, colour, most)
    )
}

/// The verdict of the ratio, and its style.
fn said(row: &Row, figure: &Figure) -> (&'static str, String) {
    let Some(ratio) = figure.ratio else {
        let words = if row.target == 0 { "baseline" } else { "not comparable" };
        return ("sub", words.to_owned());
    };
    let good = match ratio.verdict() {
        Verdict::Higher => Some(figure.measure.more_is_better()),
        Verdict::Lower => Some(!figure.measure.more_is_better()),
        Verdict::NoDifference | Verdict::TooFewRounds => None,
    };
    let class = match good {
        Some(true) => "good",
        Some(false) => "bad",
        None => "sub",
    };
    (
        class,
        ratio_text(&ratio)
            .replace(" times", "\u{a0}×")
            .replace(" [", "<br><span class=\"note\">[")
            .replace(']', "]</span>"),
    )
}

fn bar(comparison: &Comparison, figure: &Figure, colour: usize, most: f64) -> String {
    let Some(value) = ratio(comparison, figure) else { return String::new() };
    let place = |ratio: f64| (ratio / most).clamp(0.0, 1.0) * WIDTH;
    let interval = figure.ratio.and_then(|ratio| ratio.interval);
    let whisker = interval.map_or_else(String::new, |(low, high)| {
        // A cut-off whisker has no end mark.
        let end = if high <= most { format!("M{:.1} 10v10", place(high)) } else { String::new() };
        let (low, high, middle) = (place(low), place(high), HEIGHT / 2.0);
        format!("<path class=\"whisker\" d=\"M{low:.1} {middle}H{high:.1}M{low:.1} 10v10{end}\"/>")
    });
    let digits = decimals(value);
    format!(
        "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\"><title>{value:.digits$} times the first</title>\
         <rect class=\"block s{colour}\" x=\"0\" y=\"7\" width=\"{:.1}\" height=\"16\" rx=\"2\"/>\
         <path class=\"mark\" d=\"M{:.1} 0V{HEIGHT}\"/>{whisker}</svg>",
        place(value),
        place(1.0)
    )
}
