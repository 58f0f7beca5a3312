//! `error-doc`: the site's own pages in place of the server's short error texts.

use crate::config::directive::{Directive, Level, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::{Node, Position};
use crate::feature::Feature;
use crate::modules::proxy;
use hayami_http::{Response, Status};

/// The error pages at one level of the configuration, those of inner levels first.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pages: Vec<Page>,
}

impl FeatureSetting for Settings {
    fn connects(&self) -> bool {
        self.has_absolute()
    }
}

#[derive(Clone, Debug)]
struct Page {
    status: Status,
    url: String,
    /// Position in the configuration.
    level: Level,
    at: Position,
}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Error pages", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "error-doc",
    levels: Levels::ALL,
    argument: "a mapping of status (400 to 599, or a sequence of such) and url; or a sequence of mappings",
    default: "",
    help: "Replaces the content of an error response with the content of the URL; the status stays. The URL \
           is a path of the same host, relative to the path of the request unless it starts with `/`; or an \
           `http://` or `https://` URL of another host of this configuration; or a URL of another server, \
           which is fetched like an upstream. Redirects within this server are followed. If the error page \
           does not return 200, the built-in text is sent.",
    set,
}];

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let mut pages = Vec::new();
    for page in node.one_or_many() {
        for (key, _) in page.mapping()? {
            key.one_of(&["status", "url"]).map_err(|error| match key.integer(400..=599) {
                Ok(status) => error.help(format!("write {{status: {status}, url: URL}}")),
                Err(_) => error,
            })?;
        }
        let statuses = page.get("status").ok_or_else(|| page.error("`status` is missing"))?;
        let url = url(page.get("url").ok_or_else(|| page.error("`url` is missing"))?)?;
        if statuses.one_or_many().is_empty() {
            return Err(statuses.error("`status` is an empty sequence").help("name at least one status"));
        }
        for node in statuses.one_or_many() {
            let code = node.integer(400..=599)? as u16;
            let status = Status::new(code).expect("a status has three digits");
            let known = pages.iter().chain(&scope.inherited.get_mut::<Settings>().pages);
            check_repeated(known, status, scope.level, node)?;
            pages.push(Page { status, url: url.clone(), level: scope.level, at: node.at });
        }
    }
    scope.inherited.get_mut::<Settings>().pages.splice(0..0, pages);
    Ok(())
}

/// If one level has two pages for a status, one of them would never be used.
fn check_repeated<'a>(
    mut pages: impl Iterator<Item = &'a Page>,
    status: Status,
    level: Level,
    node: &Node,
) -> Result<(), ConfigError> {
    let Some(first) = pages.find(|page| page.status == status && page.level == level) else { return Ok(()) };
    let error = node.error(format!("the error page for status {} is defined twice", status.code()));
    Err(error.help("remove one of the two; inner levels may override the page").also(first.at, "here"))
}

fn url(node: &Node) -> Result<String, ConfigError> {
    let url = node.text()?;
    if url.is_empty() || url.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') {
        return Err(node.expected("a URL, such as `/404.html`"));
    }
    if url.starts_with("//") {
        return Err(node.error("the URL has no scheme").help(format!("write `https:{url}`")));
    }
    if let Some(base) = base_of(url) {
        proxy::Url::read(&Node { at: node.at, ..Node::scalar(base) })?;
    }
    Ok(url.to_owned())
}

/// Scheme and authority of an absolute URL.
fn base_of(url: &str) -> Option<&str> {
    let scheme = url.find("://").filter(|end| !url[..*end].contains(['/', '?', '#']))?;
    let authority = &url[scheme + 3..];
    Some(&url[..scheme + 3 + authority.find(['/', '?', '#']).unwrap_or(authority.len())])
}

impl Settings {
    /// The URL of the page for `status`: the innermost level takes precedence.
    #[inline]
    pub fn url(&self, status: Status) -> Option<&str> {
        self.pages.iter().find(|page| page.status == status).map(|page| page.url.as_str())
    }

    /// Whether a page may be on another server.
    pub fn has_absolute(&self) -> bool {
        self.pages.iter().any(|page| base_of(&page.url).is_some())
    }
}

