//! Reads upstream groups: `upstreams`, and the same keys for the upstreams of a single path.

use super::check_settings;
use super::settings::{Group, Patience, Queueing, Retry, Upstream};
use super::{HashKey, Policy, names};
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::modules::proxy::{Url, UrlLocation};
use std::net::{IpAddr, SocketAddr};

/// Keys of a group.
const KEYS: &[&str] =
    &["backends", "balancer", "fail-timeout", "health-check", "max-failures", "queue", "retry", "slow-start"];

/// Keys of one upstream.
const OF_ONE: &[&str] = &["url", "weight", "backup", "down", "max-connections", "srv"];

/// `upstreams`: a mapping of names.
pub(super) fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    for (key, value) in node.mapping()? {
        let name = name(key)?;
        if let Some(at) = scope.global.get_mut::<super::Settings>().find(name) {
            let error = key.error(format!("upstream group `{name}` is defined twice"));
            return Err(
                error.also(scope.global.get_mut::<super::Settings>().groups[at].at, "first defined here")
            );
        }
        let group = group(value)?;
        for upstream in &group.upstreams {
            if !matches!(upstream.url.path.as_str(), "" | "/") {
                let error = value.error(format!("`{}` must not have a path here", upstream.url));
                let path = &upstream.url.path;
                return Err(
                    error.help(format!("put the path where the group is used: `http://{name}{path}`"))
                );
            }
        }
        let name = Some(name.to_owned());
        scope.global.get_mut::<super::Settings>().add(Group { name, at: key.at, used: false, ..group });
    }
    Ok(())
}

/// The characters are those of a host without a port, since the name takes its place in URLs.
fn name(key: &Node) -> Result<&str, ConfigError> {
    let name = key.text()?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match !name.is_empty() && name.bytes().all(fits) {
        true => Ok(name),
        false => Err(key.expected("a name of letters, digits, `-`, `_` and `.`")),
    }
}

/// `resolver`: addresses of name servers.
pub(super) fn set_resolver(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let wanted = "the address of a name server, such as `10.0.0.2` or `127.0.0.1:8600`";
    let server = |node: &Node| {
        let text = node.text().map_err(|_| node.expected(wanted))?;
        let with_port = text.parse::<SocketAddr>().ok();
        let address = with_port.or_else(|| Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, 53)));
        address.filter(|address| address.port() != 0).ok_or_else(|| node.expected(wanted))
    };
    scope.global.get_mut::<super::Settings>().resolver =
        node.one_or_many().into_iter().map(server).collect::<Result<_, _>>()?;
    Ok(())
}

/// A group: a mapping with `backends`, or a URL, or a sequence of upstreams.
pub(in crate::modules) fn group(node: &Node) -> Result<Group, ConfigError> {
    let is_whole = matches!(&node.value, Value::Mapping(_)) && node.get("url").is_none();
    if !is_whole {
        return Ok(Group::new(node.at, upstreams(node)?));
    }
    for (key, _) in node.mapping()? {
        key.one_of(KEYS)?;
    }
    let backends = node.get("backends").ok_or_else(|| node.error("`backends` is missing"))?;
    let mut group = Group::new(node.at, upstreams(backends)?);
    if let Some(node) = node.get("balancer") {
        (group.policy, group.key) = policy(node)?;
    }
    group.patience = patience(node)?;
    if let Some(node) = node.get("slow-start") {
        group.slow_start = node.milliseconds(0)?;
    }
    if let Some(node) = node.get("queue") {
        group.queue = queue(node)?;
    }
    if let Some(node) = node.get("retry") {
        group.retry = retry(node)?;
    }
    group.check = node.get("health-check").map(check_settings::read).transpose()?.flatten();
    Ok(group)
}

fn policy(node: &Node) -> Result<(Policy, HashKey), ConfigError> {
    if let Value::Mapping(pairs) = &node.value {
        let [(key, value)] = &pairs[..] else { return Err(node.expected("one balancer")) };
        key.one_of(&["hash"])?;
        return Ok((Policy::Hash, HashKey::read(value)?));
    }
    let policies = [Policy::RoundRobin, Policy::LeastConn, Policy::TwoChoices, Policy::Hash];
    let at = node.one_of(&["round-robin", "least-conn", "two-choices", "hash"])?;
    Ok((policies[at], HashKey::Client))
}

