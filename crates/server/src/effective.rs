//! The effective configuration as text, for `hayami -t -v`: the settings of the process, of every listener, host and
//! path; for `-t -vv` with the defaults.
//!
//! The text has the form of a configuration, with inheritance: every value is listed once, at the level where it was
//! written, a default at the outermost level that allows it. Comments show where a value was set.

use crate::config::directive::{Directive, Level};
use crate::config::load::Loaded;
use crate::config::settings::Written;
use crate::config::yaml::Node;
use crate::features::REGISTRY;
use crate::modules::listen;

/// Directives that add to outer levels and earlier lines; of other directives the last line applies.
const ADDING: &[&str] =
    &["access-log", "allow", "deny", "error-doc", "file.custom-handler", "listen", "setenv", "unsetenv"];

/// The same, by name prefix.
const ADDING_FAMILIES: &[&str] = &["header.", "file.mime.", "proxy.header."];

/// Old names, and the names that are shown instead.
const OLD_NAMES: &[(&str, &str)] = &[
    ("file.send-gzip", "file.send-compressed"),
    ("proxy.websocket", "proxy.tunnel"),
    ("proxy.websocket.timeout", "proxy.timeout.tunnel"),
    ("proxy.http2.max-concurrent_streams", "proxy.http2.max-concurrent-streams"),
    ("proxy.connect.proxy-status", "proxy.connect.emit-proxy-status"),
    ("proxy-status.identity", "proxy.proxy-status.identity"),
];

/// Directives shown together with those of another name, in the order written, which is significant.
const JOINT: &[(&str, &str)] = &[("deny", "allow")];

/// Groups whose directives are shown only where they are written: their defaults are of no interest.
const SILENT: &[&str] = &[
    "HTTP/2 and HTTP/3: accepted without effect",
    "Reverse proxy: accepted without effect",
    "CONNECT: accepted without effect",
    "Accepted without effect",
    "Anchors",
];

/// The column of comments.
const COMMENTS: usize = 56;

/// The text, with or without `defaults`; it ends in a line break.
pub fn text(loaded: &Loaded, defaults: bool) -> String {
    let first = "# What is set, and where. Inner levels inherit from outer ones.\n";
    let mut text = Text { loaded, defaults, lines: first.to_owned() };
    text.global();
    text.listeners();
    text.lines.push_str("hosts:\n");
    for host in 0..loaded.settings.hosts.len() {
        text.host(host);
    }
    text.lines
}

struct Text<'a> {
    loaded: &'a Loaded,
    defaults: bool,
    lines: String,
}

impl<'a> Text<'a> {
    /// The settings of the process, and those for everything below.
    fn global(&mut self) {
        for directive in shown() {
            if !matches!(directive.name, "hosts" | "listen") {
                self.directive(Level::Global, directive, |written| written.host.is_none());
            }
        }
    }

    fn listeners(&mut self) {
        let settings = &self.loaded.settings;
        self.lines.push_str("listen:\n");
        for binding in listen::bindings(settings) {
            let names: Vec<_> =
                binding.hosts.iter().map(|host| settings.hosts[*host].name.as_str()).collect();
            let hosts =
                if names.len() == settings.hosts.len() { "every host".to_owned() } else { names.join(", ") };
            self.line(2, &format!("- {}", binding.listener), &format!("for {hosts}"));
            binding.blocks.iter().enumerate().for_each(|(index, block)| self.block(index, block));
        }
    }

    /// The TLS settings for some server names; the first block also applies to all other names.
    fn block(&mut self, index: usize, block: &listen::Block<'_>) {
        let mut names = block.names.clone();
        if index == 0 {
            names.push("all other names".to_owned());
        }
        let origin = self.loaded.sources.line(block.ssl.identities[0].certificate.at);
        self.line(4, &format!("{}: {}", names.join(", "), block.ssl), &origin);
    }

    fn host(&mut self, host: usize) {
        let settings = &self.loaded.settings.hosts[host];
        let name = Node::scalar(&settings.name).flow();
        self.lines.push_str(&format!("  {name}:\n"));
        for directive in shown() {
            if !matches!(directive.name, "listen" | "paths") {
                let here = |written: &Written| written.host == Some(host) && written.path.is_none();
                self.directive(Level::Host, directive, here);
            }
        }
        self.lines.push_str("    paths:\n");
        for path in 0..settings.paths.len() {
            self.path(host, path);
        }
    }

    /// The handlers in order, then the settings of the path.
    fn path(&mut self, host: usize, path: usize) {
        let prefix = Node::scalar(&self.loaded.settings.hosts[host].paths[path].key.to_string()).flow();
        self.lines.push_str(&format!("      {prefix}:\n"));
        let handler = |written: &&Written| REGISTRY.find(written.name).is_some_and(is_handler);
        let here = |written: &&Written| (written.host, written.path) == (Some(host), Some(path));
        let mut handlers = self.loaded.written.iter().filter(here).filter(handler).peekable();
        if handlers.peek().is_none() {
            self.line(8, "# no handler: every request gets 404", "");
        }
        for handler in handlers {
            self.written(8, handler);
        }
        for directive in shown().filter(|directive| !is_handler(directive)) {
            self.directive(Level::Path, directive, |written| here(&written));
        }
    }

    /// The lines of a directive at a level, selected by `here`; or its default, if that is the directive's outermost
    /// level.
    fn directive(&mut self, level: Level, directive: &Directive, here: impl Fn(&Written) -> bool) {
        let indent = match level {
            Level::Global => 0,
            Level::Host => 4,
            _ => 8,
        };
        let named = |written: &Written| {
            let names = (written.name, directive.name);
            names.0 == names.1 || OLD_NAMES.contains(&names) || JOINT.contains(&names)
        };
        let lines = self.loaded.written.iter();
        let seen: Vec<_> = lines.filter(|written| named(written) && here(written)).collect();
        let adding = ADDING.contains(&directive.name)
            || ADDING_FAMILIES.iter().any(|family| directive.name.starts_with(family));
        let first = if adding { 0 } else { seen.len().saturating_sub(1) };
        for written in &seen[first..] {
            self.written(indent, written);
        }
        let is_outermost = directive.levels.iter().next() == Some(level);
        let has_default = !directive.default.is_empty() && !is_silent(directive);
        if self.defaults && seen.is_empty() && is_outermost && has_default {
            self.line(indent, &format!("{}: {}", directive.name, directive.default), "default");
        }
    }

    fn written(&mut self, indent: usize, written: &Written) {
        let origin = self.loaded.sources.line(written.value.at);
        self.line(indent, &format!("{}: {}", written.name, written.value.flow()), &origin);
    }

    fn line(&mut self, indent: usize, text: &str, comment: &str) {
        let line = format!("{:indent$}{text}", "");
        let line = if comment.is_empty() { line } else { format!("{line:COMMENTS$} # {comment}") };
        self.lines.push_str(&line);
        self.lines.push('\n');
    }
}

fn shown() -> impl Iterator<Item = &'static Directive> {
    let elsewhere = |name| OLD_NAMES.iter().chain(JOINT).any(|(own, _)| *own == name);
    REGISTRY.all().filter(move |directive| directive.name != "stash" && !elsewhere(directive.name))
}

fn is_handler(directive: &Directive) -> bool {
    !directive.levels.contains(Level::Global) && !directive.levels.contains(Level::Host)
}

fn is_silent(directive: &Directive) -> bool {
    let mut silent = REGISTRY.groups().filter(|group| SILENT.contains(&group.title));
    silent.any(|group| group.directives.iter().any(|own| own.name == directive.name))
}
