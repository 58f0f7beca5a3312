//! From nodes to settings, according to the directive tables.
//!
//! At every level plain settings are applied first, then listeners, then inner levels: hosts, paths, handlers in the
//! order written. So an inner level sees all settings of the outer one, whatever the order of the lines.

use super::directive::{Directive, Level, Registry, Scope};
use super::error::ConfigError;
use super::errors::Errors;
use super::settings::{HandlerSettings, Inheritance, Reading, Settings, Written};
use super::source::Sources;
use super::yaml::{Node, Position};
use super::{VERSION, foreign, nearest, not_yet, render, yaml};
use std::path::Path;
use std::sync::Arc;

/// A valid configuration.
#[derive(Debug)]
pub struct Loaded {
    /// Its settings.
    pub settings: Arc<Settings>,
    /// Warnings, in the order of the lines.
    pub warnings: Vec<ConfigError>,
    /// The texts it consists of.
    pub sources: Sources,
    /// The directives as written, in the order in which they were applied.
    pub written: Vec<Written>,
}

impl Loaded {
    /// The warnings for the user, with colours for a terminal if `styled`; empty if there are none.
    pub fn warnings_text(&self, styled: bool) -> String {
        render::warnings(&self.warnings, &self.sources, styled)
    }

    /// Text for the user of errors found later.
    pub fn errors_text(&self, errors: &[ConfigError], styled: bool) -> String {
        render::errors(errors, &self.sources, styled)
    }

    /// Text for the user of warnings found later.
    pub fn later_warnings_text(&self, warnings: &[ConfigError], styled: bool) -> String {
        render::warnings(warnings, &self.sources, styled)
    }

    /// The position of a directive with this text in its argument.
    pub fn place_of(&self, directive: &str, text: &str) -> Option<Position> {
        let mut written = self.written.iter().filter(|written| written.name == directive);
        written.find_map(|written| written.value.find(text))
    }
}

/// Called when all directives have been read, with the root of the configuration: for checks of the whole.
pub type Complete = fn(&mut Settings, &mut Reading, &Node);

/// Reads the configuration in the file `path`.
///
/// # Errors
/// All errors that can be found at once.
pub fn load_file(path: &Path, registry: &'static Registry, complete: Complete) -> Result<Loaded, Errors> {
    let mut sources = Sources::default();
    let root = yaml::read_file(&path.to_string_lossy(), &mut sources);
    load(root, sources, registry, complete)
}

/// Reads a configuration from a text, which messages call `name`.
///
/// # Errors
/// All errors that can be found at once.
pub fn load_text(
    name: &str,
    text: &str,
    registry: &'static Registry,
    complete: Complete,
) -> Result<Loaded, Errors> {
    let mut sources = Sources::default();
    let root = yaml::read_text(name, text, &mut sources);
    load(root, sources, registry, complete)
}

fn load(
    root: Result<Node, ConfigError>,
    sources: Sources,
    registry: &'static Registry,
    complete: Complete,
) -> Result<Loaded, Errors> {
    let root = match root {
        Ok(root) if root.mapping().is_ok() => root,
        root => {
            // A file of another server is seldom valid YAML, and if it is, it is a single scalar.
            let error = foreign_file(&sources)
                .or_else(|| root.as_ref().err().cloned())
                .unwrap_or_else(|| no_directives(root.as_ref().ok()));
            return Err(Errors { errors: vec![error], sources });
        }
    };
    let mut settings = Settings::default();
    let mut inherited = Inheritance::default();
    let global = &mut settings.global;
    apply(
        &mut Scope {
            registry,
            level: Level::Global,
            global,
            host: None,
            path: None,
            inherited: &mut inherited,
            handlers: None,
        },
        &root,
        &[],
    );
    let mut reading = std::mem::take(&mut settings.global.reading);
    (reading.host_places, settings.hosts) = std::mem::take(&mut reading.hosts).into_iter().unzip();
    // Only without other errors: a misspelt `hosts` should not be reported as missing too.
    if reading.errors.is_empty() {
        complete(&mut settings, &mut reading, &root);
    }
    if !reading.errors.is_empty() {
        return Err(Errors { errors: sorted(reading.errors), sources });
    }
    Ok(Loaded {
        settings: Arc::new(settings),
        warnings: sorted(reading.warnings),
        sources,
        written: reading.written,
    })
}

fn no_directives(node: Option<&Node>) -> ConfigError {
    let nothing = Node::scalar("");
    node.unwrap_or(&nothing).expected("directives, a mapping such as `listen: 8080`")
}

/// The error for the configuration file of another server, if the first of the sources is one.
fn foreign_file(sources: &Sources) -> Option<ConfigError> {
    let main = Position::default();
    let foreign = foreign::recognise(&sources.get(main)?.text)?;
    let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let at = Position { start: byte(foreign.line.start), end: byte(foreign.line.end), ..main };
    let error = ConfigError::new(at, format!("this is {}, not a hayami configuration", foreign.what));
    let section = foreign.section;
    Some(error.help(format!(
        "hayami configurations are YAML (`listen: 80`); docs/moving.md#{section} lists the equivalent of \
         each directive"
    )))
}

