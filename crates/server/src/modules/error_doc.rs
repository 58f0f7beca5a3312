//! `error-doc`: pages of the site itself in place of the server's short error texts.

use crate::config::directive::{Directive, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use hayami_http::{Response, Status};

/// The error pages in force at one place of the configuration, those of inner levels first.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pages: Vec<Page>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    status: Status,
    url: String,
}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "error-doc",
    levels: Levels::ALL,
    argument: "a mapping of status (400 to 599, or a sequence of such) and url; or a sequence of mappings",
    default: "",
    help: "Sends the content found at the URL in place of an error's, with the error's status. The URL is a path of \
           the same host, or names another host of this configuration.",
    set,
}];

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let mut pages = Vec::new();
    for page in node.one_or_many() {
        for (key, _) in page.mapping()? {
            key.one_of(&["status", "url"])?;
        }
        let status = page.get("status").ok_or_else(|| page.error("`status` is missing"))?;
        let url = url(page.get("url").ok_or_else(|| page.error("`url` is missing"))?)?;
        for status in status.one_or_many() {
            let code = status.integer(400..=599)? as u16;
            let status = Status::new(code).expect("three digits make a status");
            pages.push(Page { status, url: url.clone() });
        }
    }
    scope.inherited.error_doc.pages.splice(0..0, pages);
    Ok(())
}

fn url(node: &Node) -> Result<String, ConfigError> {
    let url = node.text()?;
    if url.is_empty() || url.bytes().any(|octet| octet.is_ascii_control() || octet == b' ') {
        return Err(node.expected("a URL, such as `/404.html`"));
    }
    Ok(url.to_owned())
}

impl Settings {
    /// The URL of the page for `status`: the innermost level decides.
    pub fn url(&self, status: Status) -> Option<&str> {
        self.pages.iter().find(|page| page.status == status).map(|page| page.url.as_str())
    }
}

/// `response` with the content of `page`. Of the page's fields, those that describe the content come
/// along; all others of `response` stay, its status too.
pub fn merge(mut response: Response, page: Response) -> Response {
    const OF_THE_CONTENT: [&[u8]; 2] = [b"content-type", b"content-language"];
    // An upstream's error may have come compressed or tagged.
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
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::Level;
    use crate::modules::test_support::{Setting, error, set};

    fn url_of(setting: &Setting, code: u16) -> Option<&str> {
        setting.inherited.error_doc.url(Status::new(code).unwrap())
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
    fn errors_name_what_is_wrong() {
        let cases = [
            ("error-doc: /404.html", "expected a mapping, found `/404.html`"),
            ("error-doc: {url: /x}", "`status` is missing"),
            ("error-doc: {status: 404}", "`url` is missing"),
            ("error-doc: {status: 200, url: /x}", "expected a whole number from 400 to 599, found `200`"),
            ("error-doc: {status: 404, url: ''}", "expected a URL, such as `/404.html`, found nothing"),
            ("error-doc: {status: 404, url: /x, code: 1}", "expected one of status, url, found `code`"),
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
