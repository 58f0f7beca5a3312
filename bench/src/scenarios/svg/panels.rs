//! Servers side by side in several workloads: a panel of horizontal bars for each, on its own scale.

use super::{Svg, WIDTH, width_of};

/// A workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Panel {
    pub(crate) title: String,
    /// The servers with their values; the first one is ours, which is drawn in another colour.
    pub(crate) rows: Vec<(String, f64)>,
}

const TOP: f64 = 66.0;
const ROW: f64 = 24.0;
/// From the last bar of a panel to the title of the next one.
const GAP: f64 = 40.0;
/// Width of the number at the end of a bar.
const RIGHT: f64 = 70.0;

/// The plot, with a line below the title and another one at the end.
pub(crate) fn panels(title: &str, below: &str, source: &str, panels: &[Panel]) -> String {
    let mut svg = Svg::new(title, below);
    let labels = panels.iter().flat_map(|panel| &panel.rows).map(|(label, _)| width_of(label));
    let left = labels.fold(0.0, f64::max) + 34.0;
    let mut top = TOP + 16.0;
    for panel in panels {
        top = draw(&mut svg, panel, left, top) + GAP;
    }
    svg.text(16.0, top - 12.0, "soft", "start", source);
    svg.done(title, top + 6.0)
}

/// Draws a panel; returns its lower edge.
fn draw(svg: &mut Svg, panel: &Panel, left: f64, top: f64) -> f64 {
    svg.text(left, top, "soft", "start", &panel.title);
    let most = panel.rows.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - left - RIGHT) / most;
    for (index, (label, value)) in panel.rows.iter().enumerate() {
        let y = top + 8.0 + index as f64 * ROW;
        let colour = if index == 0 { "bar c0" } else { "bar co" };
        svg.text(left - 10.0, y + 14.0, "", "end", label);
        svg.rect(colour, left, y, value * scale, 18.0);
        svg.text(left + value * scale + 7.0, y + 14.0, "", "start", &format!("{value:.2}"));
    }
    top + 8.0 + panel.rows.len() as f64 * ROW
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::svg::well_formed;

    #[test]
    fn every_panel_has_its_own_scale() {
        let panel = |values: [f64; 2]| Panel {
            title: "files & more".to_owned(),
            rows: vec![("ours".to_owned(), values[0]), ("<other>".to_owned(), values[1])],
        };
        let svg = panels("t", "b", "s", &[panel([1.0, 2.0]), panel([50.0, 100.0])]);
        assert!(well_formed(&svg).is_ok(), "{:?}", well_formed(&svg));
        let bars = svg.lines().filter(|line| line.contains("class=\"bar"));
        let width = |line: &str| {
            line.split("width=\"").nth(1).and_then(|rest| rest.split('"').next().map(str::to_owned))
        };
        let widths: Vec<_> = bars.filter_map(width).collect();
        assert_eq!((widths.len(), &widths[..2]), (4, &widths[2..]));
        for expected in [">1.00<", ">100.00<", "files &amp; more", "&lt;other&gt;"] {
            assert!(svg.contains(expected), "{expected}");
        }
    }
}
