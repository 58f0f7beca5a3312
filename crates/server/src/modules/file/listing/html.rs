//! The HTML of a listing.

use super::view::{Column, View};
use super::{Line, STYLE};
use hayami_http::{date, target};
use std::fmt::Write;

/// The icons, drawn once; every row refers to one.
const ICONS: &str = concat!(
    "<svg class=\"icons\" width=\"0\" height=\"0\" aria-hidden=\"true\"><symbol id=\"d\" viewBox=\"0 0 20 20\"><path d=\"M2 5a2 2 0 0 1 2-2h3.6l2 2H16a2 2 0 0 ",
    "1 2 2v8a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2z\"/></symbol><symbol id=\"f\" viewBox=\"0 0 20 20\"><path d=\"M5 2h6.5L16 ",
    "6.5V16a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2zm6 1.5V7h3.5z\"/></symbol><symbol id=\"u\" viewBox=\"0 0 20 ",
    "20\"><path d=\"M10 3l6 6-1.6 1.6L11.2 7.4V17H8.8V7.4l-3.2 3.2L4 9z\"/></symbol></svg>\n",
);
const FOLDER: &str = "<svg><use href=\"#d\"/></svg>";
const FILE: &str = "<svg><use href=\"#f\"/></svg>";
const UP: &str = "<svg><use href=\"#u\"/></svg>";

/// The whole page.
pub(super) fn document(shown: &[u8], lines: &[Line], left_out: usize, view: &View) -> Vec<u8> {
    let mut page = String::with_capacity(4096 + lines.len() * 512);
    page.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    escape(&String::from_utf8_lossy(shown), &mut page);
    // The URL changes with the style, so it may be cached for long.
    let _ = write!(page, "</title>\n<link rel=\"stylesheet\" href=\"?style={:x}\">\n", hash(STYLE));
    page.push_str("</head>\n<body>\n");
    page.push_str(ICONS);
    page.push_str("<main>\n<header>\n<h1>");
    trail(shown, &mut page);
    page.push_str("</h1>\n");
    search(view, &mut page);
    page.push_str("</header>\n<table>\n<thead><tr>");
    heading("Name", "", Column::Name, view, &mut page);
    heading("Size", "n", Column::Size, view, &mut page);
    heading("Changed (UTC)", "n t", Column::Time, view, &mut page);
    page.push_str("</tr></thead>\n<tbody>\n");
    if shown != b"/" {
        row("../", "..", UP, ["", ""], &mut page);
    }
    lines.iter().for_each(|line| entry(line, &mut page));
    page.push_str("</tbody>\n</table>\n<p>");
    page.push_str(&summary(lines, left_out, view));
    page.push_str("</p>\n</main>\n</body>\n</html>\n");
    page.into_bytes()
}

