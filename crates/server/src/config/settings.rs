//! The plain result of reading a configuration: no behaviour, no runtime objects.
//!
//! A feature adds its settings here with one line: global ones to [`GlobalSettings`], those that inner
//! levels inherit to [`Inherited`], a handler to [`HandlerSettings`].

use super::error::ConfigError;
use super::path_key::PathKey;
use super::yaml::{Node, Place};
use crate::modules::{
    access, access_log, auth, auth_request, compress, connect, early_hints, env, error_doc, error_log,
    expires, fastcgi, file, headers, http1, http2, identity, limits, listen, process, proxy, real_ip,
    redirect, reproxy, rewrite, server_timing, session_resumption, static_response, tcp, throttle, try_files,
    upstreams,
};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A whole configuration.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What exists once.
    pub global: GlobalSettings,
    /// The hosts in the order written.
    pub hosts: Vec<HostSettings>,
}

impl Settings {
    /// What holds at every host and path.
    pub fn places(&self) -> impl Iterator<Item = &Inherited> {
        let paths = self.hosts.iter().flat_map(|host| &host.paths).map(|path| &*path.inherited);
        self.hosts.iter().map(|host| &*host.inherited).chain(paths)
    }
}

/// Settings that exist once in a configuration.
#[derive(Clone, Debug, Default)]
pub struct GlobalSettings {
    /// Listeners of the top level (for every host).
    pub listen: Vec<listen::Listener>,
    /// User, threads, files of the process.
    pub process: process::Settings,
    /// `tcp-keepalive`, `tcp-user-timeout`, and those of upstreams.
    pub tcp: tcp::Settings,
    /// Connection and request limits.
    pub limits: limits::Settings,
    /// HTTP/1 timeouts and limits.
    pub http1: http1::Settings,
    /// HTTP/2 timeouts and limits.
    pub http2: http2::Settings,
    /// `ssl-session-resumption`
    pub session_resumption: session_resumption::Settings,
    /// `num-ocsp-updaters`
    pub ocsp_updaters: OcspUpdaters,
    /// `send-informational`
    pub informational: early_hints::Recipients,
    /// `proxy.emit-…`: what upstreams are told.
    pub proxy: proxy::Telling,
    /// `proxy.proxy-status.identity`
    pub proxy_status: connect::Identity,
    /// `upstreams`, `resolver`, and the upstreams of single paths.
    pub upstreams: upstreams::Settings,
    /// Bounds of the file cache.
    pub file_cache: file::CacheSettings,
    /// The `server` field.
    pub identity: identity::Settings,
    /// What the loader collects while it reads; empty afterwards.
    pub reading: Reading,
}

/// `num-ocsp-updaters`: how many OCSP responses are fetched at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OcspUpdaters(pub usize);

impl Default for OcspUpdaters {
    fn default() -> Self {
        Self(10)
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
    pub hosts: Vec<(Place, HostSettings)>,
    /// Their names in lower case, and the places of those.
    pub host_names: HashMap<String, Place>,
    /// The listeners so far.
    pub listeners: listen::Seen,
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
    /// Listeners of this host only.
    pub listen: Vec<listen::Listener>,
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

/// A handler of a path.
#[derive(Clone, Debug)]
pub enum HandlerSettings {
    /// `file.dir`
    FileDir(file::DirSettings),
    /// `file.file`
    FileFile(file::FileSettings),
    /// `redirect`
    Redirect(redirect::Settings),
    /// `rewrite`
    Rewrite(rewrite::Settings),
    /// `return`
    StaticResponse(static_response::Settings),
    /// `try-files`
    TryFiles(try_files::Settings),
    /// `fastcgi.connect`, `fastcgi.spawn`: the index of the application's group.
    FastCgi(usize),
    /// `proxy.reverse.url`
    Proxy(upstreams::Reference),
    /// `proxy.connect`
    Connect(connect::Rules),
}

/// The [`Inherited`] settings of one place, shared with the outer level until a directive of the place changes them: of ten
/// thousand hosts that set nothing themselves, none has a copy.
#[derive(Clone, Debug, Default)]
pub struct Inheritance(Arc<Inherited>);

impl From<Inherited> for Inheritance {
    fn from(inherited: Inherited) -> Self {
        Self(Arc::new(inherited))
    }
}

impl Deref for Inheritance {
    type Target = Inherited;

    fn deref(&self) -> &Inherited {
        &self.0
    }
}

impl DerefMut for Inheritance {
    fn deref_mut(&mut self) -> &mut Inherited {
        Arc::make_mut(&mut self.0)
    }
}

/// Settings that inner levels inherit from outer ones.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// `file.*`
    pub file: file::Settings,
    /// `proxy.*`
    pub proxy: proxy::Settings,
    /// `proxy.connect.*`
    pub connect: connect::Settings,
    /// `reproxy`, `internal`
    pub reproxy: reproxy::Settings,
    /// `fastcgi.*`
    pub fastcgi: fastcgi::Settings,
    /// `real-ip`
    pub real_ip: real_ip::Settings,
    /// `allow`, `deny`, `satisfy`
    pub access: access::Settings,
    /// `auth.basic`
    pub auth: auth::Settings,
    /// `auth.request`
    pub auth_request: auth_request::Settings,
    /// `header.*`
    pub headers: headers::Settings,
    /// `expires`
    pub expires: expires::Settings,
    /// `compress`, `compress-minimum-size`, `gzip`
    pub compress: compress::Settings,
    /// `throttle-response`
    pub throttle: throttle::Settings,
    /// `server-timing`
    pub server_timing: server_timing::Mode,
    /// `error-doc`
    pub error_doc: error_doc::Settings,
    /// `http2-push-preload`
    pub early_hints: early_hints::Settings,
    /// `setenv`, `unsetenv`
    pub env: env::Settings,
    /// `access-log`
    pub access_log: access_log::Settings,
    /// `error-log.emit-request-errors`
    pub error_log: error_log::Settings,
}
