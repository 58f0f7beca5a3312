//! The directives of FastCGI.

use super::{Application, Settings, Spawn, place};
use crate::config::directive::{Directive, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::settings::HandlerSettings;
use crate::config::yaml::Node;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

macro_rules! directive {
    ($name:literal, $levels:ident, $argument:expr, $default:literal, $set:expr, $help:literal) => {
        Directive {
            name: $name,
            levels: Levels::$levels,
            argument: $argument,
            default: $default,
            help: $help,
            set: $set,
        }
    };
}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    directive!(
        "fastcgi.connect",
        PATH_EXTENSION,
        "a port; {host, port, type: tcp | unix}; or a sequence of such",
        "",
        connect,
        "Passes requests on to a FastCGI application, such as PHP-FPM: to a port of 127.0.0.1, of `host`, or to the \
         unix socket that `port` names with `type: unix`. With several places requests go to each in turn. In \
         `file.custom-handler` it answers for the files with these extensions."
    ),
    directive!(
        "fastcgi.spawn",
        PATH_EXTENSION,
        "a shell command, or {command, user}",
        "",
        spawn,
        "Starts a FastCGI application that takes its connections at descriptor 0, such as `php-cgi`, as `user` (that \
         of the server, if not given), and passes requests on to it. It is started again when it ends, and ends with \
         the server."
    ),
    directive!(
        "fastcgi.document_root",
        ALL,
        "a directory",
        "that of file.dir",
        document_root,
        "The document root that applications are told: scripts are looked for below it, and below the same path on \
         the machine or in the container in which the application runs."
    ),
    directive!(
        "fastcgi.timeout.io",
        ALL,
        "milliseconds",
        "30000",
        |scope, node| milliseconds(node, 1).map(|value| own(scope).io = value),
        "How long an application may take to accept a connection, and to send something of its answer."
    ),
    directive!(
        "fastcgi.timeout.keepalive",
        ALL,
        "milliseconds",
        "0",
        |scope, node| milliseconds(node, 0).map(|value| own(scope).keep_alive = value),
        "How long a connection to an application waits for its next request; 0: every request has a connection of its \
         own. A process of PHP-FPM serves one connection at a time and is idle while that waits: set it only if there \
         are more processes than connections."
    ),
    directive!(
        "fastcgi.send-delegated-uri",
        ALL,
        "ON | OFF",
        "OFF",
        |scope, node| node.on_off().map(|value| own(scope).send_delegated_uri = value),
        "Whether REQUEST_URI is what an internal redirect has made of the target, rather than what the client asked \
         for."
    ),
];

fn own<'s>(scope: &'s mut Scope<'_>) -> &'s mut Settings {
    &mut scope.inherited.fastcgi
}

fn milliseconds(node: &Node, least: u64) -> Result<Duration, ConfigError> {
    node.integer(least..=u64::from(u32::MAX)).map(Duration::from_millis)
}

fn connect(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let places = place::read(node)?;
    scope.add_handler(HandlerSettings::FastCgi(Application::Connect(places)));
    Ok(())
}

fn spawn(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let spawn = Arc::new(Spawn::read(node)?);
    scope.add_handler(HandlerSettings::FastCgi(Application::Spawn(spawn)));
    Ok(())
}

fn document_root(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    match node.text()? {
        path if path.starts_with('/') && !path.contains('\0') => {
            own(scope).document_root = Some(PathBuf::from(path));
            Ok(())
        }
        _ => Err(node.expected("the absolute path of a directory")),
    }
}
