//! The parameters of a request for an application (RFC 3875 §4.1): the variables that nginx and h2o send.
//!
//! Fields of the client become `HTTP_…`. A name that could be mistaken for another is left out: `_` is what `-`
//! becomes, and the application would take HTTP_PROXY for a setting of its own environment.

use crate::client::Client;
use crate::environment::Environment;
use crate::internal_target::path_and_query;
use crate::script::{Script, joined};
use hayami_http::field::FieldLine;
use hayami_http::{FieldSection, Known, RequestHead, Version, split_authority};
use hayami_net::service::ConnectionInfo;
use std::path::Path;

/// Typical bytes and lines beyond those of the request's own fields.
const BYTES: usize = 1024;
const LINES: usize = 28;

/// The inputs of the parameters.
pub(super) struct Facts<'a> {
    pub(super) head: &'a RequestHead,
    /// The normalized path.
    pub(super) path: &'a [u8],
    /// The client's original target, if an internal redirect has changed it.
    pub(super) asked: Option<&'a [u8]>,
    pub(super) script: Option<&'a Script>,
    /// `fastcgi.document_root`
    pub(super) root: Option<&'a Path>,
    pub(super) connection: &'a ConnectionInfo,
    pub(super) client: &'a Client,
    /// Length of the content in bytes, if there is any.
    pub(super) content: Option<u64>,
    pub(super) env: &'a Environment,
    /// `underscores-in-headers`
    pub(super) underscores: bool,
}

/// The parameters collected so far.
struct Params<'a> {
    to: FieldSection,
    env: &'a Environment,
}

impl Params<'_> {
    /// Appends a variable unless `setenv` defines it: that takes precedence.
    fn push(&mut self, name: &str, value: &[u8]) {
        if self.env.get(name).is_none() {
            self.to.append(name.as_bytes(), value);
        }
    }
}

/// The variables of a request.
pub(super) fn params(facts: &Facts<'_>) -> FieldSection {
    let head = facts.head;
    let to =
        FieldSection::with_capacity(head.fields().bytes().len() * 2 + BYTES, head.fields().len() + LINES);
    let mut params = Params { to, env: facts.env };
    script(facts, &mut params);
    request(facts, &mut params);
    ends(facts, &mut params);
    fields(facts, &mut params);
    for (name, value) in facts.env.iter() {
        params.to.append(name.as_bytes(), value.as_bytes());
    }
    params.to
}

fn script(facts: &Facts<'_>, to: &mut Params<'_>) {
    let Some(script) = facts.script else {
        // No script: PATH_INFO is the whole path. PATH_TRANSLATED is left out: PHP would run the file it names.
        to.push("SCRIPT_NAME", b"");
        to.push("PATH_INFO", facts.path);
        if let Some(root) = facts.root {
            to.push("DOCUMENT_ROOT", &joined(root, b"")[..]);
        }
        return;
    };
    let root = facts.root.unwrap_or(&script.root);
    to.push("SCRIPT_FILENAME", &script.path_below(facts.root));
    to.push("SCRIPT_NAME", &script.name);
    to.push("DOCUMENT_URI", &script.name);
    let shown = joined(root, b"");
    to.push("DOCUMENT_ROOT", if shown.len() > 1 { &shown[..shown.len() - 1] } else { &shown });
    if !script.info.is_empty() {
        to.push("PATH_INFO", &script.info);
        to.push("PATH_TRANSLATED", &joined(root, &script.info));
    }
}

fn request(facts: &Facts<'_>, to: &mut Params<'_>) {
    let head = facts.head;
    to.push("REQUEST_METHOD", head.method_name());
    to.push("QUERY_STRING", head.query().unwrap_or_default());
    match facts.asked {
        Some(asked) => to.push("REQUEST_URI", asked),
        None => to.push("REQUEST_URI", &path_and_query(head)),
    }
    to.push("SERVER_PROTOCOL", protocol(head.version()));
    let tls = facts.connection.tls.is_some();
    to.push("REQUEST_SCHEME", if tls { b"https" } else { b"http" });
    if tls {
        to.push("HTTPS", b"on");
    }
    if let Some(bytes) = facts.content {
        to.push("CONTENT_LENGTH", bytes.to_string().as_bytes());
    }
    if let Some(content_type) = head.get(Known::ContentType) {
        to.push("CONTENT_TYPE", content_type);
    }
}

fn protocol(version: Version) -> &'static [u8] {
    match version {
        Version::Http10 => b"HTTP/1.0",
        Version::Http11 => b"HTTP/1.1",
        Version::Http2 => b"HTTP/2.0",
        Version::Http3 => b"HTTP/3.0",
    }
}

