//! `limit.requests`, `limit.connections`: how many requests a client may make, or anything else that requests are counted by.
//!
//! ```text
//! written ─▶ limit ─ bound: rate (GCRA) or number; key; exempt
//!              └ account, kept over reloads ─ table: shards of keys
//! request ─ step: each limit of its route, unless it has counted it ─▶ goes on, waits, or is rejected (reply)
//! ```

mod account;
mod bound;
mod exempt;
mod key;
mod limit;
mod rate;
mod reply;
mod step;
mod table;
mod written;

pub use written::{CONNECTIONS, REQUESTS, Written};

use crate::config::directive::{Directive, Level, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings as config;
use crate::config::yaml::{Node, Position};
use crate::feature::Feature;
use limit::{Limit, Name};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use written::Kind;

/// What holds at one place of the configuration: the limits of both directives.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    requests: List,
    connections: List,
}

/// The limits of a directive.
#[derive(Clone, Debug, Default)]
struct List {
    /// Where they are written: an inner level begins a list of its own.
    level: Option<Level>,
    limits: Arc<[Arc<Limit>]>,
}

impl FeatureSetting for Settings {}

impl Settings {
    fn all(&self) -> impl Iterator<Item = &Arc<Limit>> {
        self.requests.limits.iter().chain(&*self.connections.limits)
    }

    fn list(&mut self, kind: Kind) -> &mut List {
        match kind {
            Kind::Requests => &mut self.requests,
            Kind::Connections => &mut self.connections,
        }
    }
}

/// The limits with names, while a configuration is read.
#[derive(Clone, Debug, Default)]
struct NamedLimits(Vec<(Position, Arc<Limit>)>);

impl FeatureSetting for NamedLimits {}

/// This feature.
pub const FEATURE: Feature = Feature {
    limit: Some(|route| step::build(route.inherited.get(), route).map(Ok)),
    ..Feature::new(&[group("Rate limits", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "limit.requests",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "a mapping, a sequence of mappings | OFF",
        default: "OFF",
        help: "Rejects requests above a rate, counted by client address or another key. All limits of a sequence \
               apply; an inner level replaces those of the outer one, and OFF removes them. Checked before \
               `allow`, `deny` and passwords.",
        set: |scope, node| add(scope, node, Kind::Requests),
    },
    Directive {
        name: "limit.connections",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "a mapping, a sequence of mappings | OFF",
        default: "OFF",
        help: "Rejects requests while so many others with the same key are being served: over HTTP/2 each request \
               of a connection counts, an idle connection does not. All limits of a sequence apply; an inner \
               level replaces those of the outer one, and OFF removes them.",
        set: |scope, node| add(scope, node, Kind::Connections),
    },
];

/// Adds limits to those that the same level has. OFF removes all.
fn add(scope: &mut Scope<'_>, node: &Node, kind: Kind) -> Result<(), ConfigError> {
    let level = scope.level;
    let own = scope.inherited.get_mut::<Settings>().list(kind);
    let is_off = node.is("OFF") || node.is("off");
    if is_off || own.level != Some(level) {
        *own = List { level: Some(level), limits: Arc::default() };
    }
    if !is_off {
        let before = Arc::clone(&own.limits);
        let limits = read(scope, node, kind, before.len())?;
        let all = before.iter().cloned().chain(limits).collect();
        scope.inherited.get_mut::<Settings>().list(kind).limits = all;
    }
    Ok(())
}

/// Reads limits that are written behind `before` others.
fn read(
    scope: &mut Scope<'_>,
    node: &Node,
    kind: Kind,
    before: usize,
) -> Result<Vec<Arc<Limit>>, ConfigError> {
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        let error = node.error("the sequence is empty");
        return Err(
            error.help(format!("write `{}: OFF` to remove the limits of an outer level", kind.directive()))
        );
    }
    let limits = (before..).zip(nodes);
    limits.map(|(index, node)| one(scope, node, kind, &place(scope, index))).collect()
}

/// Where a limit is written.
fn place(scope: &Scope<'_>, index: usize) -> String {
    let host = scope.host.as_ref().map_or("", |host| &host.name);
    let level = match (scope.level, scope.path) {
        (Level::Global, _) => "of the server".to_owned(),
        (Level::Host, _) | (_, None) => format!("of host {host}"),
        (_, Some(path)) => format!("of path {path} of host {host}"),
    };
    if index == 0 { level } else { format!("{level}, entry {}", index + 1) }
}

/// Reads a limit. The places that name the same one share it.
fn one(scope: &mut Scope<'_>, node: &Node, kind: Kind, place: &str) -> Result<Arc<Limit>, ConfigError> {
    let limit = Arc::new(written::read(scope, node, kind, place)?);
    let Name::Given(name) = &limit.name else { return Ok(limit) };
    let known = &mut scope.global.reading.features.get_mut::<NamedLimits>().0;
    match known.iter().find(|(_, own)| own.id() == limit.id()) {
        None => known.push((node.at, Arc::clone(&limit))),
        Some((_, own)) if own.is_like(&limit) => return Ok(Arc::clone(own)),
        Some((first, _)) => {
            let error =
                node.error(format!("the limit `{name}` is defined twice, with different keys or values"));
            return Err(error
                .also(*first, "first defined here")
                .help("write the same, or choose another name"));
        }
    }
    Ok(limit)
}

fn limits(settings: &config::Settings) -> impl Iterator<Item = &Arc<Limit>> {
    settings.places().flat_map(|inherited| inherited.get::<Settings>().all())
}

/// After a reload: limits that count the same as before go on with what they have counted.
pub fn take_over(settings: &config::Settings, before: &config::Settings) {
    let before: HashMap<_, _> = limits(before).map(|limit| (limit.id(), limit)).collect();
    for limit in limits(settings) {
        if let Some(old) = before.get(&limit.id()) {
            limit.take_over(old);
        }
    }
}

/// The files of all limits: the server's user has to read them again.
pub fn files(settings: &config::Settings) -> impl Iterator<Item = &Path> {
    limits(settings).flat_map(|limit| &limit.exempt.files).map(|file| file.path())
}

#[cfg(test)]
mod tests;
