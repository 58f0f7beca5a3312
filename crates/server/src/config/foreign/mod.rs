//! Directives of other servers, and what to write instead; and their configuration files.
//!
//! docs/moving.md and docs/php.md have the same content in tables; a test compares them.

mod apache;
mod caddy;
mod file;
mod nginx;

pub(super) use file::recognise;

/// What to write instead of a directive of another server.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// These directives replace it.
    Write(&'static str),
    /// Nothing: it is the built-in behaviour, for this reason.
    NotNeeded(&'static str),
    /// It has no equivalent; advice, if there is any.
    Unsupported(&'static str),
}
use Answer::{NotNeeded, Unsupported, Write};

/// A server whose directives are known.
struct Server {
    /// Its name in the genitive.
    of: &'static str,
    names: &'static [(&'static str, Answer)],
    /// Name prefixes of its modules, for directives that are in no table.
    families: &'static [(&'static str, Answer)],
}

const SERVERS: [Server; 3] = [
    Server { of: "nginx's", names: nginx::NAMES, families: nginx::FAMILIES },
    Server { of: "Apache's", names: apache::NAMES, families: apache::FAMILIES },
    Server { of: "Caddy's", names: caddy::NAMES, families: &[] },
];

/// Advice for `name`, if it is one of another server.
pub(super) fn advice(name: &str) -> Option<String> {
    let exact = SERVERS.iter().find_map(|server| Some((server, find(server.names, |own| own == name)?)));
    // Apache's directives are case-insensitive.
    let folded = || {
        let apache = &SERVERS[1];
        Some((apache, find(apache.names, |own| own.eq_ignore_ascii_case(name))?))
    };
    let by_family = || {
        SERVERS
            .iter()
            .find_map(|server| Some((server, find(server.families, |family| name.starts_with(family))?)))
    };
    let (server, answer) = exact.or_else(folded).or_else(by_family)?;
    let of = server.of;
    Some(match answer {
        Write(what) => format!("instead of {of} `{name}`, use {what}"),
        NotNeeded(why) => format!("{of} `{name}` is not needed: {why}"),
        Unsupported("") => format!("{of} `{name}` is not supported"),
        Unsupported(way) => format!("{of} `{name}` is not supported; {way}"),
    })
}