/// Variables of the server, the connection and its ends.
fn ends(facts: &Facts<'_>, to: &mut Params<'_>) {
    let (peer, local) = (facts.client.address(facts.connection), &facts.connection.local);
    let own = local.to_string();
    to.push("GATEWAY_INTERFACE", b"CGI/1.1");
    to.push("SERVER_SOFTWARE", concat!("hayami/", env!("CARGO_PKG_VERSION")).as_bytes());
    to.push("REMOTE_ADDR", peer.to_string().as_bytes());
    to.push("REMOTE_PORT", peer.port().to_string().as_bytes());
    if let Some(user) = facts.client.user() {
        to.push("AUTH_TYPE", user.scheme.as_bytes());
        to.push("REMOTE_USER", &user.name);
    }
    to.push("SERVER_ADDR", own.as_bytes());
    to.push("SERVER_PORT", local.port().to_string().as_bytes());
    let host = split_authority(facts.head.authority()).map(|(host, _)| host);
    to.push("SERVER_NAME", host.filter(|host| !host.is_empty()).unwrap_or(own.as_bytes()));
    // php-cgi refuses requests without it (cgi.force_redirect).
    to.push("REDIRECT_STATUS", b"200");
}

fn fields(facts: &Facts<'_>, to: &mut Params<'_>) {
    let head = facts.head;
    if !head.authority().is_empty() {
        to.push("HTTP_HOST", head.authority());
    }
    let mut done: Vec<&[u8]> = Vec::new();
    for FieldLine { name, value, known, .. } in head.fields().lines() {
        if !facts.passes(name, known) || done.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            continue;
        }
        let variable = variable(name);
        let mut others =
            head.fields().iter().filter(|(own, _)| own.eq_ignore_ascii_case(name)).skip(1).peekable();
        if others.peek().is_none() {
            to.push(&variable, value);
            continue;
        }
        let separator: &[u8] = if known == Some(Known::Cookie) { b"; " } else { b", " };
        let joined = others.fold(value.to_vec(), |all, (_, value)| [&all, separator, value].concat());
        to.push(&variable, &joined);
        done.push(name);
    }
}

impl Facts<'_> {
    /// Whether an application gets a field; its variable must be that of no other field.
    fn passes(&self, name: &[u8], known: Option<Known>) -> bool {
        let plain = || name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        is_for_applications(name, known)
            && (known.is_some() || plain() || self.underscores && self.is_unmistakable(name))
    }

    /// Whether no other field of the request has the variable of this name with underscores.
    #[cold]
    fn is_unmistakable(&self, name: &[u8]) -> bool {
        let dashed = dashed(name);
        let plain = dashed.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        let others = self.head.fields().iter().filter(|(other, _)| !other.eq_ignore_ascii_case(name));
        let is_taken = others.into_iter().any(|(other, _)| self::dashed(other) == dashed);
        plain && !is_taken && is_for_applications(&dashed, Known::of(&dashed))
    }
}

/// Excludes fields that the server handles itself or that are between a client and its proxy (RFC 9110 §11.7), and
/// `proxy`, which would become HTTP_PROXY.
fn is_for_applications(name: &[u8], known: Option<Known>) -> bool {
    const OF_PROXIES: [&[u8]; 4] =
        [b"proxy", b"proxy-authenticate", b"proxy-authentication-info", b"proxy-authorization"];
    match known {
        Some(Known::Host | Known::ContentLength | Known::ContentType | Known::Expect) => false,
        Some(known) => !known.is_of_connection(),
        None => !OF_PROXIES.iter().any(|own| own.eq_ignore_ascii_case(name)),
    }
}

/// The name in lower case with dashes for underscores: names that map alike have the same variable.
fn dashed(name: &[u8]) -> Vec<u8> {
    name.iter().map(|byte| if *byte == b'_' { b'-' } else { byte.to_ascii_lowercase() }).collect()
}

