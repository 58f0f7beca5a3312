//! Where an application is.

use super::Spawn;
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::modules::proxy::Place;
use hayami_net::dial::Peer;
use std::fmt;
use std::io;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::sync::Arc;

/// An application as configured.
#[derive(Clone, Debug)]
pub enum Application {
    /// `fastcgi.connect`: it is there; at least one place.
    Connect(Vec<At>),
    /// `fastcgi.spawn`: the program starts it.
    Spawn(Arc<Spawn>),
}

/// One place of `fastcgi.connect`.
#[derive(Clone, Debug)]
pub struct At {
    /// Host and port, or a socket.
    pub(super) place: Place,
    /// Its addresses when the configuration was read.
    pub(super) peers: Vec<Peer>,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Place::Tcp(host, port) => write!(f, "{host}:{port}"),
            Place::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

const WANTED: &str = "a port, {host, port} or {port: /run/app.sock, type: unix}";

/// Reads the argument of `fastcgi.connect`.
pub(super) fn read(node: &Node) -> Result<Vec<At>, ConfigError> {
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.expected(WANTED));
    }
    nodes.into_iter().map(one).collect()
}

fn one(node: &Node) -> Result<At, ConfigError> {
    let place = match &node.value {
        Value::Mapping(pairs) => {
            for (key, _) in pairs {
                key.one_of(&["host", "port", "type"])?;
            }
            let port = node.get("port").ok_or_else(|| node.error("`port` is missing"))?;
            let unix = node.get("type").map_or(Ok(0), |kind| kind.one_of(&["tcp", "unix"]))? == 1;
            match unix {
                true => socket(port)?,
                false => Place::Tcp(host(node)?, number(port)?),
            }
        }
        _ if node.text().is_ok_and(|text| text.starts_with('/')) => {
            let help = format!("write `{{port: {}, type: unix}}`", node.text()?);
            return Err(node.expected(WANTED).help(help));
        }
        _ => Place::Tcp("127.0.0.1".to_owned(), number(node)?),
    };
    let peers = peers(&place).map_err(|error| node.error(format!("the host cannot be resolved: {error}")))?;
    Ok(At { place, peers })
}

/// The addresses of a place, as the system's resolver knows them now.
fn peers(place: &Place) -> io::Result<Vec<Peer>> {
    match place {
        Place::Unix(path) => Ok(vec![Peer::Unix(path.clone())]),
        Place::Tcp(host, port) => Ok((host.as_str(), *port).to_socket_addrs()?.map(Peer::Tcp).collect()),
    }
}

fn host(node: &Node) -> Result<String, ConfigError> {
    let Some(host) = node.get("host") else { return Ok("127.0.0.1".to_owned()) };
    match host.text()?.trim_start_matches('[').trim_end_matches(']') {
        "" => Err(host.expected("a host")),
        name => Ok(name.to_owned()),
    }
}

fn number(node: &Node) -> Result<u16, ConfigError> {
    node.integer(1..=65535).map(|port| port as u16)
}

fn socket(node: &Node) -> Result<Place, ConfigError> {
    match node.text()? {
        path if path.starts_with('/') && !path.contains('\0') => Ok(Place::Unix(PathBuf::from(path))),
        path => Err(node.error(format!("`{path}` is no absolute path of a unix socket"))),
    }
}
