//! URLs of upstreams: `http://host:port/path`, `https://host/path`, `http://[unix:/run/app.sock]/path`.

use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use hayami_http::split_authority;
use hayami_tls::Connector;
use std::fmt;
use std::path::PathBuf;

/// A parsed upstream URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Where it listens.
    pub place: UrlLocation,
    /// Whether TLS is used.
    pub tls: bool,
    /// The value of Host, unless the client's is kept (RFC 9110 §7.2).
    pub authority: String,
    /// The path, possibly empty.
    pub path: String,
    /// The URL without its path, for logs.
    pub shown: String,
}

/// Where an upstream listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlLocation {
    /// A host name or an address (IPv6 without brackets), and a port.
    Tcp(String, u16),
    /// A unix socket.
    Unix(PathBuf),
}

const WANTED: &str = "a URL, such as `http://127.0.0.1:3000/` or `http://[unix:/run/app.sock]/`";

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Url {
    /// The name that the upstream's certificate must be valid for.
    pub(super) fn server_name(&self) -> &str {
        match &self.place {
            UrlLocation::Tcp(host, _) => host,
            UrlLocation::Unix(_) => &self.authority,
        }
    }

    /// Reads a URL.
    ///
    /// # Errors
    /// The URL is malformed; the error has the node's position.
    pub fn read(node: &Node) -> Result<Self, ConfigError> {
        let text = node.text().map_err(|_| node.expected(WANTED))?;
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            let error = node.expected(WANTED);
            match text.starts_with("unix:") {
                _ if text.is_empty() => error,
                true => error.help(with_brackets("http", text)),
                false if !has_port_or_none(text) => {
                    error.help("write `http://HOST:PORT/`, or `http://NAME/` for the upstream group NAME")
                }
                false => error.help(format!("write `http://{text}`")),
            }
        })?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            other => {
                let error = node.error(format!("unsupported upstream scheme `{other}`"));
                return Err(error.help("use `http://` or `https://`"));
            }
        };
        if rest.starts_with("unix:") {
            let error = node.error("the path of a unix socket must be in brackets");
            return Err(error.help(with_brackets(if tls { "https" } else { "http" }, rest)));
        }
        let (authority, path) = split(rest).ok_or_else(|| node.expected(WANTED))?;
        let (shown, default_port) = match tls {
            false => (format!("http://{authority}"), 80),
            true => (format!("https://{authority}"), 443),
        };
        let (place, authority) = place(node, authority, default_port)?;
        let url = Self { place, tls, authority, path: checked_path(node, path)?.to_owned(), shown };
        if tls {
            Connector::check_name(url.server_name()).map_err(|error| node.error(error.to_string()))?;
        }
        Ok(url)
    }
}

impl Url {
    /// Whether both have the same origin (RFC 6454 §4): scheme, host and port.
    pub(super) fn is_of_origin(&self, other: &Self) -> bool {
        let same = match (&self.place, &other.place) {
            (UrlLocation::Tcp(host, port), UrlLocation::Tcp(other, other_port)) => {
                host.eq_ignore_ascii_case(other) && port == other_port
            }
            (place, other) => place == other,
        };
        same && self.tls == other.tls
    }

    /// Whether it contains a port.
    pub(in crate::modules) fn has_port(&self) -> bool {
        matches!(split_authority(self.authority.as_bytes()), Some((_, Some(_))))
    }
}

/// Whether what follows a colon in the authority of a URL without scheme is a port.
fn has_port_or_none(text: &str) -> bool {
    let authority = text.split('/').next().unwrap_or_default();
    authority.rsplit_once(':').is_none_or(|(_, port)| port.ends_with(']') || port.parse::<u16>().is_ok())
}

/// Suggests a replacement for nginx's `unix:/run/app.sock:/path`, where the path of the URL may be missing.
fn with_brackets(scheme: &str, unix: &str) -> String {
    let from = "unix:".len();
    let end = unix[from..].find(':').map_or(unix.len(), |end| from + end);
    let (socket, path) = (&unix[..end], unix[end..].trim_start_matches(':'));
    format!("for a unix socket write `{scheme}://[{socket}]{path}`")
}

/// Splits authority and path. The slashes of a unix socket are within brackets.
fn split(rest: &str) -> Option<(&str, &str)> {
    let from = if rest.starts_with("[unix:") { rest.find(']')? } else { 0 };
    let end = rest[from..].find(['/', '?', '#']).map_or(rest.len(), |end| from + end);
    (end > 0).then(|| rest.split_at(end))
}

