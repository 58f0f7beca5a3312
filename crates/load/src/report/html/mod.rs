//! The measurement as a self-contained HTML page, for dark and light themes.
//!
//! Its security policy forbids it to load anything, so it can be opened wherever it is sent. Plots are SVG with
//! text in the page's colour, with titles for screen readers.

mod axis;
mod charts;
mod plot;
mod tables;
mod versus;

use super::Report;
use super::figure::{grouped, moment, plural};
use super::summary::Summary;
use crate::Ended;
use crate::compare::Comparison;

/// The page, complete, in UTF-8.
#[must_use]
pub fn html(report: &Report<'_>) -> String {
    let summaries = Summary::all(report);
    let comparison = Comparison::of(report.plan, report.outcomes);
    let several = summaries.len() > 1;
    let mut page = head(report, &summaries);
    match summaries.as_slice() {
        [only] => page += &tables::cards(only),
        _ => page += &tables::overview(&summaries),
    }
    page += &warnings(report.warnings);
    page += &versus::versus(report.plan, comparison.as_ref());
    page += &charts::spread(&summaries);
    page += &charts::percentiles(&summaries);
    page += &charts::over_time(&summaries);
    summaries.iter().for_each(|summary| page += &tables::details(report.plan, summary, several));
    page += &tables::repeat(report);
    page + &format!(
        "<footer>Made by {}.</footer>\n</main>\n</body>\n</html>\n",
        escape(&report.about.program)
    )
}

fn head(report: &Report<'_>, summaries: &[Summary<'_>]) -> String {
    let title = match summaries {
        [only] => escape(&only.target.name),
        _ => format!("{} servers compared", summaries.len()),
    };
    let begun = report.outcomes.first().map_or_else(String::new, |outcome| moment(outcome.started));
    let interrupted = summaries.iter().any(|summary| summary.ended == Ended::Interrupted);
    let stopped = if interrupted { ", interrupted" } else { "" };
    let connections = report.plan.connections as u64;
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}: measured</title>\n\
         <style>{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <p class=\"sub\">{} connection{}, {begun}{stopped}</p>\n",
        include_str!("page.css"),
        grouped(connections),
        plural(connections)
    )
}

fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let items: String = warnings.iter().map(|warning| format!("<li>{}</li>", sentence(warning))).collect();
    format!("<section class=\"warn\"><h2>Warnings</h2><ul>{items}</ul></section>\n")
}

/// A sentence whose options are not broken at their dashes.
fn sentence(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.trim_start_matches('(').starts_with('-') {
        true => format!("<span class=\"option\">{}</span>", escape(word)),
        false => escape(word),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A part of the page. `heading` and `content` are markup already.
fn section(heading: &str, note: &str, content: &str) -> String {
    let note = if note.is_empty() { String::new() } else { format!("<p class=\"note\">{note}</p>\n") };
    format!("<section>\n<h2>{heading}</h2>\n{note}{content}</section>\n")
}

/// Text escaped for markup and attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{self, golden};

    #[test]
    fn pages_are_written_like_this() {
        golden("html", html);
    }

    #[test]
    fn a_page_is_closed_whole_and_loads_nothing() {
        golden("html", |report| {
            let page = html(report);
            for tag in [
                "html", "head", "body", "main", "section", "table", "tr", "td", "svg", "div", "pre", "ul",
                "title",
            ] {
                let opened =
                    page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
                assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
            }
            for foreign in
                ["http://www", "src=", "href=", "<script", "url(", "@import", "NaN", "inf", "<b>?a"]
            {
                assert!(!page.contains(foreign), "{foreign}");
            }
            page
        });
    }

    #[test]
    fn nothing_that_ran_is_a_page_too() {
        let about = samples::about();
        for (plan, _) in [samples::single(), samples::compared()] {
            let page = html(&Report { plan: &plan, outcomes: &[], warnings: &[], about: &about });
            assert!(page.contains("There was no response") && !page.contains("NaN"), "{page}");
        }
    }
}
