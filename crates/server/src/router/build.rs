//! Building routes: the handlers, filters and logs of a path.

use super::Route;
use super::map::Scope;
use crate::config::feature_settings::FeatureSettings;
use crate::config::settings::{HostSettings, PathSettings, Settings};
use crate::environment::Environment;
use crate::feature::RouteContext;
use crate::features::FEATURES;
use crate::modules::access_log::{Logs, PathLogs};
use crate::modules::{access, early_hints, error_doc, error_log, headers, proxy, reproxy, upstreams};
use crate::phase::Phases;
use crate::subrequest::RemoteServers;
use crate::worker::WorkerContext;
use std::rc::Rc;

/// Builds routes of one worker.
pub(super) struct Builder<'a> {
    pub(super) settings: &'a Settings,
    pub(super) logs: &'a Logs,
    pub(super) worker: &'a WorkerContext,
}

impl Builder<'_> {
    /// The route whose settings stand there.
    ///
    /// # Errors
    /// One line for the user: what cannot be built, where it stands and why.
    pub(super) fn build(&self, scope: Scope) -> Result<Rc<Route>, String> {
        match scope {
            Scope::Path { host, path } => {
                let host = &self.settings.hosts[host];
                let path = &host.paths[path];
                let route = self.path(&self.context(Some(host), Some(path), &path.inherited), path);
                route.map_err(|error| format!("{}, path {}: {error}", host.name, path.key))
            }
            Scope::Host(host) => {
                let host = &self.settings.hosts[host];
                let route = self.route(&self.context(Some(host), None, &host.inherited));
                route.map(Rc::new).map_err(|error| format!("{}: {error}", host.name))
            }
            Scope::Nowhere => self.route(&self.context(None, None, &FeatureSettings::default())).map(Rc::new),
        }
    }

    fn context<'c>(
        &'c self,
        host: Option<&'c HostSettings>,
        path: Option<&'c PathSettings>,
        inherited: &'c FeatureSettings,
    ) -> RouteContext<'c> {
        RouteContext { host, path, ..RouteContext::new(FEATURES, self.settings, inherited, self.worker) }
    }

    fn path(&self, context: &RouteContext<'_>, path: &PathSettings) -> Result<Rc<Route>, String> {
        let handlers = path.handlers.iter().map(|handler| context.handler(handler));
        let handlers = handlers.collect::<Result<_, _>>()?;
        let reproxy = reproxy::Rules::build(context)?;
        Ok(Rc::new(Route { handlers, reproxy, ..self.route(context)? }))
    }

    /// A route without handlers.
    fn route(&self, context: &RouteContext<'_>) -> Result<Route, String> {
        let inherited = context.inherited;
        let env = Rc::new(Environment::new(inherited.get()));
        let preloads = inherited.get::<early_hints::Settings>().preload;
        Ok(Route {
            phases: Phases {
                early: context.steps(|feature| feature.early)?,
                limit: context.steps(|feature| feature.limit)?,
                access: context.steps(|feature| feature.access)?,
                satisfy: inherited.get::<access::Settings>().satisfy,
            },
            handlers: Vec::new(),
            reproxy: None,
            remote: remote(context),
            internal: inherited.get::<reproxy::Settings>().internal,
            filters: context.filters(),
            server_timing: *inherited.get(),
            error_pages: inherited.get::<error_doc::Settings>().clone(),
            early: headers::of_early_hints(inherited.get()),
            hints: headers::early(inherited.get(), preloads).map(Rc::new),
            logs: Rc::new(PathLogs::new(inherited.get(), self.logs, context.host_name(), &env)),
            env,
            reports_errors: inherited.get::<error_log::Settings>().emit_request_errors,
        })
    }
}

/// What sends requests to servers that are not this one, where something may lead to them.
fn remote(context: &RouteContext<'_>) -> Option<Box<dyn RemoteServers>> {
    let inherited = context.inherited;
    if !inherited.get::<reproxy::Settings>().follow && !inherited.get::<error_doc::Settings>().has_absolute()
    {
        return None;
    }
    Some(Box::new(proxy::Remote::new(context, own_upstreams(context))?))
}

/// The URLs of the upstreams to which a path forwards requests.
fn own_upstreams(context: &RouteContext<'_>) -> Vec<proxy::Url> {
    let handlers = context.path.iter().flat_map(|path| &path.handlers);
    let references = handlers.filter_map(|handler| handler.get::<upstreams::Reference>());
    let groups = &context.settings.global.get::<upstreams::Settings>().groups;
    references.flat_map(|reference| &groups[reference.group].upstreams).map(|own| own.url.clone()).collect()
}
