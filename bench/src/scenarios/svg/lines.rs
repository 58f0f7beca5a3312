//! Figures over a growing number as lines, a line for each server, with logarithmic axes.

use super::{Svg, WIDTH};

/// A line of the plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// Points, from left to right; both coordinates are positive.
    pub(crate) points: Vec<(f64, f64)>,
    /// The CSS class of its colour.
    pub(crate) colour: &'static str,
    pub(crate) dashed: bool,
}

const LEFT: f64 = 76.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 74.0;
const HEIGHT: f64 = 430.0;
const BOTTOM: f64 = 52.0;
/// Minimum distance of labels at the ends of lines.
const LABEL: f64 = 17.0;

/// The plot; `x` and `y` are the titles of the axes.
pub(crate) fn lines(title: &str, x: &str, y: &str, lines: &[Line]) -> String {
    let mut svg = Svg::new(title, y);
    let points = || lines.iter().flat_map(|line| &line.points);
    let (xs, ys) = (Axis::over(points().map(|point| point.0)), Axis::decades(points().map(|point| point.1)));
    let place = |(x, y): (f64, f64)| {
        let left = LEFT + xs.place(x) * (WIDTH - LEFT - RIGHT);
        (left, HEIGHT - BOTTOM - ys.place(y) * (HEIGHT - TOP - BOTTOM))
    };
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for &tick in &ys.ticks {
        let (_, top) = place((xs.low, tick));
        svg.path("grid", &format!("M{LEFT} {top:.1}H{right}"));
        svg.text(LEFT - 8.0, top + 4.0, "soft", "end", &grouped(tick));
    }
    for &tick in &xs.ticks {
        let (left, _) = place((tick, ys.low));
        svg.path("axis", &format!("M{left:.1} {bottom}v5"));
        svg.text(left, bottom + 19.0, "soft", "middle", &grouped(tick));
    }
    svg.path("axis", &format!("M{LEFT} {bottom}H{right}"));
    svg.text(right, bottom + 38.0, "soft", "end", x);
    let mut ends = Vec::new();
    for line in lines {
        let places: Vec<(f64, f64)> = line.points.iter().copied().map(place).collect();
        draw(&mut svg, line, &places);
        ends.extend(places.last().map(|&(left, top)| (left, top, line)));
    }
    label(&mut svg, ends);
    svg.done(title, HEIGHT)
}

fn draw(svg: &mut Svg, line: &Line, places: &[(f64, f64)]) {
    let mut path = String::new();
    for (index, (left, top)) in places.iter().enumerate() {
        let step = if index == 0 { 'M' } else { 'L' };
        path += &format!("{step}{left:.1} {top:.1}");
    }
    let colour = line.colour;
    svg.path(&format!("curve {colour}{}", if line.dashed { " dashed" } else { "" }), &path);
    for (left, top) in places.iter().filter(|_| !line.dashed) {
        svg.put(format_args!(
            "<circle class=\"dot {colour}\" cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"3.5\"/>\n"
        ));
    }
}

/// Draws labels at the ends of the lines, moved apart where they would overlap.
fn label(svg: &mut Svg, mut ends: Vec<(f64, f64, &Line)>) {
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut free = TOP - LABEL;
    for (left, top, line) in ends {
        let top = top.max(free + LABEL);
        free = top;
        let (colour, x) = (line.colour, left + 10.0);
        svg.rect(&format!("bar {colour}"), x, top - 4.0, 10.0, 4.0);
        svg.text(x + 15.0, top + 3.0, "", "start", &line.label);
    }
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// From the smallest to the largest value, with a tick at each.
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let mut ticks: Vec<f64> = values.filter(|value| *value > 0.0 && value.is_finite()).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let (low, high) = (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(10.0));
        Self { low, high, ticks }
    }

    /// From one power of ten to another, with ticks at 1, 2 and 5 times each.
    fn decades(values: impl Iterator<Item = f64>) -> Self {
        let Self { low, high, .. } = Self::over(values);
        let (first, last) = (low.log10().floor() as i32, (high.log10() - 1e-9).ceil() as i32);
        let last = last.max(first + 1);
        let ticks = (first..last).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power)));
        let ticks = ticks.chain([10_f64.powi(last)]).collect();
        Self { low: 10_f64.powi(first), high: 10_f64.powi(last), ticks }
    }

    /// The position on the axis: 0 at the low end, 1 at the high end.
    fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }
}

fn grouped(value: f64) -> String {
    crate::crosscheck::whole(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::svg::well_formed;

    fn line(label: &str, points: &[(f64, f64)]) -> Line {
        Line { label: label.to_owned(), points: points.to_vec(), colour: "c0", dashed: false }
    }

    #[test]
    fn lines_are_well_formed_and_their_labels_escaped() {
        let drawn = lines(
            "a & b",
            "<x>",
            "y",
            &[line("<one>", &[(100.0, 480.0), (1000.0, 4800.0)]), line("none", &[])],
        );
        assert!(well_formed(&drawn).is_ok(), "{:?}", well_formed(&drawn));
        assert!(drawn.contains("&lt;one&gt;") && drawn.contains("&lt;x&gt;") && drawn.contains(">1,000<"));
    }

    #[test]
    fn labels_at_the_same_height_are_moved_apart() {
        let same = [(100.0, 500.0), (1000.0, 5000.0)];
        let drawn = lines("t", "x", "y", &[line("one", &same), line("two", &same)]);
        let height = |label: &str| {
            let before = drawn.split(&format!(">{label}<")).next()?;
            before.rsplit("y=\"").next()?.split('"').next()?.parse::<f64>().ok()
        };
        let apart = height("two").unwrap() - height("one").unwrap();
        assert!((apart - LABEL).abs() < 0.1, "{apart}");
    }

    #[test]
    fn an_axis_of_decades_holds_all_values() {
        for (values, low, high) in [
            (vec![467.0, 24_000.0], 100.0, 100_000.0),
            (vec![100.0, 1000.0], 100.0, 1000.0),
            (vec![5.0], 1.0, 10.0),
            (vec![], 1.0, 10.0),
        ] {
            let axis = Axis::decades(values.clone().into_iter());
            assert!((axis.low - low).abs() < 1e-9 && (axis.high - high).abs() < 1e-9, "{values:?}");
            assert!(values.iter().all(|value| (0.0..=1.0).contains(&axis.place(*value))));
        }
    }
}
