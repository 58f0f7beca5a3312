//! URLs as typed on a command line (RFC 3986, RFC 9110 §4.2).

use std::path::PathBuf;

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whether the scheme is https.
    pub secure: bool,
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port, the scheme's own if none is written.
    pub port: u16,
    /// A socket in the file system to connect to instead of host and port.
    pub unix: Option<PathBuf>,
    /// Path and query; at least `/`. No fragment (RFC 9110 §4.2.5).
    pub target: String,
}

impl Url {
    /// Reads `[http[s]://]HOST[:PORT][/PATH]` or `unix:SOCKET[:/PATH]`.
    ///
    /// # Errors
    /// A line with the fault and the remedy.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (secure, rest) = scheme(text)?;
        if let Some(socket) = rest.strip_prefix("unix:") {
            return Self::socket(text, secure, socket);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(format!(
                "{text}: user information in the URL is not supported; use -H 'Authorization: …'"
            ));
        }
        let (host, port) = authority_of(text, authority)?;
        let port = port.unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { secure, host, port, unix: None, target: origin_form(target) })
    }

    fn socket(text: &str, secure: bool, rest: &str) -> Result<Self, String> {
        let (path, target) = rest.split_once(":/").map_or((rest, ""), |(path, target)| (path, target));
        if path.is_empty() {
            return Err(format!("{text}: the path of the socket is missing; write unix:/run/app.sock:/path"));
        }
        let port = if secure { 443 } else { 80 };
        let target = origin_form(&format!("/{target}"));
        Ok(Self { secure, host: "localhost".into(), port, unix: Some(path.into()), target })
    }

    /// For `Host` and `:authority`: the host, and the port unless it is the scheme's own (RFC 9110 §4.2.3).
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// Whether both name the same server.
    pub fn same_server(&self, other: &Self) -> bool {
        (self.secure, self.port, &self.unix) == (other.secure, other.port, &other.unix)
            && self.host.eq_ignore_ascii_case(&other.host)
    }
}

fn scheme(text: &str) -> Result<(bool, &str), String> {
    match text.split_once("://") {
        None => Ok((false, text)),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => Ok((false, rest)),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => Ok((true, rest)),
        // A query may hold another URL: `localhost/?to=ftp://x`.
        Some((before, _)) if before.contains(['/', '?']) => Ok((false, text)),
        Some((scheme, _)) => Err(format!("{text}: unsupported scheme `{scheme}`; write http:// or https://")),
    }
}

fn authority_of(text: &str, authority: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) =
                rest.split_once(']').ok_or_else(|| format!("{text}: the bracket `[` is not closed"))?;
            let port = (!after.is_empty()).then(|| after.strip_prefix(':').unwrap_or("none"));
            (host, port)
        }
        None if authority.matches(':').count() > 1 => {
            return Err(format!("{text}: write IPv6 addresses in brackets: http://[::1]:8080/"));
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:%".contains(c);
    if host.is_empty() || !host.chars().all(plain) {
        return Err(format!("{text}: `{host}` is not a host; write http://HOST[:PORT]/PATH"));
    }
    let port = port.filter(|port| !port.is_empty()).map(|port| match port.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{text}: `{port}` is not a port; write a number from 1 to 65535")),
    });
    Ok((host.to_owned(), port.transpose()?))
}

/// Path and query as they are sent: no fragment, and characters that a request line must not contain
/// percent-encoded.
pub(crate) fn origin_form(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let mut target = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        target.push('/');
    }
    for byte in text.bytes() {
        match byte {
            0x21..=0x7e => target.push(byte as char),
            _ => target.push_str(&format!("%{byte:02X}")),
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_people_type_them() {
        for (text, secure, host, port, target, authority) in [
            ("http://a/", false, "a", 80, "/", "a"),
            ("a", false, "a", 80, "/", "a"),
            ("localhost:8080/x?y=z#part", false, "localhost", 8080, "/x?y=z", "localhost:8080"),
            ("HTTPS://a:443", true, "a", 443, "/", "a"),
            ("https://[::1]:8443?q", true, "::1", 8443, "/?q", "[::1]:8443"),
            ("a/?to=ftp://b", false, "a", 80, "/?to=ftp://b", "a"),
            ("a:/x", false, "a", 80, "/x", "a"),
            ("http://a/ü b", false, "a", 80, "/%C3%BC%20b", "a"),
        ] {
            let url = Url::parse(text).expect(text);
            assert_eq!((url.secure, url.host.as_str(), url.port), (secure, host, port), "{text}");
            assert_eq!((url.target.as_str(), url.authority().as_str()), (target, authority), "{text}");
        }
    }

    #[test]
    fn a_socket_in_the_file_system_is_a_server_too() {
        for (text, path, target) in [
            ("unix:/run/a.sock", "/run/a.sock", "/"),
            ("unix:/run/a.sock:/x?y", "/run/a.sock", "/x?y"),
            ("http://unix:b.sock:/", "b.sock", "/"),
        ] {
            let url = Url::parse(text).expect(text);
            assert_eq!((url.unix, url.target.as_str()), (Some(path.into()), target), "{text}");
            assert_eq!(url.host, "localhost");
        }
    }

    #[test]
    fn what_is_no_url_says_what_to_write() {
        for (text, word) in [
            ("ftp://a/", "http:// or https://"),
            ("http://", "not a host"),
            ("", "not a host"),
            ("http://a b/", "not a host"),
            ("http://a:x/", "from 1 to 65535"),
            ("http://a:0/", "from 1 to 65535"),
            ("http://::1/", "brackets"),
            ("http://[::1/", "bracket"),
            ("http://[::1]x/", "not a port"),
            ("http://me:secret@a/", "Authorization"),
            ("unix:", "the socket is missing"),
        ] {
            let error = Url::parse(text).expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn two_urls_of_one_server_are_known() {
        let url = |text| Url::parse(text).expect("a URL");
        assert!(url("http://a/x").same_server(&url("http://A:80/y")));
        assert!(!url("http://a/").same_server(&url("https://a/")));
    }
}