/// `accept-language` is HTTP_ACCEPT_LANGUAGE.
fn variable(name: &[u8]) -> String {
    let byte = |byte: &u8| if *byte == b'-' { '_' } else { char::from(byte.to_ascii_uppercase()) };
    "HTTP_".chars().chain(name.iter().map(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::User;
    use crate::handler::testing;
    use std::rc::Rc;

    fn told(facts: &Facts<'_>) -> Vec<(String, String)> {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        params(facts).iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn value<'a>(told: &'a [(String, String)], name: &str) -> Option<&'a str> {
        let mut found = told.iter().filter(|(own, _)| own == name);
        let first = found.next();
        assert!(found.next().is_none(), "{name} is told twice");
        first.map(|(_, value)| &value[..])
    }

    #[test]
    fn a_script_is_told_what_php_wants_to_know() {
        let (head, connection) = (testing::get("/app/index.php/a%20b?c=d"), testing::connection());
        let mut client = Client::default();
        client.set_user(User { name: (*b"amy").into(), scheme: "Basic" });
        let script = Script::new(b"/app", Rc::from(Path::new("/srv/www")), b"/index.php", b"/a b");
        let env = Environment::from_pairs([("APP_ENV", "test"), ("SERVER_NAME", "forced")]);
        let mut facts = Facts {
            head: &head,
            path: b"/app/index.php/a b",
            asked: None,
            script: Some(&script),
            root: None,
            connection: &connection,
            client: &client,
            content: Some(12),
            env: &env,
            underscores: false,
        };
        let got = told(&facts);
        for (name, want) in [
            ("SCRIPT_FILENAME", Some("/srv/www/index.php")),
            ("SCRIPT_NAME", Some("/app/index.php")),
            ("DOCUMENT_ROOT", Some("/srv/www")),
            ("PATH_INFO", Some("/a b")),
            ("PATH_TRANSLATED", Some("/srv/www/a b")),
            ("QUERY_STRING", Some("c=d")),
            ("REQUEST_METHOD", Some("GET")),
            ("REQUEST_URI", Some("/app/index.php/a%20b?c=d")),
            ("CONTENT_LENGTH", Some("12")),
            ("REMOTE_ADDR", Some("192.0.2.1")),
            ("REMOTE_PORT", Some("4000")),
            ("REMOTE_USER", Some("amy")),
            ("AUTH_TYPE", Some("Basic")),
            ("SERVER_ADDR", Some("198.51.100.1")),
            ("SERVER_PORT", Some("80")),
            ("SERVER_NAME", Some("forced")),
            ("SERVER_PROTOCOL", Some("HTTP/1.1")),
            ("REDIRECT_STATUS", Some("200")),
            ("HTTPS", None),
            ("APP_ENV", Some("test")),
        ] {
            assert_eq!(value(&got, name), want, "{name}");
        }
        (facts.root, facts.asked) = (Some(Path::new("/var/www/")), Some(&b"/pretty"[..]));
        let got = told(&facts);
        assert_eq!(value(&got, "SCRIPT_FILENAME"), Some("/var/www/index.php"));
        assert_eq!(value(&got, "DOCUMENT_ROOT"), Some("/var/www"));
        assert_eq!(value(&got, "REQUEST_URI"), Some("/pretty"));
        facts.script = None;
        let got = told(&facts);
        assert_eq!(value(&got, "PATH_INFO"), Some("/app/index.php/a b"));
        assert_eq!((value(&got, "SCRIPT_FILENAME"), value(&got, "PATH_TRANSLATED")), (None, None));
    }

    /// The variables made from fields.
    fn of_fields(told: &[(String, String)]) -> Vec<(&str, &str)> {
        let fields = told.iter().filter(|(name, _)| name.starts_with("HTTP_"));
        fields.map(|(name, value)| (&name[..], &value[..])).collect()
    }

    #[test]
    fn underscores_pass_if_that_is_wanted_and_nothing_else_has_the_variable() {
        let (mut head, connection, client) = (testing::get("/"), testing::connection(), Client::default());
        let fields = [
            ("X_A", "1"),
            ("x_b", "2"),
            ("X-B", "3"),
            ("Ho_st", "4"),
            ("H.x", "5"),
            ("x_a", "6"),
            ("content_length", "7"),
        ];
        for (name, value) in fields {
            head.fields_mut().append(name.as_bytes(), value.as_bytes());
        }
        let env = Environment::default();
        let mut facts = Facts {
            head: &head,
            path: b"/",
            asked: None,
            script: None,
            root: None,
            connection: &connection,
            client: &client,
            content: None,
            env: &env,
            underscores: false,
        };
        assert_eq!(of_fields(&told(&facts)), [("HTTP_X_B", "3")]);
        facts.underscores = true;
        let want = [("HTTP_X_A", "1, 6"), ("HTTP_X_B", "3"), ("HTTP_HO_ST", "4")];
        assert_eq!(of_fields(&told(&facts)), want);
    }

    #[test]
    fn fields_become_variables_that_cannot_be_forged() {
        let (mut head, connection, client) = (testing::get("/"), testing::connection(), Client::default());
        for (name, value) in [
            ("Accept-Language", "de"),
            ("X-A", "1"),
            ("x-a", "2"),
            ("Cookie", "a=1"),
            ("cookie", "b=2"),
            ("Proxy", "http://evil"),
            ("X_A", "forged"),
            ("X.A", "forged"),
            ("Content-Type", "text/plain"),
            ("Content-Length", "3"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "close"),
            ("Authorization", "Basic x"),
            ("Proxy-Authorization", "Basic x"),
        ] {
            head.fields_mut().append(name.as_bytes(), value.as_bytes());
        }
        let env = Environment::default();
        let facts = Facts {
            head: &head,
            path: b"/",
            asked: None,
            script: None,
            root: None,
            connection: &connection,
            client: &client,
            content: None,
            env: &env,
            underscores: false,
        };
        let got = told(&facts);
        let want = [
            ("HTTP_ACCEPT_LANGUAGE", "de"),
            ("HTTP_X_A", "1, 2"),
            ("HTTP_COOKIE", "a=1; b=2"),
            ("HTTP_AUTHORIZATION", "Basic x"),
        ];
        assert_eq!(of_fields(&got), want);
        assert_eq!(value(&got, "CONTENT_TYPE"), Some("text/plain"));
        assert_eq!(value(&got, "CONTENT_LENGTH"), None);
    }
}