fn place(node: &Node, authority: &str, default_port: u16) -> Result<(UrlLocation, String), ConfigError> {
    let unix = authority.strip_prefix("[unix:").and_then(|path| path.strip_suffix(']'));
    if let Some(path) = unix {
        if !path.starts_with('/') {
            let error = node.error(format!("`{path}` is not an absolute path of a unix socket"));
            return Err(error.help("write `http://[unix:/run/app.sock]/`"));
        }
        if path.contains('\0') {
            return Err(node.error("the path of a unix socket must not contain NUL"));
        }
        // A file path is not a host, and servers reject such a Host field (RFC 9112 §3.2).
        return Ok((UrlLocation::Unix(path.into()), "localhost".to_owned()));
    }
    if authority.contains('@') {
        let error = node.error("an upstream URL must not contain a user name or password");
        return Err(error.help("write `proxy.header.set: 'authorization: Basic …'`"));
    }
    let (host, port) = split_authority(authority.as_bytes())
        .and_then(|(host, port)| Some((str::from_utf8(host).ok()?, port.unwrap_or(default_port))))
        .filter(|(_, port)| *port != 0)
        .ok_or_else(|| {
            node.error(format!("`{authority}` is not a host with an optional port from 1 to 65535"))
        })?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Ok((UrlLocation::Tcp(host.to_owned(), port), authority.to_owned()))
}

fn checked_path<'a>(node: &Node, path: &'a str) -> Result<&'a str, ConfigError> {
    match path.chars().find(|c| !c.is_ascii_graphic() || "\"<>\\^`{|}?#".contains(*c)) {
        None => Ok(path),
        Some('?' | '#') => {
            let error = node.error("an upstream URL must not contain a query or fragment");
            Err(error.help("the query of the request is used"))
        }
        Some(odd) => {
            let escapes: String = odd.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
            let error = node.error(format!("a URL must not contain `{}`", odd.escape_debug()));
            Err(error.help(format!("write `{escapes}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let tcp = |host: &str, port| UrlLocation::Tcp(host.to_owned(), port);
        let cases = [
            ("http://127.0.0.1:3000", tcp("127.0.0.1", 3000), "127.0.0.1:3000", ""),
            ("HTTP://app.example/", tcp("app.example", 80), "app.example", "/"),
            ("http://[::1]:81/a/b", tcp("::1", 81), "[::1]:81", "/a/b"),
            ("https://app.example/a", tcp("app.example", 443), "app.example", "/a"),
            ("HTTPS://[::1]:8443", tcp("::1", 8443), "[::1]:8443", ""),
            ("http://[unix:/run/a.sock]", UrlLocation::Unix("/run/a.sock".into()), "localhost", ""),
            ("http://[unix:/run/a.sock]/x/", UrlLocation::Unix("/run/a.sock".into()), "localhost", "/x/"),
        ];
        for (text, place, authority, path) in cases {
            let url = Url::read(&Node::scalar(text)).expect(text);
            assert_eq!((url.place, &url.authority[..], &url.path[..]), (place, authority, path), "{text}");
            assert_eq!(url.tls, text.to_ascii_lowercase().starts_with("https"), "{text}");
            assert!(url.shown.starts_with(if url.tls { "https://" } else { "http://" }), "{text}");
        }
    }

    #[test]
    fn no_path_of_a_socket_holds_nul() {
        let error = Url::read(&Node::scalar("http://[unix:/run/a\0.sock]/")).expect_err("no such path");
        assert_eq!(error.message, "the path of a unix socket must not contain NUL");
    }

    #[test]
    fn the_unix_sockets_of_nginx_are_written_with_brackets() {
        for (text, want) in [
            ("http://unix:/run/app.sock", "`http://[unix:/run/app.sock]`"),
            ("http://unix:/run/app.sock:/a/", "`http://[unix:/run/app.sock]/a/`"),
            ("https://unix:/run/app.sock", "`https://[unix:/run/app.sock]`"),
            ("unix:/run/app.sock", "`http://[unix:/run/app.sock]`"),
        ] {
            let error = Url::read(&Node::scalar(text)).expect_err(text);
            assert_eq!(error.help, format!("for a unix socket write {want}"), "{text}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let url = |text: &str| Url::read(&Node::scalar(text)).expect(text);
        let cases = [
            ("http://app/a", "http://APP:80/b", true),
            ("https://app", "https://app:443/", true),
            ("http://app:443", "https://app:443", false),
            ("http://app", "http://app:81", false),
            ("http://app", "http://app.example", false),
            ("http://[unix:/a]/x", "http://[unix:/a]/y", true),
            ("http://[unix:/a]", "http://localhost", false),
        ];
        for (one, other, want) in cases {
            assert_eq!(url(one).is_of_origin(&url(other)), want, "{one} {other}");
        }
    }
}
