//! `reproxy`: upstream responses that delegate to another resource by `x-reproxy-url` as in h2o, `x-accel-redirect` as
//! in nginx, `x-sendfile` as in Apache and lighttpd.
//!
//! This module parses such fields; the service follows them (`service/dispatch`), whichever handler has responded.
//! Requests of clients are never searched for them.

mod instruction;

pub use instruction::{Instruction, Kept};

use crate::config::directive::{Directive, Levels, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::Node;
use crate::feature::{Feature, RouteContext};
use crate::handler::Handler;
use crate::modules::file;
use hayami_http::ResponseHead;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, PathBuf};

/// Settings at one level of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `reproxy`
    pub follow: bool,
    /// `reproxy.sendfile`: the directory to which files are restricted.
    pub files: Option<PathBuf>,
    /// `internal`: the path is unavailable to clients.
    pub internal: bool,
}

impl FeatureSetting for Settings {}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Delegated responses", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "reproxy",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF",
        default: "OFF",
        help: "Whether an upstream response with `x-reproxy-url` (an `http` URL, or a path of this server) \
               or `x-accel-redirect` (a path of this server) is replaced by the response of that URL or \
               path, requested with GET, or HEAD for a HEAD request. With `x-accel-redirect`, \
               `content-type`, `content-disposition`, `cache-control`, `expires` and `set-cookie` are kept. \
               Enable it only for trusted upstreams.",
        set: |scope, node| node.on_off().map(|on| scope.inherited.get_mut::<Settings>().follow = on),
    },
    Directive {
        name: "reproxy.sendfile",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "a directory, or OFF",
        default: "OFF",
        help: "Whether an upstream response with `x-sendfile` is replaced by the file that it names: the \
               absolute path of a file below the directory. The same fields are kept as with \
               `x-accel-redirect`.",
        set: |scope, node| directory(node).map(|files| scope.inherited.get_mut::<Settings>().files = files),
    },
    Directive {
        name: "internal",
        levels: Levels::PATH,
        argument: "ON | OFF",
        default: "OFF",
        help: "Whether requests of clients for this path get 404: the path is available to \
               `x-accel-redirect`, `x-reproxy-url`, `redirect` with `internal: YES`, `rewrite`, `try-files`, \
               `error-doc` and `auth.request` only.",
        set: |scope, node| node.on_off().map(|on| scope.inherited.get_mut::<Settings>().internal = on),
    },
];

fn directory(node: &Node) -> Result<Option<PathBuf>, ConfigError> {
    let wanted = || node.expected("the absolute path of a directory, or OFF");
    let text = node.text().map_err(|_| wanted())?;
    if text.eq_ignore_ascii_case("OFF") {
        return Ok(None);
    }
    let path = PathBuf::from(text);
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if path.is_absolute() && plain && !text.contains('\0') { Ok(Some(path)) } else { Err(wanted()) }
}

/// Which fields are followed at a path, and how.
pub struct Rules {
    follow: bool,
    /// The directory without a trailing slash, and the handler that serves files below it.
    files: Option<(Vec<u8>, Box<dyn Handler>)>,
}

impl Rules {
    /// The rules of a path; `None` if nothing is followed there.
    ///
    /// # Errors
    /// The directory cannot be served on this system; a message for the user.
    pub fn build(route: &RouteContext<'_>) -> Result<Option<Self>, String> {
        let Settings { follow, files, .. } = route.inherited.get::<Settings>();
        if !follow && files.is_none() {
            return Ok(None);
        }
        // The file names in responses are not paths of the host.
        let unrouted = RouteContext { host: None, ..*route };
        let files = files.as_ref().map(|path| {
            let handler = file::build_dir(&file::DirSettings { path: path.clone() }, &unrouted)?;
            let root = path.as_os_str().as_bytes();
            Ok::<_, String>((root.strip_suffix(b"/").unwrap_or(root).to_vec(), handler))
        });
        Ok(Some(Self { follow: *follow, files: files.transpose()? }))
    }

    /// The delegation in a response, if there is one.
    ///
    /// # Errors
    /// It cannot be followed; a log message.
    #[inline]
    pub fn read(&self, head: &ResponseHead) -> Result<Option<Instruction>, String> {
        let value = |name: &[u8], on: bool| head.get_named(name).filter(|_| on);
        if let Some(value) = value(b"x-reproxy-url", self.follow) {
            return instruction::url(value).map(Some);
        }
        if let Some(value) = value(b"x-accel-redirect", self.follow) {
            return instruction::path(value, head).map(Some);
        }
        match (&self.files, value(b"x-sendfile", self.files.is_some())) {
            (Some((root, _)), Some(value)) => instruction::file(value, root, head).map(Some),
            _ => Ok(None),
        }
    }

    /// The handler that serves files.
    pub fn files(&self) -> Option<&dyn Handler> {
        self.files.as_ref().map(|(_, handler)| &**handler)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};

    #[test]
    fn settings_are_read() {
        let lines = ["reproxy: ON", "reproxy.sendfile: /srv/files/"];
        let want = Settings { follow: true, files: Some("/srv/files".into()), internal: false };
        assert_eq!(set(&lines).inherited.get::<Settings>(), &want);
        assert_eq!(
            set(&["reproxy.sendfile: /a", "reproxy.sendfile: OFF"]).inherited.get::<Settings>(),
            &Settings::default()
        );
        let wanted = "expected the absolute path of a directory, or OFF, found";
        for path in ["files", "/srv/../etc"] {
            assert_eq!(error(&format!("reproxy.sendfile: {path}")), format!("{wanted} `{path}`"));
        }
    }
}
