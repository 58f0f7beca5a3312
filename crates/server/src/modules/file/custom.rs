//! `file.custom-handler`: directives that apply only to files with certain extensions.
//!
//! If they include a handler, it responds in place of the file. Directives that change responses (`header.*`,
//! `expires`, `compress`) are applied before those of the path, which apply to every response of the path.

use super::mime::{extension, extension_of};
use crate::config::directive::{Level, Scope};
use crate::config::error::ConfigError;
use crate::config::load;
use crate::config::settings::{HandlerSettings, Inheritance};
use crate::config::yaml::Node;
use crate::feature::RouteContext;
use crate::handler::{Filter, Handler, RequestInfo};
use crate::modules::fastcgi;
use hayami_http::Response;
use std::rc::Rc;

/// One `file.custom-handler`.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// Extensions in lower case, without their dot.
    extensions: Vec<String>,
    /// `extension: default`: every file that no other rule matches.
    default: bool,
    /// The settings of the rule's own directives.
    inherited: Inheritance,
    /// The handler that responds in place of the file.
    handler: Option<HandlerSettings>,
}

/// The rules in force; later ones take precedence.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

/// Sets `file.custom-handler`.
pub(super) fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    node.mapping()?;
    let named = node.get("extension").ok_or_else(|| {
        node.error("`extension` is missing").help("write `extension: .ext`, a sequence of such, or `default`")
    })?;
    let (mut extensions, mut default) = (Vec::new(), false);
    for name in named.one_or_many() {
        match name.is("default") {
            true => default = true,
            false => extensions.push(extension_of(scope, name)?.to_ascii_lowercase()),
        }
    }
    warn_of_others(scope, node);
    let (own, mut handlers) = own_settings(scope, node);
    if handlers.len() > 1 {
        return Err(node.error("a file can have only one handler"));
    }
    let (inherited, handler) = (own, handlers.pop());
    scope.inherited.get_mut::<super::Settings>().rules.0.push(Rule {
        extensions,
        default,
        inherited,
        handler,
    });
    Ok(())
}

/// Warns of directives that are allowed here but have no effect, because they concern whole paths.
fn warn_of_others(scope: &mut Scope<'_>, node: &Node) {
    let Ok(pairs) = node.mapping() else { return };
    for (key, name) in pairs.iter().filter_map(|(key, _)| Some((key, key.text().ok()?))) {
        let allowed = scope.registry.find(name).is_some_and(|row| row.levels.contains(Level::Extension));
        let takes_effect = ["header.", "fastcgi.", "compress"].iter().any(|family| name.starts_with(family))
            || ["expires", "gzip", "throttle-response", "setenv", "unsetenv", "stash"].contains(&name);
        if allowed && !takes_effect {
            let warning = key.error(format!("`{name}` has no effect in `file.custom-handler`"));
            scope.warn(warning.help("move it to the path, where it applies to files of all extensions"));
        }
    }
}

/// The settings of the rule's directives, and its handlers. What outer levels set for responses is left out, since
/// that is applied to every response of the path anyway.
fn own_settings(scope: &mut Scope<'_>, node: &Node) -> (Inheritance, Vec<HandlerSettings>) {
    let mut nothing = Inheritance::default();
    *nothing.get_mut() = scope.inherited.get::<fastcgi::Settings>().clone();
    let mut bare = Scope {
        registry: scope.registry,
        level: scope.level,
        global: scope.global,
        host: scope.host.as_deref_mut(),
        path: scope.path,
        inherited: &mut nothing,
        handlers: None,
    };
    load::extension(&mut bare, node, &["extension"])
}

impl Rules {
    /// The matcher that finds the rule of a file.
    pub(super) fn matcher(&self) -> Matcher {
        let names = |rule: &Rule| Names {
            extensions: rule.extensions.clone(),
            default: rule.default,
            scripts: rule.handler.is_some(),
        };
        Matcher(self.0.iter().map(names).collect())
    }

    /// The handlers among the rules.
    pub fn handlers(&self) -> impl Iterator<Item = &HandlerSettings> {
        self.0.iter().filter_map(|rule| rule.handler.as_ref())
    }

