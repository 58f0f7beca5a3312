//! Measured and published ratios as horizontal bars, a pair for each server.

use super::{Svg, WIDTH, width_of};

/// A row of the plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bar {
    pub(crate) label: String,
    /// The measured ratio and the ends of its interval.
    pub(crate) measured: Option<f64>,
    pub(crate) interval: Option<(f64, f64)>,
    /// The published ratio.
    pub(crate) published: Option<f64>,
    /// Whether it is ours, which is drawn in another colour.
    pub(crate) ours: bool,
}

/// Width of the labels: as much as the longest needs, within these bounds.
const LEFT: (f64, f64) = (120.0, 430.0);
const RIGHT: f64 = 110.0;
const TOP: f64 = 88.0;
const ROW: f64 = 42.0;

/// The plot. `unit` is the meaning of 1.
pub(crate) fn bars(title: &str, unit: &str, rows: &[Bar]) -> String {
    let mut svg = Svg::new(title, &format!("1 = {unit}; more is better"));
    legend(&mut svg);
    let values = |row: &Bar| [row.measured, row.published, row.interval.map(|(_, high)| high)];
    let most = rows.iter().flat_map(values).flatten().fold(1.0_f64, f64::max);
    let left = left(rows);
    let scale = (WIDTH - left - RIGHT) / most;
    let bottom = TOP + rows.len() as f64 * ROW;
    svg.path("axis", &format!("M{left:.1} {TOP}V{bottom}"));
    let one = left + scale;
    svg.path("one", &format!("M{one:.1} {:.1}V{bottom}", TOP - 6.0));
    svg.text(one, TOP - 10.0, "soft", "middle", "1");
    for (index, row) in rows.iter().enumerate() {
        draw(&mut svg, row, left, TOP + index as f64 * ROW, scale);
    }
    svg.done(title, bottom + 18.0)
}

/// The left edge of the bars.
fn left(rows: &[Bar]) -> f64 {
    let longest = rows.iter().map(|row| width_of(&row.label)).fold(0.0, f64::max);
    (longest + 26.0).clamp(LEFT.0, LEFT.1)
}

fn legend(svg: &mut Svg) {
    let mut x = 16.0;
    for (class, label) in
        [("bar c0", "hayami, measured"), ("bar c2", "others, measured"), ("old", "published")]
    {
        svg.rect(class, x, 56.0, 12.0, 12.0);
        svg.text(x + 18.0, 66.0, "soft", "start", label);
        x += 42.0 + width_of(label);
    }
}

fn draw(svg: &mut Svg, row: &Bar, left: f64, top: f64, scale: f64) {
    let colour = if row.ours { "bar c0" } else { "bar c2" };
    svg.text(left - 10.0, top + 25.0, "", "end", &row.label);
    let number = |value: f64| format!("{value:.2}");
    match row.measured {
        Some(value) => {
            svg.rect(colour, left, top + 5.0, value * scale, 15.0);
            let end = row.interval.map_or(value, |(_, high)| high.max(value));
            if let Some((low, high)) = row.interval {
                let (low, high, y) = (left + low * scale, left + high * scale, top + 12.5);
                let (above, below) = (y - 4.0, y + 4.0);
                svg.path(
                    "span",
                    &format!("M{low:.1} {y}H{high:.1}M{low:.1} {above}V{below}M{high:.1} {above}V{below}"),
                );
            }
            svg.text(left + end * scale + 7.0, top + 17.0, "", "start", &number(value));
        }
        None => svg.text(left + 7.0, top + 17.0, "soft", "start", "not measured here"),
    }
    match row.published {
        Some(value) => {
            svg.rect("old", left, top + 21.0, value * scale, 12.0);
            svg.text(left + value * scale + 7.0, top + 31.5, "soft", "start", &number(value));
        }
        None => svg.text(left + 7.0, top + 31.5, "soft", "start", "not published"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::svg::well_formed;

    #[test]
    fn bars_are_well_formed_and_their_labels_escaped() {
        let rows = [
            Bar {
                label: "a <b> & \"c\"".to_owned(),
                measured: Some(1.5),
                interval: Some((1.25, 2.0)),
                published: Some(0.5),
                ours: true,
            },
            Bar { label: "none".to_owned(), ..Bar::default() },
        ];
        let svg = bars("S & T", "nginx", &rows);
        assert!(well_formed(&svg).is_ok(), "{:?}", well_formed(&svg));
        for expected in
            ["a &lt;b&gt; &amp; &quot;c&quot;", "<title>S &amp; T</title>", ">1.50<", "not published"]
        {
            assert!(svg.contains(expected), "{expected}");
        }
        assert!(!svg.contains("script") && !svg.contains("href"));
    }

    #[test]
    fn the_longest_bar_and_its_number_fit() {
        let row = |value| Bar { measured: Some(value), ..Bar::default() };
        for most in [0.5, 1.0, 3.0, 90.0] {
            let svg = bars("t", "u", &[row(most)]);
            let widths =
                svg.split("width=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
            assert!(widths.into_iter().all(|width| width <= WIDTH), "{most}");
            let bar = most.max(1.0).min(most) / most.max(1.0) * (WIDTH - LEFT.0 - RIGHT);
            assert!(svg.contains(&format!("width=\"{bar:.1}\"")), "{most}");
        }
    }
}
