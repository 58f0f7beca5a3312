//! `redirect`: redirects the client, or the request internally, to another URL (RFC 9110 §15.4).

use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::location;
use crate::config::settings::{HandlerSetting, HandlerSettings};
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use crate::handler::{Exchange, Handler, Outcome};
use crate::service::{moved, plain};
use hayami_http::{Status, encode_path, encode_query, split_authority};
use std::borrow::Cow;

/// A redirect as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The URL, to which the rest of the path behind the prefix is appended.
    pub url: String,
    /// The status of the response.
    pub status: Status,
    /// Whether the request is redirected internally, without a response to the client.
    pub internal: bool,
}

impl HandlerSetting for Settings {}

/// This feature.
pub const FEATURE: Feature = Feature {
    handler: Some(|settings, route| Some(Ok(build(settings.get()?, route.host_name())))),
    ..Feature::new(&[group("Redirects", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "redirect",
    levels: Levels::PATH,
    argument: "a URL, or a mapping of url, status (300 to 399) and internal (YES or NO)",
    default: "",
    help: "Redirects to the URL, with the rest of the path and the query appended; the default status is \
           302. With `internal: YES` the server processes the request again with the new URL, without a \
           response to the client; status 307 and 308 then keep the method, others change it to GET. In a \
           wildcard host, a `*` in the URL is replaced by what the wildcard matches: \
           `https://*.example.org/` in `*.example.org`.",
    set,
}];

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let settings = match &node.value {
        Value::Mapping(_) => mapping(node)?,
        _ => Settings { url: location::read(node)?, status: Status::FOUND, internal: false },
    };
    let host = scope.host.as_ref().map_or("", |host| host.name.as_str());
    if !host.starts_with('*') && authority(&settings.url).contains('*') {
        let error = node.error(format!("the URL's host contains `*`, but the host `{host}` has no wildcard"));
        return Err(
            error.help("`*` is replaced by what the wildcard of the host matches, as in `*.example.org`")
        );
    }
    let handlers = scope.handlers.as_mut().ok_or_else(|| node.error("redirect is only allowed in a path"))?;
    handlers.push(HandlerSettings::new(settings));
    Ok(())
}

fn mapping(node: &Node) -> Result<Settings, ConfigError> {
    for (key, _) in node.mapping()? {
        key.one_of(&["url", "status", "internal"])?;
    }
    let code = node.get("status").map_or(Ok(302), |status| status.integer(300..=399))?;
    Ok(Settings {
        url: location::read(node.get("url").ok_or_else(|| node.error("`url` is missing"))?)?,
        status: Status::new(code as u16).expect("a status has three digits"),
        internal: node.get("internal").map_or(Ok(0), |yes| yes.one_of(&["NO", "YES"]))? == 1,
    })
}

/// The authority of a URL that is absolute or lacks only the scheme; otherwise empty.
fn authority(url: &str) -> &str {
    let path = url.find(['/', '?', '#']).unwrap_or(url.len());
    let start = url.find("//").filter(|at| *at <= path).map_or(url.len(), |at| at + 2);
    url[start..].split(['/', '?', '#']).next().unwrap_or_default()
}

/// Redirects.
struct Redirect {
    settings: Settings,
    /// What follows the `*` in the key of the host, if the URL has a `*` too.
    suffix: Option<Vec<u8>>,
}

/// The handler for these settings in a host with this key.
pub fn build(settings: &Settings, key: &str) -> Box<dyn Handler> {
    let name = split_authority(key.as_bytes()).map_or(key.as_bytes(), |(name, _)| name);
    let suffix = name.strip_prefix(b"*").filter(|_| settings.url.contains('*'));
    Box::new(Redirect { settings: settings.clone(), suffix: suffix.map(<[u8]>::to_vec) })
}

impl Handler for Redirect {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let Some(url) = self.url(exchange) else {
            // RFC 9110 §15.5.20: the host may also serve names that its key does not match.
            return Outcome::Ready(plain(Status::MISDIRECTED_REQUEST, "no redirect for this host name"));
        };
        let target = target(&url, exchange);
        if self.settings.internal {
            let keep_method =
                matches!(self.settings.status, Status::TEMPORARY_REDIRECT | Status::PERMANENT_REDIRECT);
            return Outcome::Internal { target, keep_method };
        }
        Outcome::Ready(moved(self.settings.status, &target))
    }
}

/// The URL with the rest of the path, encoded again, and the query.
fn target(url: &str, exchange: &Exchange<'_>) -> Vec<u8> {
    let (prefix, rest) = exchange.path.split_at(exchange.below);
    let mut target = url.as_bytes().to_vec();
    match (prefix.ends_with(b"/"), target.ends_with(b"/")) {
        (true, false) => target.push(b'/'),
        (false, true) if !rest.is_empty() => _ = target.pop(),
        _ => {}
    }
    encode_path(rest, &mut target);
    if let Some(query) = exchange.head.query() {
        target.push(b'?');
        encode_query(query, &mut target);
    }
    target
}

