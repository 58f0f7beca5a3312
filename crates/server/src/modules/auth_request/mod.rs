//! `auth.request`: another path of this server, or another server, authorizes requests by a subrequest, as nginx's
//! `auth_request` and Caddy's `forward_auth`.
//!
//! ```text
//! request ─ fields ─▶ subrequest ─ step ─┬─ 2xx: the listed fields are copied, the request is admitted
//!                                        ├─ 401, 403, redirect: the client gets this response
//!                                        └─ anything else: 500
//! ```

mod fields;
mod step;

use step::{build, build_guard};

use crate::config::attribute::{self, Attribute};
use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use crate::modules::proxy;
use crate::modules::upstreams::{self, Reference};
use hayami_http::normalize;
use std::sync::Arc;
use std::time::Duration;

/// Settings at one level of the configuration; `None`: no subrequest is sent.
#[derive(Clone, Debug, Default)]
pub struct Settings(Option<Arc<AuthRequest>>);

impl FeatureSetting for Settings {
    fn upstream_groups(&self) -> Vec<usize> {
        self.upstreams().map(|upstreams| upstreams.group).into_iter().collect()
    }
}

/// This feature.
pub const FEATURE: Feature = Feature {
    access: Some(|route| build(route.inherited.get(), route).transpose()),
    ..Feature::new(&[group("Authorization by a subrequest", DIRECTIVES)])
};

/// Its guard, which precedes all other steps of the access phase.
pub const GUARD: Feature =
    Feature { access: Some(|route| build_guard(route.inherited.get()).map(Ok)), ..Feature::new(&[]) };

/// The subrequest, and how its response is used.
#[derive(Debug)]
struct AuthRequest {
    /// As written, for the log.
    url: String,
    /// Path and query.
    target: Vec<u8>,
    /// The authorization server; `None`: this one.
    upstreams: Option<Reference>,
    /// Names of fields in lower case.
    copy: Box<[Vec<u8>]>,
    timeout: Duration,
}

/// How long the whole subrequest may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "auth.request",
    levels: Levels::GLOBAL_HOST_PATH,
    argument: "a mapping | OFF",
    default: "OFF",
    help: "Asks another path or server with a GET request whether the client may have what is there: 2xx admits the \
           request, 401, 403 and redirects are passed to the client, anything else is answered with 500. OFF removes \
           the requirement of an outer level.",
    set,
}];

/// The keys of the directive.
pub const ATTRIBUTES: &[Attribute<Written>] = &[
    Attribute {
        name: "url",
        argument: "a path, or an `http` or `https` URL",
        default: "",
        help: "What is asked: a path of the same host, which may be `internal`, or the URL of an upstream or of an \
               upstream group. The request's fields are passed on without its content, and with \
               `x-original-method`, `x-original-uri`, `x-forwarded-method`, `x-forwarded-uri` and `x-forwarded-host`.",
        set: |written, node| {
            written.url = Some(node.clone());
            Ok(())
        },
    },
    Attribute {
        name: "copy",
        argument: "names of fields",
        default: "",
        help: "Fields of the response that are copied to the request if it is admitted. Those that the client itself \
               sends are always removed.",
        set: |written, node| {
            written.copy = copy(node)?;
            Ok(())
        },
    },
    Attribute {
        name: "timeout",
        argument: "a time, in seconds if it has no unit",
        default: "30s",
        help: "How long the whole request may take. For upstreams, `proxy.timeout.*` apply as well.",
        set: |written, node| {
            written.timeout = Some(node.seconds()?);
            Ok(())
        },
    },
];

/// The mapping as written.
#[derive(Default)]
pub struct Written {
    url: Option<Node>,
    copy: Vec<Vec<u8>>,
    timeout: Option<Duration>,
}

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    if node.is("OFF") || node.is("off") {
        *scope.inherited.get_mut() = Settings(None);
        return Ok(());
    }
    let mut written = Written::default();
    attribute::read(ATTRIBUTES, "auth.request", &mut written, node)?;
    let Some(url) = written.url else {
        let error = node.error("`url` is missing: the path or URL of the service");
        return Err(error.help("write `auth.request: {url: /internal/session}`"));
    };
    let (target, upstreams) = destination(scope, &url).map_err(|mut error| {
        if error.message.starts_with("expected") {
            error.message = format!("`url`: {}", error.message);
        }
        error
    })?;
    *scope.inherited.get_mut() = Settings(Some(Arc::new(AuthRequest {
        url: url.text()?.to_owned(),
        target,
        upstreams,
        copy: written.copy.into(),
        timeout: written.timeout.unwrap_or(TIMEOUT),
    })));
    Ok(())
}

