//! `error-log`: the destination of the server's own messages.
//!
//! Opening the file or starting the command is up to the program.

use crate::config::directive::{Directive, Levels, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::Node;
use crate::feature::Feature;
use std::path::{Path, PathBuf};

/// Where log lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file to append to.
    File(PathBuf),
    /// A shell command that reads them on its standard input.
    Command(String),
}

impl Target {
    /// Reads `path` or `| command`.
    pub fn read(node: &Node) -> Result<Self, ConfigError> {
        let wanted = || node.expected("the path of a file, or `| command`");
        let text = node.text().map_err(|_| wanted())?.trim();
        match text.strip_prefix('|').map(str::trim) {
            Some("") => Err(wanted()),
            Some(command) => Ok(Self::Command(command.to_owned())),
            None if text.is_empty() || text.contains('\0') => Err(wanted()),
            None => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

impl Target {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Command(_) => None,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Command(command) => write!(f, "| {command}"),
        }
    }
}

/// `error-log`; `None`: standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination(pub Option<Target>);

impl FeatureSetting for Destination {}

/// Settings that inner levels inherit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `error-log.emit-request-errors`
    pub emit_request_errors: bool,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self { emit_request_errors: true }
    }
}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Error log", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "error-log",
        levels: Levels::GLOBAL,
        argument: "a path, or `| command`",
        default: "standard error",
        help: "Where the server logs errors: appended to a file, or piped to a command.",
        set: |scope, node| {
            scope.global.get_mut::<Destination>().0 = Some(Target::read(node)?);
            Ok(())
        },
    },
    Directive {
        name: "error-log.emit-request-errors",
        levels: Levels::ALL,
        argument: "ON | OFF",
        default: "ON",
        help: "Whether errors of individual requests are logged to the error log too.",
        set: |scope, node| {
            scope.inherited.get_mut::<Settings>().emit_request_errors = node.on_off()?;
            Ok(())
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::Level;
    use crate::modules::test_support::Setting;

    fn set(line: &str) -> Result<Setting, String> {
        let mut setting = Setting::default();
        setting.set(Level::Global, line).map(|()| setting)
    }

    #[test]
    fn the_error_log_is_a_file_or_a_command() {
        let target = |line| set(line).unwrap().global.get::<Destination>().0.clone();
        assert_eq!(target("error-log: logs/error"), Some(Target::File("logs/error".into())));
        assert_eq!(target("error-log: '| logger -t web'"), Some(Target::Command("logger -t web".to_owned())));
        assert!(set("error-log: '|'").is_err());
        assert!(set("error-log: ''").is_err());
    }
}
