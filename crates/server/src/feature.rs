//! The contract of a feature: which directives it reads, and what it builds for a route, by the phase in which that acts.
//!
//! ```text
//! early ─▶ limit ─▶ access ─▶ content (handlers) ─▶ header filters ─▶ body filters
//! ```
//!
//! A feature is one constant, and one line in [`features`](crate::features): within a phase, the order of that list holds.
//! What a feature does not build costs a route nothing.

use crate::config::directive::Group;
use crate::config::feature_settings::FeatureSettings;
use crate::config::load::Complete;
use crate::config::settings::{HandlerSettings, HostSettings, PathSettings, Settings};
use crate::handler::{Filter, Handler};
use crate::phase::Step;
use crate::worker::WorkerContext;

/// Makes the handler of settings that belong to the feature; `None` if they belong to another feature. An error is one line
/// for the user.
pub type BuildHandler = fn(&HandlerSettings, &RouteContext<'_>) -> Option<Result<Box<dyn Handler>, String>>;

/// Makes the step of a phase before the handlers, if the settings of a route require one. An error is one line for the user.
pub type BuildStep = fn(&RouteContext<'_>) -> Option<Result<Box<dyn Step>, String>>;

/// Makes the filter of a route, if its settings require one.
pub type BuildFilter = fn(&RouteContext<'_>) -> Option<Box<dyn Filter>>;

/// A feature.
#[derive(Clone, Copy)]
pub struct Feature {
    /// Its directives.
    pub directives: &'static [Group],
    /// Directives that are accepted without effect; the manual lists them behind all others.
    pub ignored: &'static [Group],
    /// Called when all directives are read.
    pub complete: Option<Complete>,
    /// Early: corrects what is known of the client.
    pub early: Option<BuildStep>,
    /// Limit: refuses or delays what is more than a client may ask for.
    pub limit: Option<BuildStep>,
    /// Access: decides whether the client may have what it requests.
    pub access: Option<BuildStep>,
    /// Content: answers requests.
    pub handler: Option<BuildHandler>,
    /// Header filter: changes the head of a response.
    pub header_filter: Option<BuildFilter>,
    /// Body filter: changes the content of a response, or the pace at which it is sent.
    pub body_filter: Option<BuildFilter>,
}

impl Feature {
    /// A feature with these directives, which builds nothing.
    pub const fn new(directives: &'static [Group]) -> Self {
        Self {
            directives,
            ignored: &[],
            complete: None,
            early: None,
            limit: None,
            access: None,
            handler: None,
            header_filter: None,
            body_filter: None,
        }
    }
}

/// The place for which something is built.
#[derive(Clone, Copy)]
pub struct RouteContext<'a> {
    /// All features.
    pub features: &'static [Feature],
    /// The whole configuration.
    pub settings: &'a Settings,
    /// The host; `None` for requests that match no host.
    pub host: Option<&'a HostSettings>,
    /// The path; `None` for requests that match no path.
    pub path: Option<&'a PathSettings>,
    /// The settings that hold there.
    pub inherited: &'a FeatureSettings,
    /// In `file.custom-handler`, the settings of that level.
    pub extension: Option<&'a FeatureSettings>,
    /// The worker for which it is built.
    pub worker: &'a WorkerContext,
}

impl<'a> RouteContext<'a> {
    /// A place with these settings, of no host and no path.
    pub fn new(
        features: &'static [Feature],
        settings: &'a Settings,
        inherited: &'a FeatureSettings,
        worker: &'a WorkerContext,
    ) -> Self {
        Self { features, settings, host: None, path: None, inherited, extension: None, worker }
    }

    /// The host as written in the configuration; empty for requests that match no host.
    pub fn host_name(&self) -> &'a str {
        self.host.map_or("", |host| &host.name)
    }

    /// The settings of the innermost level.
    pub fn innermost(&self) -> &'a FeatureSettings {
        self.extension.unwrap_or(self.inherited)
    }

    /// The handler of these settings.
    ///
    /// # Errors
    /// One line for the user: what cannot be built and why.
    pub fn handler(&self, settings: &HandlerSettings) -> Result<Box<dyn Handler>, String> {
        let mut builders = self.features.iter().filter_map(|feature| feature.handler);
        let handler = builders.find_map(|build| build(settings, self));
        handler.unwrap_or_else(|| Err(format!("no feature handles {settings:?}")))
    }

    /// The steps of one phase of a route, in the order in which they are asked.
    ///
    /// # Errors
    /// One line for the user: what cannot be built and why.
    pub fn steps(
        &self,
        of_phase: impl Fn(&Feature) -> Option<BuildStep>,
    ) -> Result<Box<[Box<dyn Step>]>, String> {
        self.features.iter().filter_map(of_phase).filter_map(|build| build(self)).collect()
    }

    /// The filters of a route, in the order in which they are applied.
    pub fn filters(&self) -> Vec<Box<dyn Filter>> {
        let head = self.features.iter().filter_map(|feature| feature.header_filter);
        let body = self.features.iter().filter_map(|feature| feature.body_filter);
        head.chain(body).filter_map(|build| build(self)).collect()
    }
}
