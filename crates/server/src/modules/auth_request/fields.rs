//! Copies fields: from the client's request to the subrequest, and from its response to the original request.

use crate::internal_target;
use hayami_http::{FieldSection, Known, RequestHead, ResponseHead};

/// Most elements of a request's Connection fields: each is compared with every field.
const MOST_OPTIONS: usize = 64;

/// This server's token in `cdn-loop` (RFC 8586).
const OWN_TOKEN: &[u8] = b"hayami";

/// Limit of nested subrequests, each sent to authorize another one. More than a chain of servers needs.
pub(super) const MAX_LOOPS: usize = 8;

/// Fields that describe the original request to the authorization server. The client's are removed.
const TOLD: [&[u8]; 5] =
    [b"x-original-method", b"x-original-uri", b"x-forwarded-method", b"x-forwarded-uri", b"x-forwarded-host"];

/// The Connection fields of a request have too many elements.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyOptions;

/// The head of the subrequest for `target`, on behalf of `original`; `asked` is the path and query that the client
/// requested, if they have been rewritten.
///
/// # Errors
/// The client's Connection fields have too many elements.
pub(super) fn subrequest(
    original: &RequestHead,
    asked: Option<&[u8]>,
    target: &[u8],
) -> Result<RequestHead, TooManyOptions> {
    let mut head = internal_target::get(original, target);
    let fields = original.fields();
    let named: Vec<_> = options(fields).take(MOST_OPTIONS + 1).collect();
    if named.len() > MOST_OPTIONS {
        return Err(TooManyOptions);
    }
    let stays = |name: &[u8]| {
        !is_of_message(name) && !is_conditional(name) && !is_any(name, &TOLD) && !is_any(name, &named)
    };
    for line in fields.lines().filter(|line| stays(line.name)) {
        head.fields_mut().append_line(line);
    }
    tell(original, asked, head.fields_mut());
    Ok(head)
}

fn tell(original: &RequestHead, asked: Option<&[u8]>, to: &mut FieldSection) {
    // RFC 8441 §4: over HTTP/2, WebSocket's GET is a CONNECT.
    let extended = original.fields().get_named(b":protocol").is_some();
    let method = if extended { b"GET" } else { original.method_name() };
    let own = if original.path().is_empty() {
        original.target().to_vec()
    } else {
        internal_target::path_and_query(original)
    };
    let target = asked.unwrap_or(&own);
    for (name, value) in TOLD.into_iter().zip([method, target, method, target, original.authority()]) {
        to.append(name, value);
    }
    to.append(b"cdn-loop", OWN_TOKEN);
}

/// How many nested subrequests this request is part of.
pub(super) fn loops(fields: &FieldSection) -> usize {
    let lines = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"cdn-loop"));
    let elements = lines.flat_map(|(_, value)| value.split(|byte| *byte == b','));
    let tokens = elements.filter_map(|element| element.split(|byte| *byte == b';').next());
    tokens.filter(|token| token.trim_ascii().eq_ignore_ascii_case(OWN_TOKEN)).count()
}

/// Removes the fields of these names in any spelling that applications confuse: WSGI, Rack and PHP map `x_user`,
/// `x.user` and `x-user` to the same variable.
pub(super) fn remove(fields: &mut FieldSection, names: &[Vec<u8>]) {
    let is_named = |name: &[u8]| names.iter().any(|own| is_same_variable(own, name));
    if fields.iter().any(|(name, _)| is_named(name)) {
        fields.retain(|name, _| !is_named(name));
    }
}

/// Copies the fields of these names, and ensures that they reach an upstream: the client must not name them in
/// Connection (RFC 9110 §7.6.1).
pub(super) fn copy(from: &ResponseHead, to: &mut FieldSection, names: &[Vec<u8>]) {
    let is_named = |option: &[u8]| names.iter().any(|own| own.eq_ignore_ascii_case(option));
    if options(to).any(is_named) {
        let kept: Vec<_> = options(to).filter(|option| !is_named(option)).map(<[u8]>::to_vec).collect();
        to.retain(|name, _| !name.eq_ignore_ascii_case(b"connection"));
        if !kept.is_empty() {
            to.append(b"connection", &kept.join(&b", "[..]));
        }
    }
    for (name, value) in from.iter().filter(|(name, _)| is_named(name)) {
        to.append(name, value);
    }
}

/// Whether a field is about a message's content, framing or connection, and must not be copied to another message.
pub(super) fn is_of_message(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 12] = [
        b":protocol",
        b"connection",
        b"expect",
        b"host",
        b"http2-settings",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"range",
    ];
    name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"content-")) || is_any(name, &NAMES)
}

fn is_conditional(name: &[u8]) -> bool {
    name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"if-"))
}

