//! Heads of requests derived from others: internal redirects and subrequests.

use hayami_http::request::RequestLine;
use hayami_http::{RequestHead, Span, TargetForm, Version};

/// The head of a `GET` without fields for `url`, which may be relative to the target of `head`.
pub(crate) fn page(head: &RequestHead, url: &[u8]) -> RequestHead {
    with_target(b"GET", &resolve(head.path(), url), b"", head.version())
}

/// The head of a `GET` without fields for a path and query, with the same authority.
pub(crate) fn get(head: &RequestHead, target: &[u8]) -> RequestHead {
    with_target(b"GET", target, head.authority(), head.version())
}

/// `head` with another target, and the same authority unless the target names another one. Without `keep_method`, all
/// methods except HEAD become GET.
pub(crate) fn redirected(head: &RequestHead, to: &[u8], keep_method: bool) -> RequestHead {
    let kept = keep_method || head.method_name() == b"HEAD";
    let method = if kept { head.method_name() } else { b"GET" };
    let mut changed = with_target(method, &resolve(head.path(), to), head.authority(), head.version());
    head.fields().lines().for_each(|line| changed.fields_mut().append_line(line));
    changed
}

/// Path and query of a target, as received.
pub(crate) fn path_and_query(head: &RequestHead) -> Vec<u8> {
    let query = head.query().map(|query| [b"?", query].concat());
    [head.path(), &query.unwrap_or_default()].concat()
}

/// Whether the target is a URL of `https`.
pub(crate) fn is_https(head: &RequestHead) -> bool {
    head.target().get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https:"))
}

/// `url` as an absolute URL or an absolute path with its query, without fragment (RFC 3986 §5.2).
fn resolve(base: &[u8], url: &[u8]) -> Vec<u8> {
    let url = url.split(|&byte| byte == b'#').next().unwrap_or_default();
    if url.starts_with(b"/") || authority_span(url).is_some() {
        return url.to_vec();
    }
    let folder = memchr::memrchr(b'/', base).map_or(0, |slash| slash + 1);
    [&base[..folder], url].concat()
}

/// The span of the authority in `http://authority/…`.
fn authority_span(url: &[u8]) -> Option<(usize, usize)> {
    let start = memchr::memmem::find(url, b"://")? + 3;
    let scheme = &url[..start - 3];
    if scheme.is_empty() || !scheme.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let len = url[start..].iter().position(|byte| matches!(byte, b'/' | b'?'));
    Some((start, len.map_or(url.len(), |len| start + len)))
}

/// The head of a request without fields for `target`, with `authority` unless the target has its own.
fn with_target(method: &[u8], target: &[u8], authority: &[u8], version: Version) -> RequestHead {
    let bytes = [method, b" ", target, b" ", authority].concat();
    let start = method.len() + 1;
    let end = start + target.len();
    let named = authority_span(target).map(|(from, to)| (start + from, start + to));
    let path_start = named.map_or(start, |(_, end)| end);
    let query = memchr::memchr(b'?', &bytes[path_start..end]).map(|mark| path_start + mark);
    let inherited = (!authority.is_empty()).then_some((end + 1, bytes.len()));
    let mut head = RequestHead::default();
    head.reset_to(&bytes);
    head.set_line(RequestLine {
        method: Span::new(0, method.len()),
        target: Span::new(start, end),
        form: if named.is_some() { TargetForm::Absolute } else { TargetForm::Origin },
        path: Span::new(path_start, query.unwrap_or(end)),
        query: query.map(|mark| Span::new(mark + 1, end)),
        authority: named.or(inherited).map(|(from, to)| Span::new(from, to)),
        version,
    });
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use hayami_http::{Known, Method};

    #[test]
    fn targets_are_resolved_against_the_path_of_the_request() {
        let cases = [
            ("/a/b", "/404.html", "/404.html", None, ""),
            ("/a/b", "404.html?x#y", "/a/404.html", Some("x"), ""),
            ("/", "c", "/c", None, ""),
            ("/a", "http://other:81/p?q", "/p", Some("q"), "other:81"),
            ("/a", "http://other", "/", None, "other"),
            ("/a", "/x?u=http://y/", "/x", Some("u=http://y/"), ""),
        ];
        for (base, url, path, query, authority) in cases {
            let head = page(&testing::get(base), url.as_bytes());
            assert_eq!(head.path(), path.as_bytes(), "{url}");
            assert_eq!(head.query(), query.map(str::as_bytes), "{url}");
            assert_eq!(head.authority(), authority.as_bytes(), "{url}");
        }
    }

    #[test]
    fn a_redirect_stays_at_the_authority_unless_it_names_another_one() {
        let mut head = testing::get("/a");
        head.fields_mut().append(b"host", b"first");
        let same = redirected(&head, b"/b", false);
        assert_eq!((same.authority(), same.form()), (&b"first"[..], TargetForm::Origin));
        let other = redirected(&same, b"http://second:81/c?q", false);
        assert_eq!((other.authority(), other.form()), (&b"second:81"[..], TargetForm::Absolute));
        let behind = redirected(&other, b"/d?e", false);
        assert_eq!((behind.authority(), behind.form()), (&b"second:81"[..], TargetForm::Origin));
        assert_eq!(
            (behind.path(), behind.query(), behind.target()),
            (&b"/d"[..], Some(&b"e"[..]), &b"/d?e"[..])
        );
    }

    #[test]
    fn a_redirect_keeps_the_fields_and_the_method_if_it_shall() {
        for (method, keep, want) in [
            ("POST", false, Method::Get),
            ("POST", true, Method::Post),
            ("HEAD", false, Method::Head),
            ("PUT", false, Method::Get),
        ] {
            let mut head = testing::head(method, "/a");
            head.fields_mut().append(b"range", b"bytes=0-1");
            let changed = redirected(&head, b"/b", keep);
            assert_eq!((changed.method(), changed.path()), (want, &b"/b"[..]));
            assert_eq!(changed.get(Known::Range), Some(&b"bytes=0-1"[..]));
        }
    }
}
