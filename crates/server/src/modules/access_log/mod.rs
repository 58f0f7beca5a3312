//! `access-log`: a line for every request.
//!
//! ```text
//! format (compiled once) ─▶ record (filled while the request is served) ─▶ worker's buffer
//!     ─▶ queue ─▶ writer thread ─▶ file, or command's standard input
//! ```
//!
//! A worker never waits for a disk or a command: buffers that are full or half a second old, and all of them when the
//! worker has been idle for a few milliseconds, go through a bounded queue to a writer thread. All files share one
//! thread, since they usually share one disk; every command has its own, so that one that does not read blocks no
//! other. Lines that do not fit into the queue or cannot be written are lost, counted, and reported in the error log.
//!
//! Not here: the error log (`error_log`, and `observe` for messages of the server).

mod buffer;
mod command;
mod escape;
mod format;
mod logs;
mod loss;
mod path_logs;
mod record;
mod sink;
mod specifier;
mod timestamp;
mod value;
mod writer;

pub use escape::Escape;
pub use format::Format;
pub use logs::{Logs, targets};
pub use path_logs::PathLogs;
pub use record::{Record, WorkerLogs};
pub use sink::wait_for_writers;

use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use crate::modules::error_log::Target;

/// The logs at one level of the configuration; those of inner levels are added.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The logs in the order written, outer levels first.
    pub logs: Vec<LogSettings>,
}

impl FeatureSetting for Settings {}

/// One log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Where lines are written.
    pub target: Target,
    /// The format of a line.
    pub format: Format,
}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Access log", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "access-log",
    levels: Levels::ALL,
    argument: "a path, `| command`, or a mapping of path, format and escape (apache or json); or a sequence of these",
    default: "",
    help: "Writes a line for every request to a file, or to the standard input of a shell command. The \
           default is the NCSA combined format. Lines are flushed when the worker becomes idle, under load \
           within a second. Logs of inner levels are added to those of outer levels.",
    set,
}];

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    for log in node.one_or_many() {
        let log = match &log.value {
            Value::Mapping(_) => mapping(log)?,
            _ => LogSettings { target: Target::read(log)?, format: default_format(Escape::Apache) },
        };
        scope.inherited.get_mut::<Settings>().logs.push(log);
    }
    Ok(())
}

fn mapping(node: &Node) -> Result<LogSettings, ConfigError> {
    for (key, _) in node.mapping()? {
        key.one_of(&["path", "format", "escape"])?;
    }
    let target = Target::read(node.get("path").ok_or_else(|| node.error("`path` is missing"))?)?;
    let escape = match node.get("escape") {
        Some(escape) => [Escape::Apache, Escape::Json][escape.one_of(&["apache", "json"])?],
        None => Escape::Apache,
    };
    let format = match node.get("format") {
        Some(text) => Format::new(text.text()?, escape).map_err(|message| text.error(message))?,
        None => default_format(escape),
    };
    Ok(LogSettings { target, format })
}

fn default_format(escape: Escape) -> Format {
    Format::new(format::COMBINED, escape).expect("the combined format is a format")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::Level;
    use crate::modules::test_support::{Setting, error, set};

    #[test]
    fn every_form_of_the_directive_is_read() {
        let logs = |line: &str| set(&[line]).inherited.get::<Settings>().logs.clone();
        let file = |path: &str| Target::File(path.into());
        let combined = default_format(Escape::Apache);
        let json = Format::new("{\"a\":\"%h\"}", Escape::Json).unwrap();
        let cases = [
            ("access-log: /a", vec![(file("/a"), combined.clone())]),
            ("access-log: '| cat'", vec![(Target::Command("cat".into()), combined.clone())]),
            ("access-log: {path: /a, escape: json, format: '{\"a\":\"%h\"}'}", vec![(file("/a"), json)]),
            ("access-log: [/a, {path: /b}]", vec![(file("/a"), combined.clone()), (file("/b"), combined)]),
        ];
        for (line, want) in cases {
            let found: Vec<_> = logs(line).into_iter().map(|log| (log.target, log.format)).collect();
            assert_eq!(found, want, "{line}");
        }
    }

    #[test]
    fn inner_levels_and_repeated_keys_add_logs() {
        let mut setting = Setting::default();
        setting.set(Level::Global, "access-log: /a").unwrap();
        setting.set(Level::Path, "access-log: /b").unwrap();
        setting.set(Level::Path, "access-log: /c").unwrap();
        let paths: Vec<_> =
            setting.inherited.get::<Settings>().logs.iter().map(|log| log.target.to_string()).collect();
        assert_eq!(paths, ["/a", "/b", "/c"]);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let cases = [
            ("access-log: {format: '%h'}", "`path` is missing"),
            ("access-log: {path: /a, format: '%Z'}", "unknown specifier `%Z`; write `%%` for a percent sign"),
            ("access-log: {path: /a, escape: html}", "expected one of apache, json, found `html`"),
            ("access-log: {path: /a, fmt: x}", "expected one of path, format, escape, found `fmt`"),
        ];
        for (line, want) in cases {
            assert_eq!(error(line), want);
        }
    }
}
