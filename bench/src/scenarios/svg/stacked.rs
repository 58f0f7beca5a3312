//! Sums as horizontal bars, each of three parts.

use super::{Svg, WIDTH, width_of};

/// A bar of the plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stack {
    pub(crate) label: String,
    pub(crate) parts: [f64; 3],
}

const RIGHT: f64 = 90.0;
const TOP: f64 = 88.0;
const ROW: f64 = 36.0;

/// The plot; `below` is the meaning of the bars, `parts` are the names of the parts and their colour classes.
pub(crate) fn stacks(title: &str, below: &str, parts: [(&str, &str); 3], rows: &[Stack]) -> String {
    let mut svg = Svg::new(title, below);
    legend(&mut svg, parts);
    let left = rows.iter().map(|row| width_of(&row.label)).fold(90.0, f64::max) + 26.0;
    let most = rows.iter().map(|row| row.parts.iter().sum::<f64>()).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - left - RIGHT) / most;
    let bottom = TOP + rows.len() as f64 * ROW;
    for (index, row) in rows.iter().enumerate() {
        draw(&mut svg, row, parts, (left, TOP + index as f64 * ROW), scale);
    }
    svg.path("axis", &format!("M{left:.1} {:.1}V{bottom}", TOP - 4.0));
    svg.done(title, bottom + 14.0)
}

fn legend(svg: &mut Svg, parts: [(&str, &str); 3]) {
    let mut x = 16.0;
    for (name, colour) in parts {
        svg.rect(&format!("bar {colour}"), x, 58.0, 12.0, 12.0);
        svg.text(x + 18.0, 68.0, "soft", "start", name);
        x += 42.0 + width_of(name);
    }
}

fn draw(svg: &mut Svg, row: &Stack, parts: [(&str, &str); 3], (left, top): (f64, f64), scale: f64) {
    svg.text(left - 10.0, top + 18.0, "", "end", &row.label);
    let mut x = left;
    for (part, (_, colour)) in row.parts.into_iter().zip(parts) {
        let width = part * scale;
        svg.rect(&format!("bar {colour}"), x, top + 3.0, width, 22.0);
        let number = format!("{part:.0}");
        // Numbers that do not fit are in the table only.
        if width > width_of(&number) + 6.0 {
            svg.text(x + width / 2.0, top + 18.0, "", "middle", &number);
        }
        x += width;
    }
    svg.text(x + 8.0, top + 18.0, "", "start", &format!("{:.0}", row.parts.iter().sum::<f64>()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::svg::well_formed;

    const PARTS: [(&str, &str); 3] = [("a", "c0"), ("<b>", "c1"), ("c", "c2")];

    #[test]
    fn stacks_are_well_formed_and_the_longest_fits() {
        let rows = [
            Stack { label: "a & b".to_owned(), parts: [100.0, 200.0, 300.0] },
            Stack { label: "none".to_owned(), parts: [0.0; 3] },
        ];
        let svg = stacks("T", "µs", PARTS, &rows);
        assert!(well_formed(&svg).is_ok(), "{:?}", well_formed(&svg));
        for wanted in ["a &amp; b", "&lt;b&gt;", ">300<", ">600<"] {
            assert!(svg.contains(wanted), "{wanted}");
        }
        let attribute = |rect: &str, name: &str| {
            let (_, rest) = rect.split_once(&format!(" {name}=\"")).unwrap_or_default();
            rest.split('"').next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0)
        };
        let ends = svg.lines().filter(|line| line.starts_with("<rect class=\"bar"));
        assert!(ends.map(|rect| attribute(rect, "x") + attribute(rect, "width")).all(|end| end <= WIDTH));
    }
}