/// FNV-1a: enough to tell one style from another.
const fn hash(text: &str) -> u32 {
    let (bytes, mut hash, mut at) = (text.as_bytes(), 0x811c_9dc5_u32, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// The search form, which keeps the current order.
fn search(view: &View, page: &mut String) {
    page.push_str("<form role=\"search\"><input type=\"search\" name=\"q\" value=\"");
    escape(&view.search, page);
    page.push_str("\" placeholder=\"Search\" aria-label=\"Search for names\">");
    if view.column != Column::Name || view.descending {
        let order = if view.descending { "desc" } else { "asc" };
        let _ = write!(page, "<input type=\"hidden\" name=\"sort\" value=\"{}\">", view.column.name());
        let _ = write!(page, "<input type=\"hidden\" name=\"order\" value=\"{order}\">");
    }
    page.push_str("</form>\n");
}

/// A heading that sorts by its column.
fn heading(text: &str, class: &str, column: Column, view: &View, page: &mut String) {
    page.push_str("<th");
    if !class.is_empty() {
        let _ = write!(page, " class=\"{class}\"");
    }
    if column == view.column {
        let order = if view.descending { "descending" } else { "ascending" };
        let _ = write!(page, " aria-sort=\"{order}\"");
    }
    page.push_str("><a href=\"");
    escape(&view.sorted_by(column), page);
    let _ = write!(page, "\">{text}</a></th>");
}

/// The path, each directory in it a link.
fn trail(shown: &[u8], page: &mut String) {
    let segments: Vec<&[u8]> = shown.split(|&b| b == b'/').filter(|s| !s.is_empty()).collect();
    link(&"../".repeat(segments.len()), "/", page);
    for (nth, segment) in segments.iter().enumerate() {
        if nth > 0 {
            page.push_str("<i>/</i>");
        }
        link(&"../".repeat(segments.len() - nth - 1), &String::from_utf8_lossy(segment), page);
    }
}

fn link(to: &str, text: &str, page: &mut String) {
    page.push_str("<a href=\"");
    page.push_str(if to.is_empty() { "./" } else { to });
    page.push_str("\">");
    escape(text, page);
    page.push_str("</a>");
}

fn entry(line: &Line, page: &mut String) {
    // `./` keeps a name such as `javascript:x` from being a scheme (RFC 3986 §4.2).
    let mut encoded = b"./".to_vec();
    target::encode_path(&line.name, &mut encoded);
    let mut name = String::from_utf8_lossy(&line.name).into_owned();
    let (icon, size) = match line.is_folder() {
        true => {
            encoded.push(b'/');
            name.push('/');
            (FOLDER, String::new())
        }
        false => (FILE, size(line.state.size)),
    };
    let changed = date::format(line.state.modified.seconds.max(0) as u64);
    // `06 Nov 1994 08:49` of `Sun, 06 Nov 1994 08:49:37 GMT`.
    let changed = String::from_utf8_lossy(&changed[5..22]);
    row(&String::from_utf8_lossy(&encoded), &name, icon, [&size, &changed], page);
}

fn row(to: &str, name: &str, icon: &str, [size, changed]: [&str; 2], page: &mut String) {
    page.push_str(if to.ends_with('/') { "<tr class=\"d\"><td><a href=\"" } else { "<tr><td><a href=\"" });
    escape(to, page);
    page.push_str("\">");
    page.push_str(icon);
    escape(name, page);
    page.push_str("</a></td><td class=\"n\">");
    page.push_str(size);
    page.push_str("</td><td class=\"n t\">");
    page.push_str(changed);
    page.push_str("</td></tr>\n");
}

/// `3 folders, 12 files, 1.5 MiB`
fn summary(lines: &[Line], left_out: usize, view: &View) -> String {
    let folders = lines.iter().filter(|line| line.is_folder()).count();
    let bytes = lines.iter().filter(|line| !line.is_folder()).map(|line| line.state.size);
    let count = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    if lines.is_empty() && left_out == 0 {
        if view.search.is_empty() {
            return "nothing here".to_owned();
        }
        let mut text = "no name contains “".to_owned();
        escape(&view.search, &mut text);
        return text + "”";
    }
    let mut text = count(folders, "folder");
    let _ = write!(text, ", {}, {}", count(lines.len() - folders, "file"), size(bytes.sum()));
    if left_out > 0 {
        let _ = write!(text, "; {left_out} more not shown");
    }
    text
}

/// `999 B`, `1.5 KiB`, `20 MiB`
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if value < 1000.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if value < 10.0 && bytes >= 1000 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Appends `text` escaped, so that it is only text, also in an attribute.
fn escape(text: &str, page: &mut String) {
    for character in text.chars() {
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            c if c.is_control() => page.push('\u{fffd}'),
            c => page.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (20 << 20, "20 MiB"),
            (1 << 30, "1.0 GiB"),
            (u64::MAX, "16 EiB"),
        ];
        for (bytes, want) in cases {
            assert_eq!(size(bytes), want, "{bytes}");
        }
    }

    #[test]
    fn every_folder_of_the_path_is_a_link_back() {
        let mut page = String::new();
        trail(b"/a/<b>/", &mut page);
        assert_eq!(page, "<a href=\"../../\">/</a><a href=\"../\">a</a><i>/</i><a href=\"./\">&lt;b&gt;</a>");
    }
}
