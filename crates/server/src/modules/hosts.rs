//! `hosts`, `paths`: the sites and their parts.
//!
//! They are read after everything else at their level, so that inner levels see all settings of the outer ones,
//! including those written further down. The router uses the keys as written here.

use crate::config::directive::{Directive, Level, Levels, Registry, Scope, group};
use crate::config::error::ConfigError;
use crate::config::load;
use crate::config::path_key::PathKey;
use crate::config::settings::{HostSettings, PathSettings, Reading, Settings};
use crate::config::yaml::{Node, Position, Value};
use crate::feature::Feature;
use std::collections::HashSet;

/// This feature.
pub const FEATURE: Feature =
    Feature { complete: Some(complete), ..Feature::new(&[group("Sites", DIRECTIVES)]) };

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "hosts",
        levels: Levels::GLOBAL,
        argument: "a mapping from names to settings",
        default: "",
        help: "The sites. A name is `host`, `host:port`, `*.suffix` or `*`; without a port it matches every \
               port for which no host with the same name and that port exists. Exact names take precedence over \
               wildcards; requests that match no name go to the first host without `strict-match`.",
        set: |scope, node| {
            let wanted = "a mapping from host names to their settings";
            let pairs = node.mapping().map_err(|_| node.expected(wanted))?;
            if pairs.is_empty() {
                return Err(node.error("`hosts` is empty").help("name at least one host, such as `default`"));
            }
            for (key, value) in pairs {
                if let Err(error) = host(scope, key, value) {
                    scope.global.reading.errors.push(error);
                }
            }
            Ok(())
        },
    },
    Directive {
        name: "strict-match",
        levels: Levels::HOST,
        argument: "ON | OFF",
        default: "OFF",
        help: "With ON, this host never serves requests whose host name matches no host.",
        set: |scope, node| {
            let on = node.on_off()?;
            if let Some(host) = &mut scope.host {
                host.strict_match = on;
            }
            Ok(())
        },
    },
    Directive {
        name: "paths",
        levels: Levels::HOST,
        argument: "a mapping from paths to settings",
        default: "",
        help: "The paths of a site. `/a` matches `/a` and everything below it, `= /a` matches `/a` only, and \
               `~ PATTERN` matches the paths that the regular expression matches. An exact path takes \
               precedence, then the first regular expression that matches, in the order written, then the \
               longest prefix. A path is a mapping or a sequence of mappings. Its handlers run in the order in \
               which they are written: a handler that declines a request passes it to the next.",
        set: |scope, node| {
            let wanted = "a mapping from paths to their settings";
            let (pairs, errors) =
                indented(scope.registry, node.mapping().map_err(|_| node.expected(wanted))?);
            scope.global.reading.errors.extend(errors);
            let known = scope.host.iter().flat_map(|host| &host.paths).map(|path| path.key.clone());
            let mut known: HashSet<_> = known.collect();
            for (key, value) in pairs {
                if let Err(error) = path(scope, &mut known, key, value) {
                    scope.global.reading.errors.push(error);
                }
            }
            Ok(())
        },
    },
];

/// A configuration without hosts serves nothing, which is an error.
fn complete(settings: &mut Settings, reading: &mut Reading, root: &Node) {
    if settings.hosts.is_empty() {
        let top = Position { end: root.at.start, ..root.at };
        let error = ConfigError::new(top, "the configuration has no `hosts`");
        let help = "define what to serve: `hosts: { default: { paths: { /: { file.dir: /srv/www } } } }`";
        reading.errors.push(error.help(help));
    }
}

fn host(scope: &mut Scope<'_>, key: &Node, value: &Node) -> Result<(), ConfigError> {
    let name = check_name(key)?;
    let folded = name.to_ascii_lowercase();
    if let Some(place) = scope.global.reading.host_names.get(&folded) {
        let error = key.error(format!("the host `{name}` is defined twice"));
        return Err(error.also(*place, "first defined here"));
    }
    value.mapping().map_err(|_| value.expected("the settings of a host, a mapping"))?;
    scope.global.reading.host_names.insert(folded, key.at);
    let mut host = HostSettings { name: name.to_owned(), ..HostSettings::default() };
    let mut inherited = scope.inherited.clone();
    load::apply(
        &mut Scope {
            registry: scope.registry,
            level: Level::Host,
            global: scope.global,
            host: Some(&mut host),
            path: None,
            inherited: &mut inherited,
            handlers: None,
        },
        value,
        &[],
    );
    host.inherited = inherited;
    scope.global.reading.hosts.push((key.at, host));
    if value.get("paths").is_none() {
        let error = key.error(format!("the host `{name}` has no `paths`"));
        return Err(error.help("define what it serves: `paths: { /: { file.dir: /srv/www } }`"));
    }
    Ok(())
}

/// The error for a URL in place of a host name.
fn with_scheme(key: &Node, scheme: &str, rest: &str) -> ConfigError {
    let error = key.error(format!("expected a host name, found the URL `{}://{rest}`", scheme));
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let below = if path.len() > 1 { format!(", and `{path}` below its `paths`") } else { String::new() };
    let tls = match scheme {
        "https" => "; `ssl` in a `listen` enables https",
        _ => "",
    };
    error.help(format!("write `{authority}`{below}{tls}"))
}

