//! Plots as SVG files: selectable text, colours for light and dark, no scripts, no network.

mod bars;
mod lines;
mod panels;
mod stacked;

pub(crate) use self::bars::{Bar, bars};
pub(crate) use self::lines::{Line, lines};
pub(crate) use self::panels::{Panel, panels};
pub(crate) use self::stacked::{Stack, stacks};

use std::fmt::Write;

/// Width of every plot.
const WIDTH: f64 = 860.0;

/// The page may be light or dark: an SVG file shown as an image also follows the reader's preference.
const STYLE: &str = "\
svg{--ink:#1c2733;--soft:#566373;--line:#dfe5ec;--back:#fff;--c0:#1f6fd6;--c1:#d2691e;--c2:#1a8a6e;--c3:#a3479c;--old:#aab4c0}
@media(prefers-color-scheme:dark){svg{--ink:#dbe3ec;--soft:#93a1b1;--line:#2c3742;--back:#11161c;--c0:#6cabff;--c1:#f2a25c;--c2:#4fcbaa;--c3:#dd8fd8;--old:#5c6875}}
.back{fill:var(--back)}
text{fill:var(--ink);font:13px system-ui,-apple-system,\"Segoe UI\",Roboto,sans-serif;font-variant-numeric:tabular-nums}
text{paint-order:stroke;stroke:var(--back);stroke-width:3px;stroke-linejoin:round}
.title{font-weight:600;font-size:15px}
.soft{fill:var(--soft);font-size:12px}
.grid{stroke:var(--line);fill:none}
.axis{stroke:var(--soft);fill:none}
.one{stroke:var(--soft);stroke-dasharray:3 3;fill:none}
.old{fill:var(--old)}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.co{--c:var(--old)}.cs{--c:var(--soft)}
.bar,.dot{fill:var(--c)}
.curve{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.dashed{stroke-dasharray:5 4}
.span{stroke:var(--ink);stroke-width:1.25;fill:none}
";

/// An SVG being drawn.
struct Svg {
    body: String,
}

impl Svg {
    /// Starts a plot with a title, which is also its accessible name, and a line below it.
    fn new(title: &str, below: &str) -> Self {
        let mut svg = Self { body: String::new() };
        svg.text(16.0, 26.0, "title", "start", title);
        svg.text(16.0, 46.0, "soft", "start", below);
        svg
    }

    fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        let text = escape(text);
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n"
        ));
    }

    fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let width = width.max(1.0);
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\"/>\n"
        ));
    }

    fn path(&mut self, class: &str, path: &str) {
        self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>\n"));
    }

    /// Writing to a string cannot fail.
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(text);
    }

    /// The whole file.
    fn done(self, title: &str, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
            escape(title),
            self.body
        )
    }
}

/// Escapes text for XML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The approximate width of a text of 13 px: digits and lowercase letters are half as wide as high.
fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * 7.2
}

/// For tests: checks that all elements are closed in order, and counts them.
///
/// # Errors
/// A tag that is not closed, or closed in the wrong place.
#[cfg(test)]
pub(crate) fn well_formed(svg: &str) -> Result<usize, String> {
    let (mut open, mut elements, mut rest) = (Vec::new(), 0, svg);
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').ok_or("a tag without an end")?;
        rest = after;
        match tag.strip_prefix('/') {
            Some(name) if open.pop() == Some(name) => {}
            Some(name) => return Err(format!("</{name}> closes something else")),
            None if tag.ends_with('/') => elements += 1,
            None => {
                elements += 1;
                open.push(tag.split_whitespace().next().ok_or("a tag without a name")?);
            }
        }
        let text = rest.split('<').next().unwrap_or_default();
        if open.last() == Some(&"text")
            && text
                .replace("&amp;", "")
                .replace("&lt;", "")
                .replace("&gt;", "")
                .replace("&quot;", "")
                .contains(['&', '>'])
        {
            return Err(format!("not escaped: {text}"));
        }
    }
    if open.is_empty() { Ok(elements) } else { Err(format!("not closed: {open:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escape("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
    }
}
