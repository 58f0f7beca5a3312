//! A plot: two axes, a grid, and curves in the colours of the targets. Text is in the colour of the page.

use super::axis::Axis;
use super::escape;
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 32.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 46.0;

/// Colours repeat from here on.
pub(super) const COLOURS: usize = 6;

/// The class of elements hidden on phones, where text is twice as large in relation to the plot.
const MINOR: &str = " class=\"minor\"";

/// Every other label.
fn minor(index: usize) -> &'static str {
    if index % 2 == 1 { MINOR } else { "" }
}

/// An SVG that is being drawn.
pub(super) struct Plot {
    x: Axis,
    y: Axis,
    svg: String,
}

impl Plot {
    /// Empty axes. `title` and `description` are for screen readers.
    pub(super) fn new(title: &str, description: &str, x: Axis, y: Axis) -> Self {
        let svg = format!(
            "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\"><title>{}</title><desc>{}</desc>",
            escape(title),
            escape(description)
        );
        let mut plot = Self { x, y, svg };
        plot.draw_y();
        plot.draw_x();
        plot
    }

    /// Writing to a string cannot fail.
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.svg.write_fmt(text);
    }

    fn left(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn top(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM)
    }

    fn draw_y(&mut self) {
        let right = WIDTH - RIGHT;
        for (index, (value, label)) in self.y.ticks.clone().into_iter().enumerate() {
            let (top, minor) = (self.top(value), minor(index));
            self.put(format_args!("<path class=\"grid\" d=\"M{LEFT} {top:.1}H{right}\"/>"));
            let (left, base) = (LEFT - 8.0, top + 4.0);
            self.put(format_args!(
                "<text{minor} x=\"{left}\" y=\"{base:.1}\" text-anchor=\"end\">{label}</text>"
            ));
        }
        let title = self.y.title;
        self.put(format_args!("<text class=\"above\" x=\"{LEFT}\" y=\"14\">{title}</text>"));
    }

    fn draw_x(&mut self) {
        let bottom = HEIGHT - BOTTOM;
        for (index, (value, label)) in self.x.ticks.clone().into_iter().enumerate() {
            let (left, minor) = (self.left(value), minor(index));
            let (below, base) = (bottom + 5.0, bottom + 19.0);
            self.put(format_args!("<path class=\"axis\" d=\"M{left:.1} {bottom}V{below}\"/>"));
            self.put(format_args!(
                "<g class=\"tick\"><text{minor} x=\"{left:.1}\" y=\"{base}\" text-anchor=\"middle\">{label}</text></g>"
            ));
        }
        let (right, base, title) = (WIDTH - RIGHT, HEIGHT - 8.0, self.x.title);
        self.put(format_args!("<path class=\"axis\" d=\"M{LEFT} {bottom}H{right}\"/>"));
        self.put(format_args!(
            "<text class=\"below\" x=\"{right}\" y=\"{base}\" text-anchor=\"end\">{title}</text>"
        ));
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (index, &(x, y)) in points.iter().enumerate() {
            let step = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{step}{:.1} {:.1}", self.left(x), self.top(y));
        }
        path
    }

    /// A line through points. A single point is a dot.
    pub(super) fn curve(&mut self, series: usize, dashed: bool, points: &[(f64, f64)]) {
        let colour = series % COLOURS;
        if let [(x, y)] = points {
            let (x, y) = (self.left(*x), self.top(*y));
            self.put(format_args!("<circle class=\"solid s{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"));
            return;
        }
        let (path, dashes) = (self.path(points), if dashed { " dashed" } else { "" });
        self.put(format_args!("<path class=\"curve s{colour}{dashes}\" d=\"{path}\"/>"));
    }

    /// The area between a line and the x axis.
    pub(super) fn area(&mut self, series: usize, points: &[(f64, f64)]) {
        if let [(first, _), .., (last, _)] = points {
            let (colour, path, bottom) = (series % COLOURS, self.path(points), HEIGHT - BOTTOM);
            let (first, last) = (self.left(*first), self.left(*last));
            self.put(format_args!(
                "<path class=\"area s{colour}\" d=\"{path}L{last:.1} {bottom}L{first:.1} {bottom}Z\"/>"
            ));
        }
    }

    /// Dashed lines from top to bottom, with a label each where there is room for it.
    pub(super) fn marks(&mut self, marks: &[(f64, &str)]) {
        let bottom = HEIGHT - BOTTOM;
        let (mut free, mut free_on_phones) = (LEFT, LEFT);
        for (value, label) in marks {
            let left = self.left(*value);
            let (above, base) = (TOP - 6.0, TOP - 9.0);
            let half = label.chars().count() as f64 * 3.5 + 2.0;
            self.put(format_args!("<path class=\"mark\" d=\"M{left:.1} {above}V{bottom}\"/>"));
            if left - half >= free && left + half <= WIDTH - 4.0 {
                let fits = left - 2.0 * half >= free_on_phones;
                let minor = if fits { "" } else { MINOR };
                self.put(format_args!(
                    "<text{minor} x=\"{left:.1}\" y=\"{base}\" text-anchor=\"middle\">{label}</text>"
                ));
                free = left + half + 4.0;
                free_on_phones = if fits { left + 2.0 * half + 4.0 } else { free_on_phones };
            }
        }
    }

    /// Red strokes on the x axis.
    pub(super) fn errors(&mut self, at: impl IntoIterator<Item = f64>) {
        let (bottom, path) = (HEIGHT - BOTTOM, at.into_iter());
        let path = path.fold(String::new(), |mut path, x| {
            let _ = write!(path, "M{:.1} {bottom}v-12", self.left(x));
            path
        });
        if !path.is_empty() {
            self.put(format_args!("<path class=\"error\" d=\"{path}\"/>"));
        }
    }

    /// The whole SVG.
    pub(super) fn done(self) -> String {
        format!("<div class=\"plot\">{}</svg></div>\n", self.svg)
    }
}