fn patience(node: &Node) -> Result<Patience, ConfigError> {
    let Patience { mut failures, mut longest } = Patience::default();
    if let Some(node) = node.get("max-failures") {
        failures = node.integer(0..=1000)? as u32;
    }
    if let Some(node) = node.get("fail-timeout") {
        longest = node.milliseconds(1)?;
    }
    Ok(Patience { failures, longest })
}

fn queue(node: &Node) -> Result<Queueing, ConfigError> {
    if node.is("OFF") {
        return Ok(Queueing { length: 0, ..Queueing::default() });
    }
    let mut queue = Queueing::default();
    for (key, value) in node.mapping().map_err(|_| node.expected("{length, timeout}, or OFF"))? {
        match key.one_of(&["length", "timeout"])? {
            0 => queue.length = value.integer(0..=1_000_000)? as usize,
            _ => queue.timeout = value.milliseconds(1)?,
        }
    }
    Ok(queue)
}

fn retry(node: &Node) -> Result<Retry, ConfigError> {
    let mut retry = Retry::default();
    for (key, value) in node.mapping().map_err(|_| node.expected("{tries, time}"))? {
        match key.one_of(&["tries", "time"])? {
            0 => retry.tries = value.integer(1..=100)? as usize,
            _ => retry.time = Some(value.milliseconds(1)?),
        }
    }
    Ok(retry)
}

fn upstreams(node: &Node) -> Result<Vec<Upstream>, ConfigError> {
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.error("at least one upstream URL is required"));
    }
    nodes.into_iter().map(upstream).collect()
}

fn upstream(node: &Node) -> Result<Upstream, ConfigError> {
    let Value::Mapping(pairs) = &node.value else {
        return located(node, Upstream::new(Url::read(node)?, Vec::new()));
    };
    for (key, _) in pairs {
        key.one_of(OF_ONE)?;
    }
    let url = node.get("url").ok_or_else(|| node.error("`url` is missing"))?;
    let mut upstream = Upstream::new(Url::read(url)?, Vec::new());
    if let Some(node) = node.get("weight") {
        upstream.weight = node.integer(1..=256)? as u32;
    }
    if let Some(node) = node.get("max-connections") {
        upstream.most = Some(node.integer(1..=1_000_000)? as u32);
    }
    upstream.backup = yes(node, "backup")?;
    upstream.down = yes(node, "down")?;
    upstream.srv = yes(node, "srv")?;
    if upstream.srv && upstream.url.has_port() {
        let error = url.error("with `srv: YES`, DNS supplies the ports");
        return Err(error.help("write the name of a service without a port: `http://_http._tcp.example.org`"));
    }
    located(url, upstream)
}

fn yes(node: &Node, key: &str) -> Result<bool, ConfigError> {
    // As in `redirect`; other directives take ON and OFF for the same.
    let read = |node: &Node| node.one_of(&["NO", "YES", "OFF", "ON"]).map(|at| at % 2 == 1);
    node.get(key).map_or(Ok(false), read)
}

/// Adds the addresses of an upstream given by address or unix socket; names are resolved once the whole configuration
/// has been read ([`look_up_names`](super::look_up_names)).
///
/// # Errors
/// The host is not a valid name.
pub(in crate::modules) fn located(node: &Node, upstream: Upstream) -> Result<Upstream, ConfigError> {
    let found = match &upstream.url.place {
        UrlLocation::Tcp(host, _) if names::may_change(&upstream) => {
            if !can_be_name(host) {
                let error = node.error(format!("`{host}` is not a valid host name"));
                return Err(error.help("a host name has at most 253 characters, and at most 63 per label"));
            }
            Vec::new()
        }
        place => upstream.endpoints_at(names::literal(place)),
    };
    Ok(Upstream { at: node.at, found, ..upstream })
}

/// RFC 1035 §2.3.4
fn can_be_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.len() <= 253 && host.split('.').all(|label| (1..=63).contains(&label.len()))
}
