//! The definition of a directive: everything about it is in one table row, in its feature's own file.

use super::error::ConfigError;
use super::path_key::PathKey;
use super::settings::{GlobalSettings, HandlerSettings, HostSettings, Inheritance};
use super::yaml::Node;
use std::collections::HashMap;

/// The levels of a configuration at which directives are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Top of the file.
    Global,
    /// Below `hosts:`.
    Host,
    /// Below `paths:`.
    Path,
    /// Below `file.custom-handler:`.
    Extension,
}

impl Level {
    /// All levels, outermost first.
    pub const ALL: [Self; 4] = [Self::Global, Self::Host, Self::Path, Self::Extension];

    /// The level's place, for messages: `at the top of the file`.
    pub fn place(self) -> &'static str {
        match self {
            Self::Global => "at the top of the file",
            Self::Host => "in a host",
            Self::Path => "in a path",
            Self::Extension => "in `file.custom-handler`",
        }
    }

    /// One word for the manual.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Host => "host",
            Self::Path => "path",
            Self::Extension => "extension",
        }
    }
}

/// A set of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels(u8);

impl Levels {
    /// Global only.
    pub const GLOBAL: Self = Self(1);
    /// Host only.
    pub const HOST: Self = Self(2);
    /// Path only.
    pub const PATH: Self = Self(4);
    /// Global and host.
    pub const GLOBAL_HOST: Self = Self(1 | 2);
    /// Global, host, path.
    pub const GLOBAL_HOST_PATH: Self = Self(1 | 2 | 4);
    /// All four.
    pub const ALL: Self = Self(1 | 2 | 4 | 8);

    /// Global and path.
    pub const GLOBAL_PATH: Self = Self(1 | 4);
    /// Path and extension: a handler.
    pub const PATH_EXTENSION: Self = Self(4 | 8);

    /// The levels in the set, outermost first.
    pub fn iter(self) -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(move |level| self.contains(*level))
    }

    /// Whether `level` is among them.
    pub fn contains(self, level: Level) -> bool {
        self.0 & (1 << level as u8) != 0
    }
}

/// A section of the manual.
#[derive(Clone, Copy)]
pub struct Group {
    /// Its heading.
    pub title: &'static str,
    /// Its directives.
    pub directives: &'static [Directive],
}

/// A section of the manual with these directives.
pub const fn group(title: &'static str, directives: &'static [Directive]) -> Group {
    Group { title, directives }
}

/// One directive: a row of its feature's table.
pub struct Directive {
    /// The name as written in the file: `file.dir`.
    pub name: &'static str,
    /// The levels at which it is allowed.
    pub levels: Levels,
    /// Its argument, for the manual: `ON | OFF`, `a directory`.
    pub argument: &'static str,
    /// Its default, for the manual; `""` if it has none.
    pub default: &'static str,
    /// One to three sentences for the manual and `--help`: meaning, unit, limits.
    pub help: &'static str,
    /// Reads the argument into the settings.
    pub set: fn(&mut Scope<'_>, &Node) -> Result<(), ConfigError>,
}

/// The directives of a list of features.
pub struct Registry {
    groups: Vec<&'static Group>,
    by_name: HashMap<&'static str, &'static Directive>,
}

impl Registry {
    /// The directives of these sections of the manual.
    pub fn new(groups: impl Iterator<Item = &'static Group>) -> Self {
        let groups: Vec<_> = groups.collect();
        let directives = groups.iter().flat_map(|group| group.directives);
        let by_name = directives.map(|directive| (directive.name, directive)).collect();
        Self { groups, by_name }
    }

    /// The sections of the manual, in order.
    pub fn groups(&self) -> impl Iterator<Item = &'static Group> {
        self.groups.iter().copied()
    }

    /// Every directive, in the order of the manual.
    pub fn all(&self) -> impl Iterator<Item = &'static Directive> {
        self.groups().flat_map(|group| group.directives)
    }

    /// The directive of this name.
    pub fn find(&self, name: &str) -> Option<&'static Directive> {
        self.by_name.get(name).copied()
    }
}

/// What a directive's setter may change: the settings of its level.
pub struct Scope<'a> {
    /// All directives.
    pub registry: &'static Registry,
    /// The level.
    pub level: Level,
    /// The global settings.
    pub global: &'a mut GlobalSettings,
    /// The host's settings, within a host.
    pub host: Option<&'a mut HostSettings>,
    /// The path's key, within a path.
    pub path: Option<&'a PathKey>,
    /// The settings that inner levels inherit: initially a copy of the outer level's.
    pub inherited: &'a mut Inheritance,
    /// The handlers of the path or extension, in the order written.
    pub handlers: Option<&'a mut Vec<HandlerSettings>>,
}

impl Scope<'_> {
    /// Adds a handler to the path or extension.
    pub fn add_handler(&mut self, handler: HandlerSettings) {
        // Handler directives are only allowed at the two levels that have the list.
        if let Some(handlers) = &mut self.handlers {
            handlers.push(handler);
        }
    }

    /// Reports a warning.
    pub fn warn(&mut self, warning: ConfigError) {
        self.global.reading.warnings.push(warning);
    }
}

/// A row of a table of directives: name, levels, argument, default, setter, help.
macro_rules! directive {
    ($name:literal, $levels:ident, $argument:expr, $default:literal, $set:expr, $help:literal) => {
        $crate::config::directive::Directive {
            name: $name,
            levels: $crate::config::directive::Levels::$levels,
            argument: $argument,
            default: $default,
            help: $help,
            set: $set,
        }
    };
}
pub(crate) use directive;
