//! Building the router: every host, every path, their handlers and filters.

use super::guard::Guard;
use super::host::{HostTable, Key, Ports, default_port};
use super::path::PathTable;
use super::{Host, Name, Route, Router};
use crate::config::settings::{HandlerSettings, HostSettings, Inherited, PathSettings, Settings};
use crate::handler::{Filter, Handler};
use crate::modules::access_log::{Logs, PathLogs};
use crate::modules::env::{self, Environment};
use crate::modules::identity::SendServerName;
use crate::modules::listen::Binding;
use crate::modules::{
    connect, error_doc, expires, fastcgi, file, headers, listen, proxy, redirect, reproxy, throttle,
    try_files,
};
use crate::worker::WorkerContext;
use std::rc::Rc;

/// Builds the router of one worker.
///
/// # Errors
/// One line for the user: a handler cannot be made, or a host's name is none.
pub fn build(settings: &Settings, logs: &Logs, worker: &WorkerContext) -> Result<Router, String> {
    let builder = Builder { settings, logs, worker };
    let hosts = settings.hosts.iter().map(|host| builder.host(host)).collect::<Result<_, _>>()?;
    let bindings = listen::bindings(settings);
    let listeners = bindings.iter().map(|binding| of_listener(settings, binding, &Ports::Any));
    Ok(Router {
        hosts,
        listeners: listeners.collect::<Result<_, _>>()?,
        guard: Guard::new(settings, &bindings),
        everywhere: [everywhere(settings, &bindings, false)?, everywhere(settings, &bindings, true)?],
        nowhere: builder.route("", &Inherited::default(), Vec::new(), None),
    })
}

/// The hosts that answer on a listener, where keys without a port stand for these.
pub(super) fn of_listener(
    settings: &Settings,
    binding: &Binding<'_>,
    portless: &Ports,
) -> Result<HostTable, String> {
    let keys = binding.hosts.iter().map(|host| key(settings, *host, portless.clone()));
    Ok(HostTable::new(binding.is_tls(), keys.collect::<Result<Vec<_>, _>>()?.into_iter()))
}

/// All hosts, for URLs of `https` or of `http`: keys without a port stand for the ports of their listeners.
fn everywhere(settings: &Settings, bindings: &[Binding<'_>], tls: bool) -> Result<HostTable, String> {
    let keys = (0..settings.hosts.len()).map(|host| {
        let own = bindings.iter().filter(|own| own.is_tls() == tls && own.hosts.contains(&host));
        let ports = own.filter_map(|own| own.listener.address.port()).chain([default_port(tls)]);
        key(settings, host, Ports::These(ports.collect()))
    });
    Ok(HostTable::new(tls, keys.collect::<Result<Vec<_>, _>>()?.into_iter()))
}

fn key(settings: &Settings, host: usize, portless: Ports) -> Result<Key<'_>, String> {
    let HostSettings { name: text, strict_match, .. } = &settings.hosts[host];
    let name = Name::of(text.as_bytes()).ok_or_else(|| format!("`{text}` is not a valid host name"))?;
    Ok(Key { host, name, strict: *strict_match, portless })
}

struct Builder<'a> {
    settings: &'a Settings,
    logs: &'a Logs,
    worker: &'a WorkerContext,
}

impl Builder<'_> {
    fn host(&self, settings: &HostSettings) -> Result<Host, String> {
        let path =
            |path: &PathSettings| Ok((path.prefix.as_bytes().into(), self.path(&settings.name, path)?));
        let paths = PathTable::new(settings.paths.iter().map(path).collect::<Result<_, String>>()?);
        let otherwise = self.route(&settings.name, &settings.inherited, Vec::new(), None);
        let pathless = Rc::clone(paths.find(b"/").map_or(&otherwise, |(route, _)| route));
        Ok(Host { paths, otherwise, pathless })
    }

    fn path(&self, host: &str, path: &PathSettings) -> Result<Rc<Route>, String> {
        // RFC 9110 §9.3.6: CONNECT names no path.
        let connects = path.handlers.iter().any(|handler| matches!(handler, HandlerSettings::Connect(_)));
        if connects && path.prefix != "/" {
            return Err(format!(
                "{host}, path {}: proxy.connect is only allowed at the path `/`",
                path.prefix
            ));
        }
        let handlers = path.handlers.iter().map(|handler| match handler {
            HandlerSettings::TryFiles(settings) => {
                try_files::build(settings, root_of(path), &path.inherited.file.index)
            }
            handler => self.handler(host, handler, path),
        });
        let handlers =
            handlers.collect::<Result<_, _>>().map_err(|e| format!("{host}, path {}: {e}", path.prefix))?;
        let (everywhere, upstreams) = (self.everywhere(&path.inherited), self.upstreams(path));
        let reproxy = reproxy::Rules::build(&path.inherited, upstreams, everywhere, self.worker)?;
        Ok(self.route(host, &path.inherited, handlers, reproxy))
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
            HandlerSettings::Proxy(reverse) => Ok(self.proxy(reverse, path)),
            HandlerSettings::Connect(rules) => Ok(self.connect(rules, inherited)),
        }
    }

    fn connect(&self, rules: &connect::Rules, inherited: &Inherited) -> Box<dyn Handler> {
        let identity = &self.settings.global.proxy_status;
        connect::build(rules, &inherited.connect, &inherited.proxy, identity, self.worker)
    }

    fn proxy(&self, reverse: &proxy::ReverseSettings, path: &PathSettings) -> Box<dyn Handler> {
        let PathSettings { prefix, inherited, .. } = path;
        proxy::build(reverse, prefix, &inherited.proxy, self.everywhere(inherited), self.worker)
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

    fn route(
        &self,
        host: &str,
        inherited: &Inherited,
        handlers: Vec<Box<dyn Handler>>,
        reproxy: Option<reproxy::Rules>,
    ) -> Rc<Route> {
        let env = Rc::new(Environment::new(&inherited.env));
        Rc::new(Route {
            handlers,
            reproxy,
            internal: inherited.reproxy.internal,
            filters: filters(inherited),
            server_timing: inherited.server_timing,
            error_pages: error_doc::Pages::new(inherited, self.everywhere(inherited), self.worker),
            early: headers::of_early_hints(&inherited.headers),
            hints: headers::early(&inherited.headers, inherited.early_hints.preload).map(Rc::new),
            logs: Rc::new(PathLogs::new(&inherited.access_log, self.logs, host, &env)),
            env,
            reports_errors: inherited.error_log.emit_request_errors,
        })
    }
}

/// In the order in which h2o registers them: commands on fields see what `expires` added, and what they add may say how
/// fast the response is sent.
fn filters(inherited: &Inherited) -> Vec<Box<dyn Filter>> {
    let filters = [
        expires::build(&inherited.expires),
        headers::build(&inherited.headers),
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
