//! `rewrite`: changes the request's target, using parts of its path.
//!
//! The request is redirected internally to the new target, or the client is redirected to it. `template` is the new
//! target's syntax.

mod template;

use crate::condition::Conditions;
use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::path_key::PathKey;
use crate::config::settings::{HandlerSetting, HandlerSettings};
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use crate::handler::{Exchange, Handler, Outcome};
use crate::pattern::{self, Pattern};
use crate::service::moved;
use hayami_http::Status;
use template::Template;

/// A rewrite as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The pattern for the path; `None` matches every path.
    pattern: Option<String>,
    to: Template,
    /// The status of a redirect; `None`: the request is redirected internally.
    status: Option<Status>,
    conditions: Conditions,
}

impl HandlerSetting for Settings {}

/// This feature.
pub const FEATURE: Feature = Feature {
    handler: Some(|settings, _| Some(build(settings.get()?))),
    ..Feature::new(&[group("Rewrites", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "rewrite",
    levels: Levels::PATH,
    argument: "a mapping of match, to, status, if and unless",
    default: "",
    help: "Processes the request again with the target `to`, with its method and content, if the path matches the \
           regular expression `match`; otherwise the next handler of the path gets the request. Without `match`, \
           the regular expression of the path itself applies (`~ PATTERN`), and at other paths every request is \
           rewritten. In `to`, `$1` to `$9`, `${10}`, `$name` and `${name}` stand for groups of the regular \
           expression, `$0` for all that it matches, and `$$` for a `$`. The query is appended, unless `to` ends \
           with `?`. With `status` (301, 302, 303, 307 or 308) the client is redirected instead. `if` and `unless` \
           limit it to some requests, by method, address, field or query.",
    set,
}];

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let wanted = || node.expected("a mapping, such as `{match: ^/old/(.*)$, to: /new/$1}`");
    if let Value::Scalar(text) = &node.value {
        return Err(wanted().help(as_mapping(text)));
    }
    for (key, _) in node.mapping().map_err(|_| wanted())? {
        key.one_of(&["match", "to", "status", "if", "unless"])?;
    }
    let pattern = match (node.get("match"), scope.path) {
        (Some(node), _) => {
            let text =
                node.text().map_err(|_| node.expected("a regular expression, such as `^/old/(.*)$`"))?;
            pattern::check(node, text)?;
            Some(text.to_owned())
        }
        (None, Some(PathKey::Pattern(pattern))) => Some(pattern.clone()),
        (None, _) => None,
    };
    let to = node.get("to").ok_or_else(|| node.error("`to` is missing").help("such as `to: /new/$1`"))?;
    let to = Template::read(to, pattern.as_deref())?;
    let status = node.get("status").map(status).transpose()?;
    let conditions = Conditions::read(node)?;
    scope.add_handler(HandlerSettings::new(Settings { pattern, to, status, conditions }));
    Ok(())
}

fn status(node: &Node) -> Result<Status, ConfigError> {
    let wanted = || node.expected("301, 302, 303, 307 or 308");
    match node.integer(300..=399).map_err(|_| wanted())? {
        code @ (301 | 302 | 303 | 307 | 308) => Ok(Status::new(code as u16).expect("it has three digits")),
        _ => Err(wanted()),
    }
}

/// Suggests a mapping for nginx's arguments.
fn as_mapping(text: &str) -> String {
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    match words[..] {
        [pattern, to, "permanent"] => format!("write `{{match: '{pattern}', to: '{to}', status: 301}}`"),
        [pattern, to, "redirect"] => format!("write `{{match: '{pattern}', to: '{to}', status: 302}}`"),
        [pattern, to] | [pattern, to, "last" | "break"] => {
            format!("write `{{match: '{pattern}', to: '{to}'}}`")
        }
        [to] if to.starts_with('/') => format!("write `{{to: {to}}}`"),
        _ => String::new(),
    }
}

/// Rewrites.
struct Rewrite {
    pattern: Option<Pattern>,
    to: Template,
    status: Option<Status>,
}

/// The handler for these settings.
///
/// # Errors
/// The pattern is invalid; a message for the user.
pub fn build(settings: &Settings) -> Result<Box<dyn Handler>, String> {
    let pattern = settings.pattern.as_deref().map(Pattern::new).transpose()?;
    let rewrite = Rewrite { pattern, to: settings.to.clone(), status: settings.status };
    settings.conditions.guard(Box::new(rewrite))
}

impl Handler for Rewrite {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let groups = match &self.pattern {
            None => Vec::new(),
            Some(pattern) => match pattern.find(exchange.path) {
                Some(groups) => groups,
                None => return Outcome::Declined,
            },
        };
        let target = self.to.expand(exchange.path, &groups, exchange.head.query());
        match self.status {
            Some(status) => Outcome::Ready(moved(status, &target)),
            None => Outcome::Internal { target, keep_method: true },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use crate::modules::test_support::{error, set};
    use hayami_http::Known;

    /// The status and the target that a request is redirected to.
    fn rewritten(line: &str, target: &str) -> Option<(u16, String)> {
        let setting = set(&[line]);
        let settings = setting.handler::<Settings>();
        let handler = build(settings).expect("a handler");
        let (status, target) = match testing::handle(&*handler, &testing::get(target), 1) {
            Outcome::Declined => return None,
            Outcome::Internal { target, keep_method: true } => (0, target),
            Outcome::Ready(response) => {
                let location = response.head.get(Known::Location).expect("a location");
                (response.head.status().code(), location.to_vec())
            }
            _ => panic!("{line}"),
        };
        Some((status, String::from_utf8(target).expect("UTF-8")))
    }

    #[test]
    fn groups_stand_where_the_target_says() {
        let versions = r"rewrite: {match: '^/v(?<n>[0-9]+)/(.*)$', to: '/api/$2?version=${n}'}";
        for (line, target, want) in [
            (versions, "/v12/a/b", Some((0, "/api/a/b?version=12"))),
            (versions, "/v1/a?c=d", Some((0, "/api/a?version=1&c=d"))),
            (versions, "/va", None),
            ("rewrite: {match: '^/(a)|^/(b)', to: '/x$1-$2'}", "/b", Some((0, "/x-b"))),
            ("rewrite: {match: 'b+', to: '/x/$0/$$1'}", "/abbc?q", Some((0, "/x/bb/$1?q"))),
            ("rewrite: {to: /all}", "/abbc?q", Some((0, "/all?q"))),
            ("rewrite: {to: '/all?'}", "/abbc?q", Some((0, "/all"))),
            ("rewrite: {to: '/all?a=b?'}", "/abbc?q", Some((0, "/all?a=b"))),
            (
                "rewrite: {match: '^/old/(.*)', to: 'https://example.org/$1', status: 301}",
                "/old/a%20b%3Fc?q",
                Some((301, "https://example.org/a%20b%3Fc?q")),
            ),
        ] {
            let want = want.map(|(status, target)| (status, target.to_owned()));
            assert_eq!(rewritten(line, target), want, "{line} {target}");
        }
    }

    #[test]
    fn nothing_in_a_path_breaks_out_of_its_place() {
        let line = "rewrite: {match: '^/a(.*)$', to: '/x$1?y=$1&z'}";
        let want = "/x%20&%3F%23%25=?y=%20%26%3F%23%25%3D&z".to_owned();
        assert_eq!(rewritten(line, "/a%20&%3f%23%25="), Some((0, want)));
        // Two leading slashes would be followed by a host.
        let line = "rewrite: {match: '^/a(.*)$', to: '/$1', status: 302}";
        assert_eq!(rewritten(line, "/a/evil.example/"), Some((302, "/evil.example/".to_owned())));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let wanted = "expected a mapping, such as `{match: ^/old/(.*)$, to: /new/$1}`";
        let cases = [
            (
                "^/a/(.*)$ /b/$1 last",
                format!("{wanted}, found `^/a/(.*)$ /b/$1 last`; write `{{match: '^/a/(.*)$', to: '/b/$1'}}`"),
            ),
            (
                "^/a /b permanent",
                format!("{wanted}, found `^/a /b permanent`; write `{{match: '^/a', to: '/b', status: 301}}`"),
            ),
            ("/b", format!("{wanted}, found `/b`; write `{{to: /b}}`")),
            ("[]", format!("{wanted}, found a sequence")),
            ("{match: ^/a}", "`to` is missing; such as `to: /new/$1`".into()),
            (
                "{match: '^/(a', to: /b}",
                "invalid regular expression `^/(a`: unclosed group at character 3; write `\\(` and `\\)` for literal \
                 parentheses"
                    .into(),
            ),
            ("{to: /b, status: 200}", "expected 301, 302, 303, 307 or 308, found `200`".into()),
            ("{to: /b, status: 304}", "expected 301, 302, 303, 307 or 308, found `304`".into()),
            ("{to: /b, flag: last}", "expected one of match, to, status, if, unless, found `flag`".into()),
        ];
        for (argument, want) in cases {
            assert_eq!(error(&format!("rewrite: {argument}")), want);
        }
    }
}
