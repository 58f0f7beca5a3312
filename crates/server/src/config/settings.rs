//! The plain result of reading a configuration: no behaviour, no runtime objects.
//!
//! What belongs to a feature is a value of the feature's own type, in the [`FeatureSettings`] of the level to which it
//! belongs: global, host, or what inner levels inherit.

use super::error::ConfigError;
use super::feature_settings::FeatureSettings;
use super::path_key::PathKey;
use super::yaml::{Node, Position};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

/// A whole configuration.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Settings that exist once.
    pub global: GlobalSettings,
    /// The hosts in the order written.
    pub hosts: Vec<HostSettings>,
}

impl Settings {
    /// Whether requests make the server connect to other servers anywhere.
    pub fn connect(&self) -> bool {
        let mut handlers = self.hosts.iter().flat_map(|host| &host.paths).flat_map(|path| &path.handlers);
        handlers.any(|handler| handler.connects()) || self.places().any(FeatureSettings::connect)
    }

    /// What holds at every host and path.
    pub fn places(&self) -> impl Iterator<Item = &FeatureSettings> {
        let paths = self.hosts.iter().flat_map(|host| &host.paths).map(|path| &*path.inherited);
        self.hosts.iter().map(|host| &*host.inherited).chain(paths)
    }
}

/// Settings that exist once in a configuration.
#[derive(Clone, Debug, Default)]
pub struct GlobalSettings {
    /// Those of features.
    pub features: FeatureSettings,
    /// What the loader collects while it reads; empty afterwards.
    pub reading: Reading,
}

impl Deref for GlobalSettings {
    type Target = FeatureSettings;

    fn deref(&self) -> &FeatureSettings {
        &self.features
    }
}

impl DerefMut for GlobalSettings {
    fn deref_mut(&mut self) -> &mut FeatureSettings {
        &mut self.features
    }
}

/// What comes up while a configuration is read and belongs to no level of it.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What is wrong.
    pub errors: Vec<ConfigError>,
    /// What the user should know.
    pub warnings: Vec<ConfigError>,
    /// The hosts so far, with the places of their names.
    pub hosts: Vec<(Position, HostSettings)>,
    /// The places of the names of all hosts, when all are read.
    pub host_places: Vec<Position>,
    /// Their names in lower case, and the places of those.
    pub host_names: HashMap<String, Position>,
    /// What features collect until the whole configuration is read.
    pub features: FeatureSettings,
    /// The directives so far, for `effective`.
    pub written: Vec<Written>,
}

/// A directive as it was written and applied.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its name.
    pub name: &'static str,
    /// Its argument.
    pub value: Node,
    /// The host in which it stands.
    pub host: Option<usize>,
    /// The path of that host in which it stands.
    pub path: Option<usize>,
}

/// One entry of `hosts:`.
#[derive(Clone, Debug, Default)]
pub struct HostSettings {
    /// The key as written: `example.org`, `*.example.org:8080`, `*`, `default`.
    pub name: String,
    /// Not used as the fallback for unknown names.
    pub strict_match: bool,
    /// Settings of features that hold for the host as a whole.
    pub features: FeatureSettings,
    /// Paths in the order written.
    pub paths: Vec<PathSettings>,
    /// What holds for the host where no path says otherwise.
    pub inherited: Inheritance,
}

/// One entry of `paths:`.
#[derive(Clone, Debug, Default)]
pub struct PathSettings {
    /// Which paths it means.
    pub key: PathKey,
    /// Handlers in the order written.
    pub handlers: Vec<HandlerSettings>,
    /// What holds at this path, all outer levels included.
    pub inherited: Inheritance,
}

/// What a feature reads for a handler.
pub trait HandlerSetting: Any + fmt::Debug + Send + Sync {
    /// The upstream group to which the handler forwards requests: its index.
    fn upstream_group(&self) -> Option<usize> {
        None
    }

    /// Whether requests make the server connect to other servers.
    fn connects(&self) -> bool {
        self.upstream_group().is_some()
    }

    /// The directory whose files the handler serves.
    fn directory(&self) -> Option<&Path> {
        None
    }
}

/// The settings of a handler of a path, of whatever feature.
#[derive(Clone, Debug)]
pub struct HandlerSettings(Arc<dyn HandlerSetting>);

impl HandlerSettings {
    /// These settings.
    pub fn new(settings: impl HandlerSetting) -> Self {
        Self(Arc::new(settings))
    }

    /// The settings, if they are of that type.
    pub fn get<T: HandlerSetting>(&self) -> Option<&T> {
        let settings: &dyn Any = &*self.0;
        settings.downcast_ref()
    }
}

impl Deref for HandlerSettings {
    type Target = dyn HandlerSetting;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// The settings of one place that inner levels inherit, shared with the outer level until a directive of the place changes
/// them: of ten thousand hosts that set nothing themselves, none has a copy.
#[derive(Clone, Debug, Default)]
pub struct Inheritance(Arc<FeatureSettings>);

impl From<FeatureSettings> for Inheritance {
    fn from(inherited: FeatureSettings) -> Self {
        Self(Arc::new(inherited))
    }
}

impl Deref for Inheritance {
    type Target = FeatureSettings;

    fn deref(&self) -> &FeatureSettings {
        &self.0
    }
}

impl DerefMut for Inheritance {
    fn deref_mut(&mut self) -> &mut FeatureSettings {
        Arc::make_mut(&mut self.0)
    }
}