/// Checks the name of a host.
fn check_name(key: &Node) -> Result<&str, ConfigError> {
    let wanted = || key.expected("a host name: `host`, `host:port`, `*.suffix`, `*` or `default`");
    let text = key.text().map_err(|_| wanted())?;
    if let Some((scheme, rest)) = text.split_once("://") {
        return Err(with_scheme(key, scheme, rest));
    }
    let (host, port) = split_port(text).ok_or_else(|| match text.parse::<std::net::Ipv6Addr>() {
        Ok(_) => wanted().help(format!("an IPv6 address needs brackets: \"[{text}]\"")),
        Err(_) => wanted(),
    })?;
    if port.is_some_and(|port| Node::scalar(port).integer(1..=65535).is_err()) {
        return Err(
            key.error(format!("expected a port from 1 to 65535, found `{}`", port.unwrap_or_default()))
        );
    }
    let bare = host.strip_prefix("*.").unwrap_or(if host == "*" { "any" } else { host });
    if bare.contains('*') {
        let error = key.error(format!("misplaced wildcard in `{text}`"));
        return Err(error.help("`*` is allowed alone or as the first label of a name: `*.example.org`"));
    }
    let literal = bare.starts_with('[') && bare.ends_with(']');
    let bytes = if literal { &bare[1..bare.len() - 1] } else { bare };
    // RFC 3986 §3.2.2, without percent-encoding, which clients do not send in Host.
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (literal && byte == b':');
    if bytes.is_empty() || !bytes.bytes().all(fits) { Err(wanted()) } else { Ok(text) }
}

/// Splits `host` or `host:port`; the colons of an IPv6 address are within brackets.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let behind = text.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some((host, port)) = text[behind..].split_once(':') else {
        return (behind == 0 || behind == text.len()).then_some((text, None));
    };
    let whole = (behind == 0 || host.is_empty()) && !port.contains(':');
    whole.then_some((&text[..behind + host.len()], Some(port)))
}

/// The paths, except those whose settings are not indented below them; for each of these an error.
fn indented<'a>(registry: &Registry, pairs: &'a [(Node, Node)]) -> (Vec<&'a (Node, Node)>, Vec<ConfigError>) {
    let is_directive = |key: &Node| key.text().is_ok_and(|name| registry.find(name).is_some());
    let (mut paths, mut errors, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(pair @ (key, value)) = pairs.get(at) {
        at += 1;
        let strays = pairs[at..].iter().take_while(|(key, _)| is_directive(key)).count();
        match (key.text(), pairs[at..].first()) {
            (Ok(path), Some((stray, _)))
                if value.is("") && path.starts_with(['/', '=', '~']) && strays > 0 =>
            {
                let name = stray.text().unwrap_or_default();
                let error = stray.error(format!("`{name}` belongs to the path `{path}`"));
                errors.push(error.help(format!("indent it further than `{path}:`")));
                at += strays;
            }
            _ => paths.push(pair),
        }
    }
    (paths, errors)
}

/// Reads a path. `known` are the host's keys so far.
fn path(
    scope: &mut Scope<'_>,
    known: &mut HashSet<PathKey>,
    node: &Node,
    value: &Node,
) -> Result<(), ConfigError> {
    let key = PathKey::read(node)?;
    let Some(host) = &mut scope.host else { return Ok(()) };
    if !known.insert(key.clone()) {
        let error = node.error(format!("the path `{key}` is defined twice"));
        return Err(
            error.help("a path may have several handlers: list them one below the other, or as a sequence")
        );
    }
    let mut path =
        PathSettings { key: key.clone(), inherited: scope.inherited.clone(), ..Default::default() };
    let joined = joined(value)?;
    load::apply(
        &mut Scope {
            registry: scope.registry,
            level: Level::Path,
            global: scope.global,
            host: Some(host),
            path: Some(&key),
            inherited: &mut path.inherited,
            handlers: Some(&mut path.handlers),
        },
        &joined,
        &[],
    );
    host.paths.push(path);
    Ok(())
}

/// The settings of a path as one mapping: a sequence of mappings is merged into one, possibly with repeated keys.
fn joined(value: &Node) -> Result<Node, ConfigError> {
    let wanted = |node: &Node| node.expected("the settings of a path, a mapping or a sequence of mappings");
    let mut pairs = Vec::new();
    match &value.value {
        Value::Mapping(_) => return Ok(value.clone()),
        Value::Sequence(nodes) => {
            for node in nodes {
                pairs.extend_from_slice(node.mapping().map_err(|_| wanted(node))?);
            }
        }
        Value::Scalar(text) => {
            let error = wanted(value);
            return Err(match text.as_str() {
                "" => error.help("define what it serves, such as `file.dir: /srv/www`, on indented lines"),
                url if url.contains("://") => error.help(format!("did you mean `proxy.reverse.url: {url}`?")),
                path if path.contains('/') => error.help(format!("did you mean `file.dir: {path}`?")),
                _ => error,
            });
        }
    }
    Ok(Node { at: value.at, value: Value::Mapping(pairs) })
}
