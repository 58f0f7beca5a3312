//! `setenv` and `unsetenv`: the environment of a request, for its handlers and its log.

use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use crate::environment::{Settings, Variable};
use crate::feature::Feature;

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Request environment", DIRECTIVES)]);

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
    let variables = &mut scope.inherited.get_mut::<Settings>().variables;
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
        let env = scope.inherited.get_mut::<Settings>();
        env.variables.retain(|old| old.name != name || old.level == scope.level);
        env.removed.push(name);
    }
    Ok(())
}

fn name_of(node: &Node) -> Result<String, ConfigError> {
    match node.text()? {
        "" => Err(node.expected("the name of a variable")),
        // The receivers of an environment split it at the first `=` and at NUL.
        name if name.contains(['=', '\0']) => {
            Err(node.error("the name of a variable must not contain `=` or NUL"))
        }
        name => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::Level;
    use crate::environment::{Changes, Environment};
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
            let env = Environment::new(setting.inherited.get::<Settings>());
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
            let changed = Changes::new(setting.inherited.get::<Settings>()).apply(&path);
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
