//! The result of reading a configuration: plain data without behaviour or runtime objects.
//!
//! The settings of a feature are a value of the feature's own type, in the [`FeatureSettings`] of their level: global,
//! host, or inherited by inner levels.

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
    /// Global settings.
    pub global: GlobalSettings,
    /// The hosts in the order written.
    pub hosts: Vec<HostSettings>,
}

impl Settings {
    /// Whether any requests make the server connect to other servers.
    pub fn connect(&self) -> bool {
        let mut handlers = self.hosts.iter().flat_map(|host| &host.paths).flat_map(|path| &path.handlers);
        handlers.any(|handler| handler.connects()) || self.places().any(FeatureSettings::connect)
    }

    /// The settings of every host and path.
    pub fn places(&self) -> impl Iterator<Item = &FeatureSettings> {
        let paths = self.hosts.iter().flat_map(|host| &host.paths).map(|path| &*path.inherited);
        self.hosts.iter().map(|host| &*host.inherited).chain(paths)
    }
}

/// The global settings of a configuration.
#[derive(Clone, Debug, Default)]
pub struct GlobalSettings {
    /// The settings of features.
    pub features: FeatureSettings,
    /// The loader's intermediate results; empty afterwards.
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

/// Intermediate results while a configuration is read, which belong to no level.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Errors.
    pub errors: Vec<ConfigError>,
    /// Warnings.
    pub warnings: Vec<ConfigError>,
    /// The hosts so far, with the positions of their names.
    pub hosts: Vec<(Position, HostSettings)>,
    /// The positions of the names of all hosts, once all have been read.
    pub host_places: Vec<Position>,
    /// Their names in lower case, with positions.
    pub host_names: HashMap<String, Position>,
    /// Intermediate results of features.
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
    /// The index of its host, if it is in one.
    pub host: Option<usize>,
    /// The index of its path in that host, if it is in one.
    pub path: Option<usize>,
}

/// One entry of `hosts:`.
#[derive(Clone, Debug, Default)]
pub struct HostSettings {
    /// The key as written: `example.org`, `*.example.org:8080`, `*`, `default`.
    pub name: String,
    /// Whether it must not be the fallback for unknown names.
    pub strict_match: bool,
    /// Settings of features that apply to the host as a whole.
    pub features: FeatureSettings,
    /// Paths in the order written.
    pub paths: Vec<PathSettings>,
    /// Settings of the host, which paths inherit.
    pub inherited: Inheritance,
}

/// One entry of `paths:`.
#[derive(Clone, Debug, Default)]
pub struct PathSettings {
    /// Which paths it matches.
    pub key: PathKey,
    /// Handlers in the order written.
    pub handlers: Vec<HandlerSettings>,
    /// Settings of this path, including those of outer levels.
    pub inherited: Inheritance,
}

/// The settings of a feature's handler.
pub trait HandlerSetting: Any + fmt::Debug + Send + Sync {
    /// The index of the upstream group that the handler forwards requests to.
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

/// The settings of a handler of a path, of any feature.
#[derive(Clone, Debug)]
pub struct HandlerSettings(Arc<dyn HandlerSetting>);

impl HandlerSettings {
    /// Wraps the settings of a handler.
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

/// The settings at one level that inner levels inherit, shared with the outer level until a directive of this level
/// changes them: of ten thousand hosts that set nothing themselves, none has a copy.
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
