//! Reads the location of an application: from configuration nodes to upstreams.

use super::Spawn;
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::modules::proxy::{Url, UrlLocation};
use crate::modules::upstreams::{self, Group, Upstream};
use std::path::PathBuf;
use std::sync::Arc;

const WANTED: &str = "a port, {host, port} or {port: /run/app.sock, type: unix}";

/// The group of `fastcgi.connect`: a named one, or one private to the path.
pub(super) fn connect(scope: &mut Scope<'_>, node: &Node) -> Result<usize, ConfigError> {
    if let Some(name) = node.get("upstream") {
        return named(scope, node, name);
    }
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.expected(WANTED));
    }
    let upstreams = nodes.into_iter().map(one).collect::<Result<_, _>>()?;
    Ok(scope.global.get_mut::<upstreams::Settings>().add(Group::new(node.at, upstreams)))
}

/// The group of `fastcgi.spawn`.
pub(super) fn spawn(scope: &mut Scope<'_>, node: &Node) -> Result<usize, ConfigError> {
    let spawn = Spawn::read(node)?;
    let place = UrlLocation::Unix(PathBuf::new());
    let upstream = Upstream::new(url(place, format!("`{}`", spawn.command)), Vec::new());
    let upstream = Upstream { spawn: Some(Arc::new(spawn)), ..upstream };
    Ok(scope.global.get_mut::<upstreams::Settings>().add(Group::new(node.at, vec![upstream])))
}

/// `{upstream: NAME}`: only the locations of the group's URLs are used.
fn named(scope: &mut Scope<'_>, node: &Node, name: &Node) -> Result<usize, ConfigError> {
    for (key, _) in node.mapping()? {
        key.one_of(&["upstream"])?;
    }
    let text = name.text()?;
    let settings = scope.global.get_mut::<upstreams::Settings>();
    let group = settings.find(text).ok_or_else(|| {
        let error = name.error(format!("unknown upstream group `{text}`"));
        error.help("define it in `upstreams`, above")
    })?;
    let found = &mut settings.groups[group];
    if let Some(own) = found.upstreams.iter().find(|own| own.url.tls) {
        let error = name.error(format!("`{}`: FastCGI over TLS is not supported", own.url));
        return Err(error.help("write `http://`"));
    }
    if found.check.as_ref().is_some_and(|check| check.path.is_some()) {
        let error = name.error(format!("the health check of `{text}` requests a path over HTTP"));
        return Err(error.help("write `health-check: TCP`"));
    }
    found.used = true;
    Ok(group)
}

fn one(node: &Node) -> Result<Upstream, ConfigError> {
    let place = match &node.value {
        Value::Mapping(pairs) => {
            for (key, _) in pairs {
                key.one_of(&["host", "port", "type"])?;
            }
            let port = node.get("port").ok_or_else(|| node.error("`port` is missing"))?;
            let unix = node.get("type").map_or(Ok(0), |kind| kind.one_of(&["tcp", "unix"]))? == 1;
            match unix {
                true => socket(port)?,
                false => UrlLocation::Tcp(host(node)?, number(port)?),
            }
        }
        _ if node.text().is_ok_and(|text| text.starts_with('/')) => {
            let help = format!("write `{{port: {}, type: unix}}`", node.text()?);
            return Err(node.expected(WANTED).help(help));
        }
        _ => UrlLocation::Tcp("127.0.0.1".to_owned(), number(node)?),
    };
    let shown = shown(&place);
    upstreams::located(node, Upstream::new(url(place, shown), Vec::new()))
}

/// A placeholder URL, since an application has only a location.
fn url(place: UrlLocation, shown: String) -> Url {
    Url { place, tls: false, authority: String::new(), path: String::new(), shown }
}

/// How logs name it.
fn shown(place: &UrlLocation) -> String {
    match place {
        UrlLocation::Tcp(host, port) if host.contains(':') => format!("[{host}]:{port}"),
        UrlLocation::Tcp(host, port) => format!("{host}:{port}"),
        UrlLocation::Unix(path) => path.display().to_string(),
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

fn socket(node: &Node) -> Result<UrlLocation, ConfigError> {
    match node.text()? {
        path if path.starts_with('/') && !path.contains('\0') => Ok(UrlLocation::Unix(PathBuf::from(path))),
        path => Err(node.error(format!("`{path}` is not an absolute path of a unix socket"))),
    }
}
