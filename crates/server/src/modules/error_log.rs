//! `error-log`: where the words of the server itself go.
//!
//! Opening the file or starting the command is the program's work.

use crate::config::directive::{Directive, Levels};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use std::path::{Path, PathBuf};

/// Where log lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file to append to.
    File(PathBuf),
    /// A shell command that reads them.
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

/// What inner levels inherit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `error-log.emit-request-errors`
    pub emit_request_errors: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { emit_request_errors: true }
    }
}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "error-log",
        levels: Levels::GLOBAL,
        argument: "a path, or `| command`",
        default: "standard error",
        help: "Where the server logs errors: appended to a file, or piped to a command.",
        set: |scope, node| {
            scope.global.process.error_log = Some(Target::read(node)?);
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
            scope.inherited.error_log.emit_request_errors = node.on_off()?;
            Ok(())
        },
    },
];