/// Path and query of a URL, and the server that it names, unless it is this one.
fn destination(scope: &mut Scope<'_>, node: &Node) -> Result<(Vec<u8>, Option<Reference>), ConfigError> {
    let wanted = || {
        node.expected("a path of this host, such as `/internal/session`, or a URL, such as `http://127.0.0.1:9091/verify`")
    };
    let text = node.text().map_err(|_| wanted())?;
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains('#') {
        return Err(wanted());
    }
    let (base, query) = text.split_once('?').map_or((text, None), |(base, query)| (base, Some(query)));
    if base.starts_with('/') && !base.starts_with("//") {
        normalize(base.as_bytes(), &mut Vec::new()).map_err(|fault| node.error(fault.to_string()))?;
        return Ok((text.as_bytes().to_vec(), None));
    }
    if !base.contains("://") {
        return Err(wanted());
    }
    let reference =
        upstreams::reference(scope, &Node { at: node.at, value: Value::Scalar(base.to_owned()) })?;
    let upstreams = &scope.global.get::<upstreams::Settings>().groups[reference.group].upstreams;
    if upstreams.iter().any(|upstream| upstream.url.tls) {
        scope.inherited.get_mut::<proxy::Settings>().tls.check(node)?;
    }
    let path = reference.path.as_ref().or(upstreams.first().map(|first| &first.url.path));
    let path = path.filter(|path| !path.is_empty()).map_or("/", String::as_str);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("{path}{query}").into_bytes();
    // The target is complete: the path of the upstream's URL is not prepended.
    Ok((target, Some(Reference { path: Some(String::new()), ..reference })))
}

fn copy(node: &Node) -> Result<Vec<Vec<u8>>, ConfigError> {
    let names = node.one_or_many().into_iter().map(|node| {
        let name = node.token("the name of a field, such as x-user")?.to_ascii_lowercase();
        match fields::is_of_message(name.as_bytes()) {
            true => Err(node.error(format!("`{name}` belongs to the request itself and cannot be copied"))),
            false => Ok(name.into_bytes()),
        }
    });
    names.collect()
}

impl Settings {
    /// The upstreams of the authorization server, unless it is this server.
    fn upstreams(&self) -> Option<&Reference> {
        self.0.as_ref()?.upstreams.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};

    /// Target, and the URL of the upstream.
    fn read(line: &str) -> (String, Option<String>) {
        let set = set(&[line]);
        let own = set.inherited.get::<Settings>().0.as_ref().expect("it is on");
        let upstream = |reference: &Reference| {
            set.global.get::<upstreams::Settings>().groups[reference.group].upstreams[0].url.shown.clone()
        };
        (String::from_utf8_lossy(&own.target).into_owned(), own.upstreams.as_ref().map(upstream))
    }

    #[test]
    fn a_path_is_asked_here_and_a_url_elsewhere() {
        let upstream = Some("http://127.0.0.1:9091".to_owned());
        for (url, want) in [
            ("/internal/session?a=b", ("/internal/session?a=b".to_owned(), None)),
            ("http://127.0.0.1:9091", ("/".to_owned(), upstream.clone())),
            ("http://127.0.0.1:9091/a%20b?c=http://d/", ("/a%20b?c=http://d/".to_owned(), upstream)),
            ("'http://[unix:/run/a]/b'", ("/b".to_owned(), Some("http://[unix:/run/a]".to_owned()))),
        ] {
            assert_eq!(read(&format!("auth.request: {{url: {url}}}")), want, "{url}");
        }
    }

    #[test]
    fn settings_are_read_and_off_ends_them() {
        let line = "auth.request: {url: /a, copy: [X-User, x-roles], timeout: 500ms}";
        let set_once = set(&[line]);
        let own = set_once.inherited.get::<Settings>().0.as_ref().expect("it is on");
        assert_eq!(*own.copy, [b"x-user".to_vec(), b"x-roles".to_vec()]);
        assert_eq!(own.timeout, Duration::from_millis(500));
        assert!(set(&[line, "auth.request: OFF"]).inherited.get::<Settings>().0.is_none());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let url = "`url`: expected a path of this host, such as `/internal/session`, or a URL, such as \
                   `http://127.0.0.1:9091/verify`, found";
        for (line, want) in [
            (
                "auth.request: /a",
                "expected a mapping, such as `auth.request: {url: …}`, found `/a`; write `auth.request: {url: /a}`".to_owned(),
            ),
            (
                "auth.request: {copy: x-user}",
                "`url` is missing: the path or URL of the service; write `auth.request: {url: /internal/session}`".to_owned(),
            ),
            ("auth.request: {url: session}", format!("{url} `session`")),
            ("auth.request: {url: //a/b}", format!("{url} `//a/b`")),
            ("auth.request: {url: '/a#b'}", format!("{url} `/a#b`")),
            ("auth.request: {url: '/a b'}", format!("{url} `/a b`")),
            (
                "auth.request: {url: 'ftp://a/'}",
                "unsupported upstream scheme `ftp`; use `http://` or `https://`".to_owned(),
            ),
            (
                "auth.request: {url: /a, copy: 'x user'}",
                "`copy`: expected the name of a field, such as x-user, found `x user`".to_owned(),
            ),
            (
                "auth.request: {url: /a, copy: [x-user, Content-Length]}",
                "`content-length` belongs to the request itself and cannot be copied".to_owned(),
            ),
            (
                "auth.request: {uri: /a}",
                "unknown key `uri` in `auth.request`; did you mean `url`?".to_owned(),
            ),
        ] {
            assert_eq!(error(line), want, "{line}");
        }
    }
}
