//! `fastcgi.spawn`: an application that the program starts.

use super::Application;
use crate::config::error::ConfigError;
use crate::config::settings::Settings;
use crate::config::yaml::{Node, Value};
use crate::modules::{file, upstreams};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An application to be started. All workers speak to the one that the program has started before them.
#[derive(Debug)]
pub struct Spawn {
    /// For the shell.
    pub command: String,
    /// As whom it runs; `None`: as the server.
    pub user: Option<String>,
    socket: OnceLock<PathBuf>,
}

impl Spawn {
    /// Whether it is the same application.
    fn is_same(&self, other: &Self) -> bool {
        (&self.command, &self.user) == (&other.command, &other.user)
    }

    pub(super) fn read(node: &Node) -> Result<Self, ConfigError> {
        let (command, user) = match &node.value {
            Value::Mapping(pairs) => {
                for (key, _) in pairs {
                    key.one_of(&["command", "user"])?;
                }
                let command = node.get("command").ok_or_else(|| node.error("`command` is missing"))?;
                (command, node.get("user"))
            }
            _ => (node, None),
        };
        let text = |node: &Node| match node.text()? {
            text if text.trim().is_empty() || text.contains('\0') => Err(node.expected("a shell command")),
            text => Ok(text.to_owned()),
        };
        let user = user.map(|user| user.text().map(str::to_owned)).transpose()?;
        Ok(Self { command: text(command)?, user, socket: OnceLock::new() })
    }

    /// Tells where it takes its connections; the first one who says so is believed.
    pub fn listens_at(&self, socket: PathBuf) {
        let _ = self.socket.set(socket);
    }

    /// Where it takes its connections; nowhere, until it was started.
    pub(in crate::modules) fn socket(&self) -> &Path {
        self.socket.get().map_or(Path::new(""), |socket| socket)
    }
}

/// Whether requests go to applications anywhere.
pub fn is_used(settings: &Settings) -> bool {
    let paths = settings.hosts.iter().flat_map(|host| &host.paths);
    let mut handlers = paths
        .flat_map(|path| path.handlers.iter().chain(path.inherited.get::<file::Settings>().rules.handlers()));
    handlers.any(|handler| handler.get::<Application>().is_some())
}

/// After a reload: an application that runs is spoken to where it takes its connections.
pub fn take_over(settings: &Settings, before: &Settings) {
    for spawn in spawned(settings) {
        if let Some(old) = spawned(before).find(|old| old.is_same(spawn)) {
            spawn.listens_at(old.socket().to_owned());
        }
    }
}

/// The applications that do not run for the settings `before`.
pub fn not_running<'a>(settings: &'a Settings, before: &'a Settings) -> impl Iterator<Item = &'a Spawn> {
    spawned(settings).filter(|spawn| !spawned(before).any(|old| old.is_same(spawn)))
}

/// All applications that are to be started.
pub fn spawned(settings: &Settings) -> impl Iterator<Item = &Spawn> {
    let upstreams =
        settings.global.get::<upstreams::Settings>().groups.iter().flat_map(|group| &group.upstreams);
    upstreams.filter_map(|upstream| upstream.spawn.as_deref())
}
