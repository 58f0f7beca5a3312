//! Building routes: the handlers, filters and logs of a path.

use super::Route;
use super::map::Scope;
use crate::config::path_key::PathKey;
use crate::config::settings::{HandlerSettings, Inherited, PathSettings, Settings};
use crate::handler::{Filter, Handler};
use crate::modules::access_log::{Logs, PathLogs};
use crate::modules::env::{self, Environment};
use crate::modules::identity::SendServerName;
use crate::modules::{
    access, auth, auth_request, compress, connect, expires, fastcgi, file, headers, proxy, real_ip, redirect,
    reproxy, rewrite, static_response, throttle, try_files, upstreams,
};
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
    /// One line for the user: a handler cannot be made.
    pub(super) fn build(&self, scope: Scope) -> Result<Rc<Route>, String> {
        match scope {
            Scope::Path { host, path } => {
                let host = &self.settings.hosts[host];
                self.path(&host.name, &host.paths[path])
            }
            Scope::Host(host) => {
                let host = &self.settings.hosts[host];
                let remote = self.remote(&host.inherited, Vec::new());
                Ok(Rc::new(Route { remote, ..self.route(&host.name, &host.inherited) }))
            }
            Scope::Nowhere => Ok(Rc::new(self.route("", &Inherited::default()))),
        }
    }

    fn path(&self, host: &str, path: &PathSettings) -> Result<Rc<Route>, String> {
        // RFC 9110 §9.3.6: CONNECT names no path.
        let connects = path.handlers.iter().any(|handler| matches!(handler, HandlerSettings::Connect(_)));
        if connects && path.key != PathKey::default() {
            return Err(format!("{host}, path {}: proxy.connect is only allowed at the path `/`", path.key));
        }
        let handlers = path.handlers.iter().map(|handler| match handler {
            HandlerSettings::TryFiles(settings) => {
                try_files::build(settings, root_of(path), &path.inherited.file.index)
            }
            handler => self.handler(host, handler, path),
        });
        let handlers =
            handlers.collect::<Result<_, _>>().map_err(|e| format!("{host}, path {}: {e}", path.key))?;
        let reproxy = reproxy::Rules::build(&path.inherited, self.worker)?;
        let remote = self.remote(&path.inherited, self.upstreams(path).collect());
        let route = self.route(host, &path.inherited);
        Ok(Rc::new(Route { handlers, reproxy, remote, ..route }))
    }

    fn handler(
        &self,
        host: &str,
        handler: &HandlerSettings,
        path: &PathSettings,
    ) -> Result<Box<dyn Handler>, String> {
        let inherited = &path.inherited;
        match handler {
            HandlerSettings::FileDir(dir) => file::build_dir(dir, inherited, self.worker),
            HandlerSettings::FileFile(file) => file::build_file(file, inherited, self.worker),
            // Made by the path, which has the directory.
            HandlerSettings::TryFiles(settings) => try_files::build(settings, None, &[]),
            HandlerSettings::FastCgi(group) => Ok(self.fastcgi(*group, inherited)),
            HandlerSettings::Redirect(settings) => Ok(redirect::build(settings, host)),
            HandlerSettings::Rewrite(settings) => rewrite::build(settings),
            HandlerSettings::StaticResponse(settings) => Ok(static_response::build(settings)),
            HandlerSettings::Proxy(reverse) => Ok(self.proxy(reverse, path)),
            HandlerSettings::Connect(rules) => Ok(self.connect(rules, inherited)),
        }
    }

    fn connect(&self, rules: &connect::Rules, inherited: &Inherited) -> Box<dyn Handler> {
        let identity = &self.settings.global.proxy_status;
        connect::build(rules, &inherited.connect, &inherited.proxy, identity, self.worker)
    }

    fn proxy(&self, reverse: &upstreams::Reference, path: &PathSettings) -> Box<dyn Handler> {
        let PathSettings { key, inherited, .. } = path;
        proxy::build(reverse, key.prefix(), &inherited.proxy, self.everywhere(inherited), self.worker)
    }

    /// The URLs of a path's upstreams.
    fn upstreams<'p>(&'p self, path: &'p PathSettings) -> impl Iterator<Item = proxy::Url> + use<'p> {
        let groups = path.handlers.iter().filter_map(|handler| match handler {
            HandlerSettings::Proxy(reverse) => Some(&self.settings.global.upstreams.groups[reverse.group]),
            _ => None,
        });
        groups.flat_map(|group| &group.upstreams).map(|upstream| upstream.url.clone())
    }

    fn everywhere(&self, inherited: &Inherited) -> proxy::Everywhere {
        proxy::Everywhere {
            telling: self.settings.global.proxy,
            keep_server: self.settings.global.identity.send == SendServerName::Preserve,
            reports_errors: inherited.error_log.emit_request_errors,
        }
    }

    fn fastcgi(&self, group: usize, inherited: &Inherited) -> Box<dyn Handler> {
        let reports_errors = inherited.error_log.emit_request_errors;
        let env = env::Changes::default();
        Box::new(fastcgi::build(group, &inherited.fastcgi, env, reports_errors, self.worker))
    }

    /// What asks servers that are not this one, where something may lead to them; `own` are the path's upstreams.
    fn remote(&self, inherited: &Inherited, own: Vec<proxy::Url>) -> Option<Box<dyn RemoteServers>> {
        if !inherited.reproxy.follow && !inherited.error_doc.has_absolute() {
            return None;
        }
        let remote = proxy::Remote::new(&inherited.proxy, own, self.everywhere(inherited), self.worker)?;
        Some(Box::new(remote))
    }

    /// The steps of each phase, in the order that the manual gives.
    fn phases(&self, inherited: &Inherited) -> Phases {
        let early = [real_ip::build(&inherited.real_ip)];
        let access = [
            auth_request::build_guard(&inherited.auth_request),
            access::build(&inherited.access, self.worker),
            auth::build(&inherited.auth, self.worker),
            auth_request::build(&inherited.auth_request, self.authorizer(inherited)),
        ];
        Phases {
            early: early.into_iter().flatten().collect(),
            access: access.into_iter().flatten().collect(),
            satisfy: inherited.access.satisfy,
        }
    }

    /// What asks the upstream of `auth.request`, if it names one.
    fn authorizer(&self, inherited: &Inherited) -> Option<Rc<dyn Handler>> {
        let upstreams = inherited.auth_request.upstreams()?;
        let settings = inherited.proxy.keeping_locations();
        Some(Rc::from(proxy::build(upstreams, "", &settings, self.everywhere(inherited), self.worker)))
    }

    /// A route without handlers.
    fn route(&self, host: &str, inherited: &Inherited) -> Route {
        let env = Rc::new(Environment::new(&inherited.env));
        Route {
            phases: self.phases(inherited),
            handlers: Vec::new(),
            reproxy: None,
            remote: None,
            internal: inherited.reproxy.internal,
            filters: filters(inherited),
            server_timing: inherited.server_timing,
            error_pages: inherited.error_doc.clone(),
            early: headers::of_early_hints(&inherited.headers),
            hints: headers::early(&inherited.headers, inherited.early_hints.preload).map(Rc::new),
            logs: Rc::new(PathLogs::new(&inherited.access_log, self.logs, host, &env)),
            env,
            reports_errors: inherited.error_log.emit_request_errors,
        }
    }
}

/// In the order in which h2o registers them: commands on fields see what `expires` added, and what they add may say
/// whether the response is compressed, and how fast it is sent: that counts the bytes that are sent.
fn filters(inherited: &Inherited) -> Vec<Box<dyn Filter>> {
    let filters = [
        expires::build(&inherited.expires),
        headers::build(&inherited.headers),
        compress::build(&inherited.compress, || inherited.file.mime.compressibility()),
        throttle::build(&inherited.throttle),
    ];
    filters.into_iter().flatten().collect()
}

/// The directory of a path's first `file.dir`.
fn root_of(path: &PathSettings) -> Option<&std::path::Path> {
    path.handlers.iter().find_map(|handler| match handler {
        HandlerSettings::FileDir(dir) => Some(&*dir.path),
        _ => None,
    })
}