fn find(table: &[(&str, Answer)], fits: impl Fn(&str) -> bool) -> Option<Answer> {
    table.iter().find(|(name, _)| fits(name)).map(|(_, answer)| *answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::not_yet;
    use crate::features::REGISTRY;
    use std::collections::HashSet;

    /// A document of the manual.
    fn document(name: &str) -> String {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("a document")
    }

    /// The code spans of a cell.
    fn spans(cell: &str) -> Vec<&str> {
        cell.split('`').skip(1).step_by(2).collect()
    }

    /// The rows of the tables of names: code spans of the first cell, and the second cell.
    fn rows(document: &str) -> Vec<(Vec<&str>, &str)> {
        // The section about h2o has no table of directives.
        let sections = document
            .split("\n## ")
            .filter(|section| section.starts_with("From ") && !section.starts_with("From h2o"));
        let lines =
            sections.flat_map(str::lines).filter(|line| line.starts_with('|') && !line.starts_with("|---"));
        let cells = lines.filter_map(|line| line.trim_matches('|').split_once(" | "));
        cells.map(|(left, right)| (spans(left), right.trim())).filter(|(left, _)| !left.is_empty()).collect()
    }

    /// The directives that a span of configuration names: `location /a { proxy_pass … }` has two.
    fn directives(span: &str) -> Vec<&str> {
        let statements = span.split(['{', ';', '}']).map(str::trim);
        let first = |statement: &'_ str| statement.split([' ', '(']).next().map(str::len).unwrap_or_default();
        let names = statements.map(|statement| &statement[..first(statement)]);
        // `@name` and `:80` are sites, `$name` a variable, `nginx -t` a command line, `X-Name` a field.
        let name = |name: &&str| {
            let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            !name.is_empty() && letters && *name != "nginx" && *name != "apachectl" && *name != "caddy"
        };
        names.filter(name).collect()
    }

    /// Parameters of `server` and `listen`, which have their own spans.
    const PARAMETERS: [&str; 2] = ["down", "service=http"];

    #[test]
    fn every_name_in_the_tables_of_the_manual_has_an_answer_that_agrees() {
        let mut missing = Vec::new();
        let mut answered = HashSet::new();
        let mut agreeing = HashSet::new();
        let documents = [document("moving.md"), document("php.md")];
        for (left, right) in documents.iter().flat_map(|document| rows(document)) {
            let names = left.iter().flat_map(|span| directives(span));
            for name in names.filter(|name| !PARAMETERS.contains(name) && !name.contains('=')) {
                answered.insert(name.to_owned());
                // A name that is also one of hayami's causes no error.
                if REGISTRY.find(name).is_some() {
                    agreeing.insert(name.to_owned());
                    continue;
                }
                let Some(advice) = advice(name) else {
                    missing.push(name.to_owned());
                    continue;
                };
                let needless = right.starts_with("not needed") && advice.contains("is not needed");
                let unsupported = right.starts_with("not ") && advice.contains("is not supported");
                // The word before the colon: the directive, without its value.
                let ours = spans(right).into_iter().flat_map(|span| span.split([':', ' ', '{']).next());
                let mut ours = ours.filter(|name| !name.is_empty());
                let in_words = right.split_once("the file").is_some_and(|(words, _)| advice.contains(words));
                if needless || unsupported || in_words || ours.any(|ours| advice.contains(ours)) {
                    agreeing.insert(name.to_owned());
                }
            }
        }
        assert_eq!(missing, [""; 0], "names in the manual that config/foreign/ does not answer");
        let mut disagreeing: Vec<_> = answered.difference(&agreeing).collect();
        disagreeing.sort();
        assert_eq!(disagreeing, [""; 0], "answers in config/foreign/ that no row of the manual gives");
        assert!(answered.len() > 150, "{}", answered.len());
    }

    #[test]
    fn every_directive_in_an_answer_is_one() {
        let mut unknown = Vec::new();
        for (name, answer) in SERVERS.iter().flat_map(|server| server.names.iter().chain(server.families)) {
            let Write(text) = answer else { continue };
            let spans =
                spans(text).into_iter().filter(|span| span.contains(['.', '-']) && !span.contains(' '));
            let is_known = |span: &&str| {
                REGISTRY.find(span).is_some()
                    || not_yet::topic(span).is_some()
                    || span.ends_with(".*")
                    || KEYS.contains(span)
            };
            unknown.extend(spans.filter(|span| !is_known(span)).map(|span| (*name, span)));
        }
        assert_eq!(unknown, [("", ""); 0]);
    }

    /// Keys and values of mappings that occur in the advice.
    const KEYS: &[&str] = &[
        "certificate-file",
        "key-file",
        "minimum-version",
        "cipher-suite",
        "cipher-suite-tls1.3",
        "cipher-preference",
        "key-exchange-tls1.3",
        "client-ca-file",
        "ocsp-file",
        "early-data",
        "proxy-protocol",
        "health-check",
        "max-failures",
        "fail-timeout",
        "max-connections",
        "slow-start",
    ];

    #[test]
    fn names_are_in_one_table_once_and_none_is_ours() {
        let mut seen = HashSet::new();
        for (name, _) in SERVERS.iter().flat_map(|server| server.names) {
            assert!(seen.insert(*name), "{name} is there twice");
            assert!(REGISTRY.find(name).is_none(), "{name} is a directive of hayami");
        }
    }

    #[test]
    fn an_answer_says_whose_name_it_is() {
        for (name, want) in [
            ("worker_processes", Some("instead of nginx's `worker_processes`, use `num-threads`")),
            ("documentroot", Some("instead of Apache's `documentroot`, use `file.dir` in a path")),
            ("file_server", Some("instead of Caddy's `file_server`, use `file.dir` in a path")),
            ("tcp_nodelay", Some("nginx's `tcp_nodelay` is not needed: it is always enabled")),
            ("auth_request", Some("instead of nginx's `auth_request`, use `auth.request` with `url`")),
            ("proxy_cache_key", Some("nginx's `proxy_cache_key` is not supported")),
            ("wroker_processes", None),
        ] {
            assert_eq!(advice(name).as_deref(), want, "{name}");
        }
    }
}