fn is_any(name: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn is_same_variable(name: &[u8], other: &[u8]) -> bool {
    let folded = |byte: &u8| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'-' };
    name.len() == other.len() && name.iter().map(folded).eq(other.iter().map(folded))
}

/// The elements of the Connection fields.
fn options(fields: &FieldSection) -> impl Iterator<Item = &[u8]> {
    let elements = fields.get_all(Known::Connection).flat_map(|value| value.split(|byte| *byte == b','));
    elements.map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use hayami_http::{Method, Status};

    fn with(method: &str, target: &str, fields: &[&str]) -> RequestHead {
        let mut head = testing::head(method, target);
        for field in fields {
            let (name, value) = field.split_once(": ").expect("a field");
            head.fields_mut().append(name.as_bytes(), value.as_bytes());
        }
        head
    }

    fn shown(fields: &FieldSection) -> Vec<String> {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    #[test]
    fn a_subrequest_has_the_fields_of_the_client_but_those_of_its_message() {
        let head = with(
            "POST",
            "/a%20b?c",
            &[
                "Cookie: s=1",
                "Authorization: Bearer x",
                "Content-Length: 4",
                "Content-Type: text/plain",
                "Transfer-Encoding: chunked",
                "Expect: 100-continue",
                "Connection: upgrade, x-hop",
                "Upgrade: websocket",
                "X-Hop: 1",
                "Range: bytes=0-1",
                "If-None-Match: *",
                "X-Original-URI: /public",
                "X-Forwarded-Method: GET",
                "x-forwarded-host: other",
                "CDN-Loop: abc",
            ],
        );
        let made = subrequest(&head, None, b"/session?d").expect("few options");
        assert_eq!(
            (made.method(), made.path(), made.query()),
            (Method::Get, &b"/session"[..], Some(&b"d"[..]))
        );
        assert_eq!(made.authority(), head.authority());
        let told = |method: &str, target: &str| {
            let host = String::from_utf8_lossy(head.authority()).into_owned();
            vec![
                format!("x-original-method: {method}"),
                format!("x-original-uri: {target}"),
                format!("x-forwarded-method: {method}"),
                format!("x-forwarded-uri: {target}"),
                format!("x-forwarded-host: {host}"),
                "cdn-loop: hayami".to_owned(),
            ]
        };
        let own = ["Cookie: s=1", "Authorization: Bearer x", "CDN-Loop: abc"].map(str::to_owned).to_vec();
        assert_eq!(shown(made.fields()), [own, told("POST", "/a%20b?c")].concat());
        let made = subrequest(&with("GET", "/index.php", &[]), Some(b"/a?b"), b"/").expect("few options");
        assert_eq!(shown(made.fields()), told("GET", "/a?b"), "what the client asked for");
    }

    #[test]
    fn a_client_names_only_so_many_fields_of_its_connection() {
        let options = |count: usize| format!("Connection: {}", vec!["x"; count].join(","));
        let made = |count| subrequest(&with("GET", "/", &[&options(count)]), None, b"/").map(drop);
        assert_eq!((made(MOST_OPTIONS), made(MOST_OPTIONS + 1)), (Ok(()), Err(TooManyOptions)));
    }

    #[test]
    fn what_a_client_sends_in_place_of_copied_fields_is_removed_however_it_is_spelled() {
        let mut head = with("GET", "/", &["X-User: a", "x_user: b", "X-User_: c", "x-users: d", "X_USER: e"]);
        remove(head.fields_mut(), &[b"x-user".to_vec()]);
        assert_eq!(shown(head.fields()), ["X-User_: c", "x-users: d"]);
    }

    #[test]
    fn copied_fields_are_not_those_of_the_clients_connection() {
        let mut response = hayami_http::Response::empty(Status::OK);
        for (name, value) in [("X-User", "amy"), ("x-role", "a"), ("X-Role", "b"), ("set-cookie", "s")] {
            response.head.append(name.as_bytes(), value.as_bytes());
        }
        let names = [b"x-user".to_vec(), b"x-role".to_vec(), b"x-none".to_vec()];
        let mut head = with("GET", "/", &["Connection: keep-alive, X-User", "connection: x-role"]);
        copy(&response.head, head.fields_mut(), &names);
        let want = ["connection: keep-alive", "X-User: amy", "x-role: a", "X-Role: b"];
        assert_eq!(shown(head.fields()), want);
        let mut head = with("GET", "/", &["Connection: X-User"]);
        copy(&response.head, head.fields_mut(), &names[..1]);
        assert_eq!(shown(head.fields()), ["X-User: amy"]);
    }

    #[test]
    fn loops_are_counted() {
        let head =
            with("GET", "/", &["cdn-loop: hayami, other", "CDN-Loop: Hayami;v=1", "cdn-loop: hayami2"]);
        assert_eq!(loops(head.fields()), 2);
    }
}