/// Sorts by line. An error that an alias repeats in several places is reported once.
fn sorted(mut errors: Vec<ConfigError>) -> Vec<ConfigError> {
    errors.sort_by_key(|error| (error.at.file, error.at.start));
    errors.dedup_by(|b, a| a.at == b.at && a.message == b.message);
    errors
}

/// Applies the directives in `node`, except those in `ignored`, to the level of `scope`. Errors are added to the
/// scope's list.
pub fn apply(scope: &mut Scope<'_>, node: &Node, ignored: &[&str]) {
    let Ok(pairs) = node.mapping() else {
        return scope.global.reading.errors.push(no_directives(Some(node)));
    };
    let mut rows = Vec::new();
    for (key, value) in pairs {
        if ignored.iter().any(|name| key.is(name)) {
            continue;
        }
        match directive(scope.registry, key, scope.level) {
            Ok(row) => rows.push((row, value)),
            Err(error) => scope.global.reading.errors.push(error),
        }
    }
    // Stable: within a stage the written order is kept.
    rows.sort_by_key(|(row, _)| Stage::of(row));
    for (row, value) in rows {
        match (row.set)(scope, value) {
            Ok(()) => note(scope, row, value),
            Err(error) => scope.global.reading.errors.push(named(error, row)),
        }
    }
}

/// Records a directive as written. The level that is being read is not in its list yet: its index is the length of the
/// list.
fn note(scope: &mut Scope<'_>, row: &Directive, value: &Node) {
    let host = scope.host.as_ref().map(|_| scope.global.reading.hosts.len());
    let paths = scope.host.as_ref().map(|host| host.paths.len());
    let path = paths.filter(|_| scope.level == Level::Path);
    // `file.custom-handler` is recorded as a whole.
    if scope.level != Level::Extension && Stage::of(row) != Stage::Structure {
        scope.global.reading.written.push(Written { name: row.name, value: value.clone(), host, path });
    }
}

/// Applies the directives of `file.custom-handler`; returns the settings that apply there, and its handlers.
pub fn extension(
    scope: &mut Scope<'_>,
    node: &Node,
    ignored: &[&str],
) -> (Inheritance, Vec<HandlerSettings>) {
    let mut inherited = scope.inherited.clone();
    let mut handlers = Vec::new();
    apply(
        &mut Scope {
            registry: scope.registry,
            level: Level::Extension,
            global: scope.global,
            host: scope.host.as_deref_mut(),
            path: scope.path,
            inherited: &mut inherited,
            handlers: Some(&mut handlers),
        },
        node,
        ignored,
    );
    (inherited, handlers)
}

/// When a directive is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// `unsetenv` removes variables of outer levels, not those of its own.
    Unset,
    Setting,
    /// Depends on the settings of its level.
    Listener,
    Handler,
    /// Hosts and paths.
    Structure,
}

impl Stage {
    fn of(row: &Directive) -> Self {
        let outer = row.levels.contains(Level::Global) || row.levels.contains(Level::Host);
        match row.name {
            "unsetenv" => Self::Unset,
            "listen" | "file.custom-handler" | "upstreams" => Self::Listener,
            "hosts" | "paths" => Self::Structure,
            // Directives allowed only in paths are handlers.
            _ if !outer => Self::Handler,
            _ => Self::Setting,
        }
    }
}

/// The row for `key`, if it is allowed at `level`.
fn directive(registry: &Registry, key: &Node, level: Level) -> Result<&'static Directive, ConfigError> {
    let name = key.text().map_err(|_| key.expected("the name of a directive"))?;
    let row = registry.find(name).ok_or_else(|| unknown(registry, key, name))?;
    if row.levels.contains(level) {
        return Ok(row);
    }
    let error = key.error(format!("`{name}` is not allowed {}", level.place()));
    Err(error.help(format!("it is allowed {}", places(row))))
}

/// `at the top of the file, in a host or in a path`
fn places(row: &Directive) -> String {
    let places: Vec<_> = row.levels.iter().map(Level::place).collect();
    match places.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn unknown(registry: &Registry, key: &Node, name: &str) -> ConfigError {
    if let Some(topic) = not_yet::topic(name) {
        let error = key.error(format!("`{name}` is not supported yet in hayami {VERSION}"));
        return error.help(format!("planned for a later version: {topic}"));
    }
    let error = key.error(format!("unknown directive `{name}`"));
    if let Some(advice) = foreign::advice(name) {
        return error.help(advice);
    }
    match nearest::nearest(name, registry.all().map(|row| row.name)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("see docs/directives.md for a list of all directives"),
    }
}

/// Adds the directive to "expected …", which does not name it.
fn named(mut error: ConfigError, row: &Directive) -> ConfigError {
    let name = format!("`{}`", row.name);
    if !error.message.contains(&name) {
        error.message = format!("{name}: {}", error.message);
    }
    error
}
