//! Generates docs/directives.md from the directive tables.

use crate::config::attribute::Attribute;
use crate::config::deviation::{BEHAVIOUR, DEVIATIONS, OWN};
use crate::config::directive::{Directive, Level};
use crate::config::not_yet;
use crate::features::REGISTRY;
use crate::modules::{auth, auth_request, listen, rate_limit, real_ip, session_resumption};

/// The text above the tables.
const HEAD: &str = "# Directives

<!-- Generated from the directive tables: `cargo run -p hayami-server --example directives > docs/directives.md` -->

A configuration is a YAML mapping from directives to their arguments. A directive is allowed at one or more
levels: at the top of the file (global), below `hosts` (host), below `paths` (path) or in `file.custom-handler`
(extension). An inner level inherits the settings of the outer ones, regardless of the order of the lines.

ON and OFF are case-insensitive. Sizes are in bytes and accept a suffix: `64k`, `10m`, `1g`. Times accept a unit:
`500ms`, `30s`, `5m`, `1h`, `1d`; a bare number is in the unit that the directive states, and seconds may have a
fraction. `!file PATH` inserts the content of a file, or the joined content of all files that match a pattern such
as `conf.d/*.conf`; relative paths are resolved against the directory in which the server is started.
`!env NAME` inserts the value of an environment variable. Anchors (`&x`), aliases (`*x`) and merges (`<<: *x`)
work across files.

A default marked with \\* differs from h2o's: see [Deviations from h2o](#deviations-from-h2o).
";

/// The text of docs/directives.md.
pub fn directives() -> String {
    let mut text = HEAD.to_owned();
    for group in REGISTRY.groups().filter(|group| !group.directives.is_empty()) {
        text.push_str(&format!("\n## {}\n", group.title));
        for directive in group.directives {
            text.push_str(&one(directive));
            text.push_str(&attributes(directive.name));
        }
    }
    text + &not_yet() + &deviations()
}

fn one(directive: &Directive) -> String {
    let levels: Vec<_> = directive.levels.iter().map(Level::name).collect();
    let mark = if DEVIATIONS.iter().any(|deviation| deviation.name == directive.name) { " \\*" } else { "" };
    let default = match directive.default {
        "" => String::new(),
        default => format!("- default: {}{mark}\n", quoted(default)),
    };
    format!(
        "\n### `{}`\n\n{}\n\n- argument: {}\n{default}- levels: {}\n",
        directive.name,
        directive.help,
        quoted(directive.argument),
        levels.join(", "),
    )
}

/// The keys of a directive whose argument is a mapping with its own table.
fn attributes(directive: &str) -> String {
    match directive {
        "listen" => rows("`ssl`", listen::ssl::ATTRIBUTES),
        "real-ip" => rows("the mapping", real_ip::ATTRIBUTES),
        "limit.requests" => rows("a mapping", rate_limit::REQUESTS),
        "limit.connections" => rows("a mapping", rate_limit::CONNECTIONS),
        "auth.basic" => rows("the mapping", auth::ATTRIBUTES),
        "auth.request" => rows("the mapping", auth_request::ATTRIBUTES),
        "ssl-session-resumption" => rows("the mapping", session_resumption::ATTRIBUTES),
        _ => String::new(),
    }
}

fn rows<S>(of: &str, table: &[Attribute<S>]) -> String {
    let mut text =
        format!("\nThe keys of {of}:\n\n| key | argument | default | meaning |\n|---|---|---|---|\n");
    for row in table {
        // A bar would end the table cell.
        let argument = quoted(row.argument).replace('|', "\\|");
        text.push_str(&format!("| `{}` | {argument} | {} | {} |\n", row.name, row.default, row.help));
    }
    text
}

/// Quotes alternatives such as `ON | OFF`, which would look like a table, and stars, which would look like emphasis.
fn quoted(text: &str) -> String {
    if text.contains('`') || !text.contains(['|', '*', '<']) { text.to_owned() } else { format!("`{text}`") }
}

/// The directives of h2o that hayami does not support yet.
fn not_yet() -> String {
    let mut text =
        "\n## Not supported yet\n\nThese directives of h2o are errors; they are planned for later \
         versions.\n\n"
            .to_owned();
    for (topic, names) in not_yet::NOT_YET {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!("- {topic}: {}\n", names.join(", ")));
    }
    text
}

/// The text above the table of [`DEVIATIONS`].
const DEVIATIONS_HEAD: &str = "
## Deviations from h2o

Every default is h2o's, except these:

| directive | h2o | hayami | reason |
|---|---|---|---|
";

fn deviations() -> String {
    let mut text = DEVIATIONS_HEAD.to_owned();
    for deviation in DEVIATIONS {
        let ours = REGISTRY.find(deviation.name).map_or("", |directive| directive.default);
        text.push_str(&format!(
            "| `{}` | {} | {ours} | {} |\n",
            deviation.name, deviation.h2o, deviation.reason
        ));
    }
    text.push_str("\nOther differences:\n\n| hayami | reason |\n|---|---|\n");
    for (what, reason) in BEHAVIOUR {
        text.push_str(&format!("| {what} | {reason} |\n"));
    }
    let own: Vec<_> = OWN.iter().map(|name| format!("`{name}`")).collect();
    text + &format!("\nh2o does not have {}.\n", own.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_in_the_repository_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/directives.md");
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            there == directives(),
            "write it anew: cargo run -p hayami-server --example directives > docs/directives.md"
        );
    }

    #[test]
    fn deviations_name_directives() {
        for name in DEVIATIONS.iter().map(|deviation| &deviation.name).chain(OWN) {
            assert!(REGISTRY.find(name).is_some(), "{name}");
        }
    }
}
