//! Rewrites URLs of the upstream in its responses to paths of this server (`proxy.rewrite-location`).
//!
//! The result is a path rather than a whole URL, so that the client keeps its scheme, host and port, whatever proxy is
//! in front of this server.

use super::Url;
use hayami_http::{FieldSection, Known, push_percent_encoded, split_authority};

/// Maps an upstream's URLs to those of the path it is proxied at.
pub(super) struct Mapping<'a> {
    /// The prefix of the path, percent-encoded.
    pub(super) own: &'a [u8],
    pub(super) upstream: &'a Url,
    /// The path of the upstream's URL.
    pub(super) path: &'a [u8],
}

impl Mapping<'_> {
    /// Rewrites the fields that contain a URL (RFC 9110 §8.7, §10.2.2), and Refresh, which browsers support.
    pub(super) fn apply(&self, fields: &mut FieldSection) {
        if let Some(path) = fields.get(Known::Location).and_then(|url| self.map(url)) {
            fields.set(b"location", &path);
        }
        if let Some(path) = fields.get_named(b"content-location").and_then(|url| self.map(url)) {
            fields.set(b"content-location", &path);
        }
        if let Some(value) = fields.get_named(b"refresh").and_then(|value| self.map_refresh(value)) {
            fields.set(b"refresh", &value);
        }
    }

    /// `5; url=http://app/login`, with or without quotation marks.
    #[cold]
    fn map_refresh(&self, value: &[u8]) -> Option<Vec<u8>> {
        let at = value.windows(4).position(|piece| piece.eq_ignore_ascii_case(b"url="))? + 4;
        let quote = value.get(at).filter(|byte| b"\"'".contains(byte));
        let begins = at + usize::from(quote.is_some());
        let (before, url) = value.split_at(begins);
        let end = quote.and_then(|quote| url.iter().position(|byte| byte == quote)).unwrap_or(url.len());
        Some([before, &self.map(&url[..end])?, &url[end..]].concat())
    }

    /// The path for a URL below the upstream's; `None` if it belongs to another server, or is no URL.
    #[cold]
    fn map(&self, url: &[u8]) -> Option<Vec<u8>> {
        let below = self.below(url)?;
        let own = self.own.strip_suffix(b"/").unwrap_or(self.own);
        let mut path = Vec::with_capacity(own.len() + below.len() + 2);
        path.extend_from_slice(own);
        // The path `/api/` does not match `/api`, and a path must not be empty.
        if !below.starts_with(b"/") && (path.is_empty() || self.own.ends_with(b"/")) {
            path.push(b'/');
        }
        encode_unsafe(below, &mut path);
        if path.starts_with(b"//") {
            // It would name another host (RFC 3986 §4.2).
            path.splice(..0, *b"/.");
        }
        Some(path)
    }

    /// What follows the upstream's URL in `url`: a path, a query, a fragment or nothing.
    fn below<'u>(&self, url: &'u [u8]) -> Option<&'u [u8]> {
        let (scheme, port): (&[u8], _) = if self.upstream.tls { (b"https", 443) } else { (b"http", 80) };
        let (own, rest) = url.split_at_checked(scheme.len())?;
        let rest = rest.strip_prefix(b"://").filter(|_| own.eq_ignore_ascii_case(scheme))?;
        let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (host, named_port) = split_authority(authority)?;
        let (own_host, own_port) = split_authority(self.upstream.authority.as_bytes())?;
        let same =
            host.eq_ignore_ascii_case(own_host) && named_port.unwrap_or(port) == own_port.unwrap_or(port);
        let path = self.path.strip_suffix(b"/").unwrap_or(self.path);
        let below = rest.strip_prefix(path).filter(|_| same)?;
        matches!(below.first(), None | Some(b'/' | b'?' | b'#')).then_some(below)
    }
}

