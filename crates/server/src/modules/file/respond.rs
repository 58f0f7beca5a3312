//! From an entry and a request to a response: method, coding, conditions and ranges, in this order.
//!
//! The plain GET of a file allocates nothing: its fields and bytes are shared with the entry.

use super::entry::{Representation, ServedFile};
use super::listing::{self, CountedPage};
use super::{load, multipart};
use crate::service::plain;
use hayami_http::conditional::{self, Verdict};
use hayami_http::negotiate::{self, Coding};
use hayami_http::range::{self, Ranges};
use hayami_http::{Content, Known, Method, RequestHead, Response, ResponseHead, Status, target};
use std::sync::Arc;

/// The methods supported for files.
const ALLOWED: &[u8] = b"GET, HEAD, OPTIONS";

/// The response to a method other than GET and HEAD; `None` for these two.
pub(super) fn other_method(method: Method) -> Option<Response> {
    let mut response = match method {
        Method::Get | Method::Head => return None,
        Method::Options => Response::empty(Status::OK), // RFC 9110 §9.3.7
        _ => plain(Status::METHOD_NOT_ALLOWED, ""),
    };
    response.head.append(b"allow", ALLOWED); // RFC 9110 §15.5.6 and §10.2.1
    Some(response)
}

/// The response to GET and HEAD for a file. `now` is in seconds since 1970.
#[inline]
pub(super) fn file(file: &ServedFile, head: &RequestHead, now: u64) -> Response {
    let chosen = match &*file.representations {
        [only] => only,
        several => choose(several, head),
    };
    representation(chosen, head, now)
}

/// The representation that the client prefers (RFC 9110 §12.5.3).
fn choose<'a>(representations: &'a [Representation], head: &RequestHead) -> &'a Representation {
    if head.get(Known::AcceptEncoding).is_none() {
        return &representations[0];
    }
    let accepted = negotiate::accepted(head.fields().get_all(Known::AcceptEncoding));
    let mut available = [Coding::Identity; 4];
    let count = representations.len().min(available.len());
    for (slot, representation) in available.iter_mut().zip(representations) {
        *slot = representation.coding;
    }
    let coding = accepted.prefers(&available[..count]);
    representations.iter().find(|r| r.coding == coding).unwrap_or(&representations[0])
}

/// The response to GET and HEAD for a representation: conditions first, then ranges (RFC 9110 §13.2.2).
#[inline]
pub(super) fn representation(chosen: &Representation, head: &RequestHead, now: u64) -> Response {
    let method = head.method();
    match conditional::evaluate(method, head, &chosen.validators()) {
        Verdict::Proceed => {}
        Verdict::NotModified => {
            let head = ResponseHead::with_shared(Status::NOT_MODIFIED, Arc::clone(&chosen.not_modified));
            return Response { head, content: Content::Empty };
        }
        Verdict::PreconditionFailed => {
            return plain(Status::PRECONDITION_FAILED, "");
        }
    }
    // Range is defined for GET only (RFC 9110 §14.2).
    if method == Method::Get
        && let Some(asked) = head.get(Known::Range)
        && let Some(response) = partial(chosen, head, asked, now)
    {
        return response;
    }
    whole(chosen)
}

/// The style sheet of listings. Its URL changes with it, so clients may cache it.
#[cold]
pub(super) fn style(head: &RequestHead, now: u64) -> Response {
    let sheet = load::generated(b"text/css; charset=utf-8", listing::STYLE.as_bytes().to_vec());
    let mut response = representation(&sheet, head, now);
    response.head.append(b"cache-control", b"max-age=31536000");
    response
}

/// A listing made for this response only.
#[cold]
pub(super) fn listing(page: CountedPage) -> Response {
    let mut head = ResponseHead::new(Status::OK);
    head.append(b"content-type", listing::MEDIA_TYPE);
    Response { head, content: Content::Stream(Box::new(page)) }
}

fn whole(chosen: &Representation) -> Response {
    let head = ResponseHead::with_shared(Status::OK, Arc::clone(&chosen.fields));
    Response { head, content: chosen.content() }
}

/// The response to a Range field; `None` if it is ignored.
fn partial(chosen: &Representation, head: &RequestHead, asked: &[u8], now: u64) -> Option<Response> {
    let len = chosen.len()?;
    // A listing, which has no accept-ranges, has no ranges.
    chosen.modified?;
    if !conditional::range_applies(head, &chosen.validators(), now) {
        return None;
    }
    match range::resolve(asked, len) {
        Ranges::Whole => None,
        Ranges::One(range) => Some(one_part(chosen, &range, len)),
        Ranges::Several(ranges) => {
            let (media_type, content) = multipart::byteranges(chosen, &ranges, len);
            let mut head = ResponseHead::with_shared(Status::PARTIAL_CONTENT, Arc::clone(&chosen.fields));
            head.set(b"content-type", &media_type);
            Some(Response { head, content })
        }
        Ranges::Unsatisfiable => Some(unsatisfiable(len)),
    }
}

fn one_part(chosen: &Representation, part: &std::ops::Range<u64>, len: u64) -> Response {
    let mut value = Vec::with_capacity(48);
    range::write_content_range(part, len, &mut value);
    let mut head = ResponseHead::with_shared(Status::PARTIAL_CONTENT, Arc::clone(&chosen.fields));
    head.append(b"content-range", &value); // RFC 9110 §15.3.7.1
    Response { head, content: chosen.part(part) }
}

fn unsatisfiable(len: u64) -> Response {
    let mut value = Vec::new();
    range::write_unsatisfied(len, &mut value);
    let mut response = plain(Status::RANGE_NOT_SATISFIABLE, "");
    response.head.append(b"content-range", &value); // RFC 9110 §15.5.17
    response
}

/// 301 to the directory's own path, with the query. The reference is a path, so scheme and host are kept; its single
/// leading slash prevents it from naming another host (RFC 3986 §4.2).
pub(super) fn to_directory(path: &[u8], behind: &[u8], query: Option<&[u8]>) -> Response {
    let mut location = vec![b'/'];
    let start = path.iter().position(|&b| b != b'/').unwrap_or(path.len());
    target::encode_path(&path[start..], &mut location);
    if !(behind == b"/" && location.ends_with(b"/")) {
        target::encode_path(behind, &mut location);
    }
    if let Some(query) = query {
        location.push(b'?');
        encode_query(query, &mut location);
    }
    let mut response = plain(Status::MOVED_PERMANENTLY, "");
    response.head.append(b"location", &location);
    response
}

/// The query as received; bytes not allowed in a URI are percent-encoded (RFC 3986 §3.4).
fn encode_query(query: &[u8], out: &mut Vec<u8>) {
    for byte in query {
        match byte {
            byte if byte.is_ascii_graphic() => out.push(*byte),
            byte => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}

/// 403.
pub(super) fn forbidden() -> Response {
    plain(Status::FORBIDDEN, "")
}

/// 503: descriptors or memory are exhausted, which is temporary.
pub(super) fn exhausted() -> Response {
    let mut response = plain(Status::SERVICE_UNAVAILABLE, "");
    response.head.append(b"retry-after", b"1"); // RFC 9110 §10.2.3
    response
}

/// 500: the disk failed.
pub(super) fn broken() -> Response {
    plain(Status::INTERNAL_SERVER_ERROR, "")
}