impl Redirect {
    /// The URL, with each `*` replaced by what the `*` of the host's key matches in the requested name; `None` if the
    /// key does not match.
    fn url(&self, exchange: &Exchange<'_>) -> Option<Cow<'_, str>> {
        let url = self.settings.url.as_str();
        let Some(suffix) = &self.suffix else { return Some(url.into()) };
        // The authority is well-formed, so all of it is allowed in a URL.
        let (name, _) = split_authority(exchange.head.authority())?;
        let (matched, rest) = name.split_at_checked(name.len().checked_sub(suffix.len())?)?;
        let fits = !matched.is_empty() && rest.eq_ignore_ascii_case(suffix);
        fits.then(|| url.replace('*', &String::from_utf8_lossy(matched)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use crate::modules::test_support::{error, set};
    use hayami_http::Known;

    fn settings(line: &str) -> Settings {
        set(&[line]).handler::<Settings>().clone()
    }

    /// The target of a request for `target` at a path with this prefix.
    fn target(prefix: &str, line: &str, target: &str) -> String {
        let handler = build(&settings(line), "a");
        let found = match testing::handle(&*handler, &testing::get(target), prefix.len()) {
            Outcome::Ready(response) => response.head.get(Known::Location).expect("a location").to_vec(),
            Outcome::Internal { target, .. } => target,
            _ => panic!("no redirect"),
        };
        String::from_utf8(found).unwrap()
    }

    #[test]
    fn what_follows_the_prefix_is_appended_as_h2o_does() {
        let cases = [
            ("/", "redirect: 'http://x/'", "/a/b?c=d", "http://x/a/b?c=d"),
            ("/", "redirect: 'http://x'", "/", "http://x/"),
            ("/", "redirect: 'http://x'", "/a", "http://x/a"),
            ("/foo", "redirect: 'http://x/bar'", "/foo", "http://x/bar"),
            ("/foo", "redirect: 'http://x/bar'", "/foo/z", "http://x/bar/z"),
            ("/foo", "redirect: 'http://x/'", "/foo", "http://x/"),
            ("/foo", "redirect: 'http://x/'", "/foo/z", "http://x/z"),
            ("/foo/", "redirect: 'http://x/bar'", "/foo/z?", "http://x/bar/z?"),
            ("/foo/", "redirect: {url: /new/, internal: YES}", "/foo/z?q", "/new/z?q"),
        ];
        for (prefix, line, path, want) in cases {
            assert_eq!(target(prefix, line, path), want, "{prefix} {line} {path}");
        }
    }

    #[test]
    fn a_star_stands_for_what_the_star_of_the_host_matches() {
        let cases = [
            (
                "*.example.com",
                "https://*.example.org/",
                "www.example.com",
                Some("https://www.example.org/a?q"),
            ),
            (
                "*.example.com",
                "https://*.example.org/",
                "a.B.Example.com:80",
                Some("https://a.B.example.org/a?q"),
            ),
            ("*.example.com:8080", "https://x/*/*/", "www.example.com:8080", Some("https://x/www/www/a?q")),
            ("*", "https://*/", "example.org:8080", Some("https://example.org/a?q")),
            ("*", "https://*/", "[::1]:8080", Some("https://[::1]/a?q")),
            ("*.example.com", "https://example.org/", "elsewhere", Some("https://example.org/a?q")),
            ("example.com", "/files/*/", "example.com", Some("/files/*/a?q")),
            // The host is used as the fallback.
            ("*.example.com", "https://*.example.org/", "elsewhere", None),
            ("*.example.com", "https://*.example.org/", ".example.com", None),
            ("*", "https://*/", "", None),
        ];
        for (key, url, name, want) in cases {
            let handler =
                build(&Settings { url: url.to_owned(), status: Status::FOUND, internal: false }, key);
            let mut head = testing::get("/a?q");
            head.fields_mut().append(b"host", name.as_bytes());
            let Outcome::Ready(response) = testing::handle(&*handler, &head, 1) else { panic!("{key}") };
            let location =
                response.head.get(Known::Location).map(|v| String::from_utf8_lossy(v).into_owned());
            assert_eq!(location.as_deref(), want, "{key} {url} {name}");
            assert_eq!(response.head.status().code(), if want.is_some() { 302 } else { 421 });
        }
    }

    #[test]
    fn nothing_from_the_request_breaks_out_of_the_location() {
        let line = "redirect: 'http://x/'";
        assert_eq!(target("/", line, "/a%0d%0ab%22%3Cé"), "http://x/a%0D%0Ab%22%3C%C3%A9");
        assert_eq!(target("/", line, "/?a%0d\"<é"), "http://x/?a%0d%22%3C%C3%A9");
    }

    #[test]
    fn the_status_is_302_unless_given_and_some_have_no_content() {
        for (line, code, content) in [
            ("redirect: /x", 302, true),
            ("redirect: {url: /x, status: 301}", 301, true),
            ("redirect: {url: /x, status: 304, internal: no}", 304, false),
        ] {
            let handler = build(&settings(line), "a");
            let Outcome::Ready(response) = testing::handle(&*handler, &testing::get("/"), 1) else {
                panic!("{line}")
            };
            assert_eq!(response.head.status().code(), code);
            assert_eq!(!response.content.is_empty(), content);
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let cases = [
            ("redirect: ''", "expected a URL, such as `https://example.com/` or `/new/`, found nothing"),
            ("redirect: [/a]", "expected a URL, such as `https://example.com/` or `/new/`, found a sequence"),
            ("redirect: /a b", "a URL must not contain ` `; write `%20`"),
            ("redirect: /ü", "a URL must not contain `ü`; write `%C3%BC`"),
            ("redirect: {status: 301}", "`url` is missing"),
            ("redirect: {url: /x, status: 200}", "expected an integer from 300 to 399, found `200`"),
            ("redirect: {url: /x, internal: maybe}", "expected one of NO, YES, found `maybe`"),
            ("redirect: {url: /x, code: 301}", "expected one of url, status, internal, found `code`"),
            (
                "redirect: 'https://*.example.org/'",
                "the URL's host contains `*`, but the host `` has no wildcard; `*` is replaced by what \
                 the wildcard of the host matches, as in `*.example.org`",
            ),
        ];
        for (line, want) in cases {
            assert_eq!(error(line), want);
        }
    }
}
