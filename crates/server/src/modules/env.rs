//! `setenv` and `unsetenv`: the environment of a request, for its handlers and its log.

use crate::config::directive::{Directive, Level, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;

/// The variables in force at one place of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    variables: Vec<Variable>,
    /// The names that `unsetenv` removes. They count in `file.custom-handler`, whose directives are applied to the
    /// environment of a path that is known only when a request comes.
    removed: Vec<String>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    value: String,
    /// Where it was set: `unsetenv` goes before the `setenv` of its own level, however they are written.
    level: Level,
}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "setenv",
        levels: Levels::ALL,
        argument: "a mapping of names to values",
        default: "",
        help: "Sets variables in the request's environment, which handlers and the access log (`%{NAME}e`) \
               can read. Inner levels add to outer ones.",
        set: set_variables,
    },
    Directive {
        name: "unsetenv",
        levels: Levels::ALL,
        argument: "a name, or a sequence of names",
        default: "",
        help: "Removes variables of outer levels from the request's environment; applied before the `setenv` \
               of the same level.",
        set: unset_variables,
    },
];

fn set_variables(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let level = scope.level;
    let variables = &mut scope.inherited.env.variables;
    for (name, value) in node.mapping()? {
        let variable = Variable { name: name_of(name)?, value: value.text()?.to_owned(), level };
        variables.retain(|old| old.name != variable.name);
        variables.push(variable);
    }
    Ok(())
}

fn unset_variables(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    for name in node.one_or_many() {
        let name = name_of(name)?;
        let env = &mut scope.inherited.env;
        env.variables.retain(|old| old.name != name || old.level == scope.level);
        env.removed.push(name);
    }
    Ok(())
}

fn name_of(node: &Node) -> Result<String, ConfigError> {
    match node.text()? {
        "" => Err(node.expected("the name of a variable")),
        // What receives an environment splits it at the first `=` and at NUL.
        name if name.contains(['=', '\0']) => {
            Err(node.error("the name of a variable must not contain `=` or NUL"))
        }
        name => Ok(name.to_owned()),
    }
}

/// What the requests of a path see.
#[derive(Debug, Default)]
pub struct Environment {
    variables: Vec<(String, String)>,
}

impl Environment {
    /// The environment these settings give.
    pub fn new(settings: &Settings) -> Self {
        Self { variables: settings.variables.iter().map(|v| (v.name.clone(), v.value.clone())).collect() }
    }

    /// An environment of these names and values.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self { variables: pairs.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect() }
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

/// What `setenv` and `unsetenv` in `file.custom-handler` change in the environment of a path.
#[derive(Debug, Default)]
pub struct Changes {
    removed: Vec<String>,
    set: Environment,
}

impl Changes {
    /// The changes these settings ask for.
    pub fn new(settings: &Settings) -> Self {
        Self { removed: settings.removed.clone(), set: Environment::new(settings) }
    }

    /// `outer` with the changes; `None` if there are none.
    pub fn apply(&self, outer: &Environment) -> Option<Environment> {
        if self.removed.is_empty() && self.set.variables.is_empty() {
            return None;
        }
        let stays = |name: &str| self.set.get(name).is_none() && !self.removed.iter().any(|own| own == name);
        let kept = outer.iter().filter(|(name, _)| stays(name));
        Some(Environment::from_pairs(kept.chain(self.set.iter())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::Setting;
    use Level::{Global, Host, Path};

    #[test]
    fn inner_levels_add_to_outer_ones_and_unset_goes_first() {
        type Case<'a> = (&'a [(Level, &'a str)], &'a [(&'a str, &'a str)]);
        let cases: [Case<'_>; 5] = [
            (&[(Global, "setenv: {A: 1}"), (Path, "setenv: {B: 2}")], &[("A", "1"), ("B", "2")]),
            (&[(Global, "setenv: {A: 1}"), (Path, "setenv: {A: 2}")], &[("A", "2")]),
            (&[(Global, "setenv: {A: 1, B: 2}"), (Host, "unsetenv: A")], &[("B", "2")]),
            (&[(Global, "setenv: {A: 1, B: 2}"), (Host, "unsetenv: [A, B, C]")], &[]),
            (&[(Global, "setenv: {A: 1}"), (Path, "setenv: {A: 2}"), (Path, "unsetenv: A")], &[("A", "2")]),
        ];
        for (lines, want) in cases {
            let mut setting = Setting::default();
            for (level, line) in lines {
                setting.set(*level, line).unwrap();
            }
            let env = Environment::new(&setting.inherited.env);
            assert_eq!(env.iter().collect::<Vec<_>>(), want, "{lines:?}");
        }
    }

    #[test]
    fn changes_of_a_custom_handler_apply_to_the_environment_of_the_path() {
        let path = Environment::from_pairs([("A", "path"), ("B", "path")]);
        type Case<'a> = (&'a [&'a str], Option<&'a [(&'a str, &'a str)]>);
        let cases: [Case<'_>; 4] = [
            (&[], None),
            (&["unsetenv: A"], Some(&[("B", "path")])),
            (&["setenv: {A: own}"], Some(&[("B", "path"), ("A", "own")])),
            (&["unsetenv: [A, B, C]", "setenv: {B: own}"], Some(&[("B", "own")])),
        ];
        for (lines, want) in cases {
            let mut setting = Setting::default();
            for line in lines {
                setting.set(Level::Extension, line).unwrap();
            }
            let changed = Changes::new(&setting.inherited.env).apply(&path);
            let shown = changed.as_ref().map(|env| env.iter().collect::<Vec<_>>());
            assert_eq!(shown.as_deref(), want, "{lines:?}");
        }
    }

    #[test]
    fn a_name_that_no_environment_has_is_refused() {
        for line in ["setenv: {A=B: 1}", "setenv: {'': 1}", "unsetenv: ''", "setenv: A", "setenv: {A: [1]}"] {
            assert!(Setting::default().set(Global, line).is_err(), "{line}");
        }
    }
}