/// Appends the rest of a URL with `\` and control characters percent-encoded. Neither is valid in a URL (RFC 3986 §2),
/// and browsers read `\` as `/` and skip TAB, CR and LF (WHATWG URL): `/\evil.example` would name another host.
fn encode_unsafe(rest: &[u8], out: &mut Vec<u8>) {
    for &byte in rest {
        if byte == b'\\' || byte.is_ascii_control() {
            push_percent_encoded(byte, out);
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml::Node;

    fn mapped(own: &str, upstream: &str, url: &str) -> Option<String> {
        let upstream = Url::read(&Node::scalar(upstream)).expect("a URL");
        let mapping = Mapping { own: own.as_bytes(), path: upstream.path.as_bytes(), upstream: &upstream };
        mapping.map(url.as_bytes()).map(|path| String::from_utf8(path).expect("ASCII"))
    }

    #[test]
    fn what_is_below_the_upstreams_url_is_below_the_path() {
        let cases = [
            ("/", "http://app:81", "http://app:81/a?b#c", Some("/a?b#c")),
            ("/", "http://app:81/", "HTTP://APP:81", Some("/")),
            ("/", "http://app", "http://app:80?q", Some("/?q")),
            ("/", "https://app", "https://app:443/a", Some("/a")),
            ("/", "http://[::1]:81", "http://[::1]:81/a", Some("/a")),
            ("/", "http://[unix:/run/a.sock]", "http://localhost/a", Some("/a")),
            ("/api", "http://app/v1", "http://app/v1/a", Some("/api/a")),
            ("/api", "http://app/v1/", "http://app/v1/a", Some("/api/a")),
            ("/api", "http://app/v1", "http://app/v1", Some("/api")),
            ("/api", "http://app/v1/", "http://app/v1", Some("/api")),
            ("/api/", "http://app/v1", "http://app/v1", Some("/api/")),
            ("/api/", "http://app/v1", "http://app/v1?q", Some("/api/?q")),
            ("/api/", "http://app/v1/", "http://app/v1/a", Some("/api/a")),
            ("/", "http://app", "http://app//evil.example/", Some("/.//evil.example/")),
            ("/", "http://app/v1", "http://app/v1//x", Some("/.//x")),
            ("/api", "http://app", "http://app//x", Some("/api//x")),
        ];
        for (own, upstream, url, want) in cases {
            assert_eq!(mapped(own, upstream, url).as_deref(), want, "{url} of {upstream} at {own}");
        }
    }

    #[test]
    fn no_path_names_another_host_to_a_browser() {
        let cases = [
            ("/", "http://app", "http://app/\\evil.example/x", Some("/%5Cevil.example/x")),
            ("/", "http://app", "http://app/\t/evil.example/x", Some("/%09/evil.example/x")),
            ("/", "http://app", "http://app/\r\n/evil.example", Some("/%0D%0A/evil.example")),
            ("/", "http://app", "http://app/\u{1}\u{7f}", Some("/%01%7F")),
            ("/", "http://app/v1", "http://app/v1/\\evil.example", Some("/%5Cevil.example")),
            ("/", "http://app/v1/", "http://app/v1/\t\\evil.example", Some("/%09%5Cevil.example")),
            ("/api/", "http://app", "http://app/\\evil.example", Some("/api/%5Cevil.example")),
            ("/", "http://app", "http://app//\t/evil.example", Some("/.//%09/evil.example")),
            ("/", "http://app", "http://app\\evil.example/", None),
            ("/", "http://app", "http://app\t/\\evil.example", None),
        ];
        for (own, upstream, url, want) in cases {
            assert_eq!(mapped(own, upstream, url).as_deref(), want, "{url} of {upstream} at {own}");
        }
    }

    #[test]
    fn other_urls_stay() {
        for url in [
            "https://app/v1/a",
            "http://app:81/v1/a",
            "http://app.example/v1/a",
            "http://user@app/v1/a",
            "http://app/v1x",
            "http://app/",
            "//app/v1/a",
            "/v1/a",
            "a",
            "",
            "http:",
            "http://",
        ] {
            assert_eq!(mapped("/api", "http://app/v1", url), None, "{url}");
        }
    }

    #[test]
    fn the_fields_that_hold_urls_are_rewritten() {
        let upstream = Url::read(&Node::scalar("http://app/v1")).expect("a URL");
        let mapping = Mapping { own: b"/api", path: upstream.path.as_bytes(), upstream: &upstream };
        let cases = [
            ("Location", "http://app/v1/a", "/api/a"),
            ("Content-Location", "http://app/v1/a", "/api/a"),
            ("Refresh", "5; URL=http://app/v1/a", "5; URL=/api/a"),
            ("refresh", "0;url='http://app/v1/a'; x", "0;url='/api/a'; x"),
            ("refresh", "0;url=http://app/v1/\\evil.example", "0;url=/api/%5Cevil.example"),
            ("content-location", "http://app/v1/\t/a", "/api/%09/a"),
            ("refresh", "5", "5"),
            ("refresh", "5; url=", "5; url="),
            ("link", "<http://app/v1/a>", "<http://app/v1/a>"),
        ];
        for (name, value, want) in cases {
            let mut fields = FieldSection::default();
            fields.append(name.as_bytes(), value.as_bytes());
            mapping.apply(&mut fields);
            let got: Vec<_> = fields.iter().map(|(_, value)| str::from_utf8(value)).collect();
            assert_eq!(got, [Ok(want)], "{name}: {value}");
        }
    }
}