    /// The handler of every rule that has one.
    ///
    /// # Errors
    /// One line for the user: what cannot be built and why.
    pub(super) fn build(&self, route: &RouteContext<'_>) -> Result<Vec<Option<Rc<dyn Handler>>>, String> {
        let build = |rule: &Rule| {
            let route = RouteContext { extension: Some(&rule.inherited), ..*route };
            rule.handler.as_ref().map(|settings| route.handler(settings).map(Rc::from)).transpose()
        };
        self.0.iter().map(build).collect()
    }

    /// The filters of every rule.
    pub(super) fn filters(&self, route: &RouteContext<'_>) -> Vec<Filters> {
        let filters = |rule: &Rule| RouteContext { extension: Some(&rule.inherited), ..*route }.filters();
        self.0.iter().map(|rule| Filters(filters(rule))).collect()
    }
}

/// Finds the rule of a file.
pub(super) struct Matcher(Vec<Names>);

/// Which files a rule matches.
struct Names {
    extensions: Vec<String>,
    default: bool,
    /// Whether they are scripts, that is, the rule has a handler.
    scripts: bool,
}

impl Matcher {
    /// The index of the rule for the file at that path.
    pub(super) fn find(&self, path: &[u8]) -> Option<usize> {
        let extension = extension(path);
        let named =
            |names: &Names| names.extensions.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(extension));
        self.0.iter().rposition(named).or_else(|| self.0.iter().rposition(|names| names.default))
    }

    /// The index of the rule for the file at that path, if it is a script.
    pub(super) fn script(&self, path: &[u8]) -> Option<usize> {
        self.find(path).filter(|rule| self.0[*rule].scripts)
    }

    /// Whether any rule matches scripts.
    pub(super) fn has_scripts(&self) -> bool {
        self.0.iter().any(|names| names.scripts)
    }
}

/// The filters of a rule, which change responses.
pub(super) struct Filters(Vec<Box<dyn Filter>>);

impl Filters {
    pub(super) fn apply(&self, request: &RequestInfo<'_>, response: &mut Response) {
        self.0.iter().for_each(|filter| filter.apply(request, response));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_that_have_no_effect_on_some_files_are_told() {
        let text = "listen: 80\nfile.custom-handler:\n  extension: .x\n  expires: 1 day\n  error-doc: {status: 404, url: /x}\n  \
                    access-log: /dev/null\nhosts: {a: {paths: {/: {file.dir: /}}}}\n";
        let loaded = crate::features::load_text("test", text).unwrap_or_else(|errors| panic!("{errors}"));
        let warnings: Vec<_> = loaded.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert_eq!(
            warnings,
            [
                "`error-doc` has no effect in `file.custom-handler`",
                "`access-log` has no effect in `file.custom-handler`",
            ]
        );
    }

    #[test]
    fn compression_cannot_be_turned_off_for_some_files() {
        for (value, want) in [("ON", 0), ("OFF", 1)] {
            let text = format!(
                "listen: 80\ncompress: ON\nfile.custom-handler: {{extension: .x, compress: {value}}}\n\
                 hosts: {{a: {{paths: {{/: {{file.dir: /}}}}}}}}\n"
            );
            let loaded =
                crate::features::load_text("test", &text).unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(loaded.warnings.len(), want, "{value}");
        }
    }

    #[test]
    fn the_last_rule_that_names_the_extension_wins_and_default_is_for_the_rest() {
        let rule = |names: &[&str], default| Names {
            extensions: names.iter().map(|n| n.to_string()).collect(),
            default,
            scripts: false,
        };
        let matcher = Matcher(vec![rule(&[], true), rule(&["html", "htm"], false), rule(&["htm"], false)]);
        for (path, want) in [("a.html", 1), ("b/a.HTM", 2), ("a.css", 0), ("a", 0)] {
            assert_eq!(matcher.find(path.as_bytes()), Some(want), "{path}");
        }
        assert_eq!(Matcher(Vec::new()).find(b"a"), None);
    }
}
