//! The environment of a request, for its handlers and its log: variables of `setenv` and `unsetenv`.

use crate::config::directive::Level;
use crate::config::feature_settings::FeatureSetting;

/// The variables at one level of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(crate) variables: Vec<Variable>,
    /// The names that `unsetenv` removes. They are needed for `file.custom-handler`, whose directives apply to the
    /// environment of a path that is known only when a request is handled.
    pub(crate) removed: Vec<String>,
}

impl FeatureSetting for Settings {}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
    /// The level that sets it: `unsetenv` is applied before the `setenv` of its own level, in any order.
    pub(crate) level: Level,
}

/// The environment of a path's requests.
#[derive(Debug, Default)]
pub struct Environment {
    variables: Vec<(String, String)>,
}

impl Environment {
    /// The environment for these settings.
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

/// The changes by `setenv` and `unsetenv` in `file.custom-handler` to the environment of a path.
#[derive(Debug, Default)]
pub struct Changes {
    removed: Vec<String>,
    set: Environment,
}

impl Changes {
    /// The changes for these settings.
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
