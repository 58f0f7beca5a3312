//! `fastcgi.spawn`: an application started by the server.

use super::Application;
use crate::config::error::ConfigError;
use crate::config::settings::Settings;
use crate::config::yaml::{Node, Value};
use crate::modules::{file, upstreams};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An application to start. It is started once, before the workers, and shared by all of them.
#[derive(Debug)]
pub struct Spawn {
    /// Shell command.
    pub command: String,
    /// The user to run as; `None`: the server's.
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

    /// Sets its listening socket; only the first call counts.
    pub fn listens_at(&self, socket: PathBuf) {
        let _ = self.socket.set(socket);
    }

    /// Its listening socket; empty until it is started.
    pub(in crate::modules) fn socket(&self) -> &Path {
        self.socket.get().map_or(Path::new(""), |socket| socket)
    }
}

/// Whether any path forwards to an application.
pub fn is_used(settings: &Settings) -> bool {
    let paths = settings.hosts.iter().flat_map(|host| &host.paths);
    let mut handlers = paths
        .flat_map(|path| path.handlers.iter().chain(path.inherited.get::<file::Settings>().rules.handlers()));
    handlers.any(|handler| handler.get::<Application>().is_some())
}

/// After a reload: reuses the sockets of applications that are already running.
pub fn take_over(settings: &Settings, before: &Settings) {
    for spawn in spawned(settings) {
        if let Some(old) = spawned(before).find(|old| old.is_same(spawn)) {
            spawn.listens_at(old.socket().to_owned());
        }
    }
}

/// The applications that are not already running for the settings `before`.
pub fn not_running<'a>(settings: &'a Settings, before: &'a Settings) -> impl Iterator<Item = &'a Spawn> {
    spawned(settings).filter(|spawn| !spawned(before).any(|old| old.is_same(spawn)))
}

/// All applications to start.
pub fn spawned(settings: &Settings) -> impl Iterator<Item = &Spawn> {
    let upstreams =
        settings.global.get::<upstreams::Settings>().groups.iter().flat_map(|group| &group.upstreams);
    upstreams.filter_map(|upstream| upstream.spawn.as_deref())
}