/// `response` with the content of `page` and the fields that describe it; all other fields of `response` and its status
/// are kept.
pub fn merge(mut response: Response, page: Response) -> Response {
    const OF_THE_CONTENT: [&[u8]; 2] = [b"content-type", b"content-language"];
    // An upstream's error may be compressed or have validators.
    const OF_THE_FORMER: [&[u8]; 3] = [b"content-encoding", b"etag", b"last-modified"];
    for name in OF_THE_CONTENT.iter().chain(&OF_THE_FORMER) {
        response.head.remove(name);
    }
    let comes = |name: &[u8]| {
        OF_THE_CONTENT.iter().chain([&&b"set-cookie"[..]]).any(|n| name.eq_ignore_ascii_case(n))
    };
    for (name, value) in page.head.iter().filter(|(name, _)| comes(name)) {
        response.head.append(name, value);
    }
    response.content = page.content;
    response.head.set_generated(false);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::Level;
    use crate::modules::test_support::{Setting, error, set};

    fn url_of(setting: &Setting, code: u16) -> Option<&str> {
        setting.inherited.get::<Settings>().url(Status::new(code).unwrap())
    }

    #[test]
    fn one_page_many_pages_and_many_statuses() {
        let one = set(&["error-doc: {status: 404, url: /404.html}"]);
        assert_eq!((url_of(&one, 404), url_of(&one, 500)), (Some("/404.html"), None));
        let many = set(&["error-doc: [{status: 404, url: /404.html}, {status: [500, 503], url: /50x.html}]"]);
        assert_eq!(url_of(&many, 404), Some("/404.html"));
        assert_eq!((url_of(&many, 500), url_of(&many, 503)), (Some("/50x.html"), Some("/50x.html")));
    }

    #[test]
    fn the_innermost_level_decides() {
        let mut setting = Setting::default();
        setting.set(Level::Global, "error-doc: {status: 404, url: /global}").unwrap();
        setting.set(Level::Path, "error-doc: {status: 404, url: /path}").unwrap();
        assert_eq!(url_of(&setting, 404), Some("/path"));
    }

    #[test]
    fn a_status_may_have_a_page_on_every_level_and_one_on_each() {
        let mut setting = Setting::default();
        setting.set(Level::Global, "error-doc: {status: 404, url: /a}").unwrap();
        setting.set(Level::Host, "error-doc: {status: 404, url: /b}").unwrap();
        setting.set(Level::Host, "error-doc: {status: 500, url: /c}").unwrap();
        let error = setting.set(Level::Host, "error-doc: {status: 404, url: /d}").unwrap_err();
        assert!(error.starts_with("the error page for status 404 is defined twice"), "{error}");
    }

    #[test]
    fn the_base_of_a_url_is_its_scheme_and_authority() {
        for (url, want) in [
            ("/404.html", None),
            ("404.html?u=http://x/", None),
            ("http://a", Some("http://a")),
            ("https://a:81/b", Some("https://a:81")),
            ("http://a?b", Some("http://a")),
        ] {
            assert_eq!(base_of(url), want, "{url}");
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let cases = [
            ("error-doc: /404.html", "expected a mapping, found `/404.html`"),
            ("error-doc: {url: /x}", "`status` is missing"),
            ("error-doc: {status: 404}", "`url` is missing"),
            ("error-doc: {status: 200, url: /x}", "expected an integer from 400 to 599, found `200`"),
            ("error-doc: {status: 404, url: ''}", "expected a URL, such as `/404.html`, found nothing"),
            (
                "error-doc: {404: /x}",
                "expected one of status, url, found `404`; write {status: 404, url: URL}",
            ),
            ("error-doc: {status: 404, url: /x, code: 1}", "expected one of status, url, found `code`"),
            ("error-doc: {status: [], url: /x}", "`status` is an empty sequence; name at least one status"),
            (
                "error-doc: {status: [404, 500, 404], url: /x}",
                "the error page for status 404 is defined twice; remove one of the two; inner levels may override \
                 the page",
            ),
            (
                "error-doc: [{status: 404, url: /x}, {status: 404, url: /y}]",
                "the error page for status 404 is defined twice; remove one of the two; inner levels may override \
                 the page",
            ),
            ("error-doc: {status: 404, url: //host/x}", "the URL has no scheme; write `https://host/x`"),
            (
                "error-doc: {status: 404, url: 'ftp://host/x'}",
                "unsupported upstream scheme `ftp`; use `http://` or `https://`",
            ),
            (
                "error-doc: {status: 404, url: 'http://a b/'}",
                "expected a URL, such as `/404.html`, found `http://a b/`",
            ),
            (
                "error-doc: {status: 404, url: 'http://:80/x'}",
                "`:80` is not a host with an optional port from 1 to 65535",
            ),
        ];
        for (line, want) in cases {
            assert_eq!(error(line), want);
        }
    }

    #[test]
    fn a_page_brings_its_content_and_the_error_keeps_the_rest() {
        let mut refused = Response::text(Status::METHOD_NOT_ALLOWED, "no");
        refused.head.append(b"allow", b"GET");
        refused.head.append(b"content-encoding", b"gzip");
        let mut page = Response::text(Status::OK, "page");
        for (name, value) in [("set-cookie", "a=1"), ("etag", "\"1\""), ("Content-Language", "de")] {
            page.head.append(name.as_bytes(), value.as_bytes());
        }
        let merged = merge(refused, page);
        assert_eq!(merged.head.status(), Status::METHOD_NOT_ALLOWED);
        let names: Vec<_> = merged.head.iter().map(|(name, _)| String::from_utf8_lossy(name)).collect();
        assert_eq!(names, ["allow", "content-type", "set-cookie", "Content-Language"]);
        assert_eq!(merged.content.len(), Some(4));
    }
}
