//! How compression changes a response's head, and which fields forbid compression.

use hayami_http::etag::{Comparison, EntityTag, list_matches};
use hayami_http::negotiate::Coding;
use hayami_http::{FieldSection, Known, RequestHead, ResponseHead};

/// The response's own instruction about compression (`x-compress-hint`, as in h2o).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// The media type decides.
    Auto,
    /// It is compressible, whatever its type.
    On,
    /// It must not be compressed.
    Off,
}

impl Hint {
    /// Removes the field from the head, since it is meant for this server.
    pub(super) fn take(head: &mut ResponseHead) -> Self {
        let hint = match head.get(Known::XCompressHint) {
            None => return Self::Auto,
            Some(value) if value.eq_ignore_ascii_case(b"on") => Self::On,
            Some(value) if value.eq_ignore_ascii_case(b"off") => Self::Off,
            Some(_) => Self::Auto,
        };
        head.remove(Known::XCompressHint.name());
        hint
    }
}

/// The elements of a list that may have several lines (RFC 9110 §5.6.1).
fn members<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    lines.flat_map(|line| line.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

fn lines(head: &ResponseHead, name: Known) -> impl Iterator<Item = &[u8]> {
    head.sections().flat_map(move |section| section.get_all(name))
}

/// Whether the server or the client forbids changes to the content (RFC 9111 §5.2.2.6 and §5.2.1.6).
pub(super) fn forbid_transformation(request: &RequestHead, response: &ResponseHead) -> bool {
    let is = |member: &[u8]| member.eq_ignore_ascii_case(b"no-transform");
    members(lines(response, Known::CacheControl)).any(is)
        || members(request.fields().get_all(Known::CacheControl)).any(is)
}

/// The value of a `vary` that includes `accept-encoding`; `None` if it already does.
fn varied(head: &ResponseHead) -> Option<Vec<u8>> {
    let says = |member: &[u8]| member == b"*" || member.eq_ignore_ascii_case(b"accept-encoding");
    if members(lines(head, Known::Vary)).any(says) {
        return None;
    }
    let mut value = Vec::new();
    for member in members(lines(head, Known::Vary)).filter(|member| !member.is_empty()) {
        value.extend_from_slice(member);
        value.extend_from_slice(b", ");
    }
    value.extend_from_slice(b"accept-encoding");
    Some(value)
}

/// Adds Accept-Encoding to `vary` (RFC 9110 §12.5.5).
pub(super) fn add_vary(head: &mut ResponseHead) {
    if let Some(value) = varied(head) {
        head.set(b"vary", &value);
    }
}

/// Makes a strong tag weak: encoded content is equivalent to the original, but not identical byte by byte, not even to
/// the next encoding of it (RFC 9110 §8.8.1). `None` if it is malformed.
fn weakened(tag: &[u8]) -> Option<Vec<u8>> {
    let EntityTag { weak, .. } = EntityTag::parse(tag)?;
    Some(if weak { tag.to_vec() } else { [b"W/", tag].concat() })
}

/// Fields that describe other bytes than those that are sent: ranges and digests. `repr-digest` and its predecessors
/// include the content coding in the digest (RFC 9530 §3).
const OF_OTHER_BYTES: [&[u8]; 5] =
    [b"accept-ranges", b"content-digest", b"repr-digest", b"digest", b"content-md5"];

fn is_of_other_bytes(name: &[u8]) -> bool {
    OF_OTHER_BYTES.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Changes the head to that of encoded content.
pub(super) fn set_encoded(head: &mut ResponseHead, coding: Coding) {
    let tag = head.get(Known::ETag).and_then(weakened);
    let fields = head.own_all();
    fields.retain(|name, _| !is_of_other_bytes(name) && !name.eq_ignore_ascii_case(b"etag"));
    fields.append(b"content-encoding", coding.name());
    if let Some(tag) = tag {
        fields.append(b"etag", &tag);
    }
}

/// Changes the trailer section to that of encoded content.
pub(super) fn of_encoded(mut trailers: FieldSection) -> FieldSection {
    trailers.retain(|name, _| !is_of_other_bytes(name));
    trailers
}

/// Gives a 304 the tag that the client knows: if it got the content encoded, that is the weak form of the tag, and a
/// strong one would not update its stored response (RFC 9111 §4.3.4).
pub(super) fn match_tag_of_client(request: &RequestHead, head: &mut ResponseHead) {
    let Some(tag) = head.get(Known::ETag) else { return };
    let known = |comparison| {
        list_matches(request.fields().get_all(Known::IfNoneMatch), EntityTag::parse(tag), comparison)
    };
    if known(Comparison::Weak)
        && !known(Comparison::Strong)
        && let Some(tag) = weakened(tag)
    {
        head.set(b"etag", &tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use hayami_http::Status;

    fn head(lines: &[(&str, &str)]) -> ResponseHead {
        let mut head = ResponseHead::new(Status::OK);
        lines.iter().for_each(|(name, value)| head.append(name.as_bytes(), value.as_bytes()));
        head
    }

    fn shown(head: &ResponseHead) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        head.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    #[test]
    fn vary_names_accept_encoding_once_whatever_else_it_names() {
        for (before, want) in [
            (&[][..], &["vary: accept-encoding"][..]),
            (&[("Vary", "Origin")], &["vary: Origin, accept-encoding"]),
            (
                &[("Vary", "Origin,,  Cookie "), ("vary", "accept")],
                &["vary: Origin, Cookie, accept, accept-encoding"],
            ),
            (&[("Vary", "Origin, Accept-Encoding")], &["Vary: Origin, Accept-Encoding"]),
            (&[("Vary", "Origin"), ("Vary", "ACCEPT-ENCODING")], &["Vary: Origin", "Vary: ACCEPT-ENCODING"]),
            (&[("Vary", "*")], &["Vary: *"]),
            (&[("Vary", "x-accept-encoding")], &["vary: x-accept-encoding, accept-encoding"]),
            (&[("Vary", "")], &["vary: accept-encoding"]),
        ] {
            let mut head = head(before);
            add_vary(&mut head);
            assert_eq!(shown(&head), want, "{before:?}");
        }
    }

    #[test]
    fn no_transform_of_either_side_forbids_it() {
        for (request, response, want) in [
            ("", "", false),
            ("max-age=0", "public, max-age=60", false),
            ("", "no-transform", true),
            ("", "public,No-Transform , max-age=60", true),
            ("no-cache, no-transform", "", true),
            ("", "x-no-transform", false),
            ("", "no-transform=1", false),
        ] {
            let mut asked = testing::get("/");
            asked.fields_mut().append(b"cache-control", request.as_bytes());
            let head = head(&[("cache-control", "private"), ("cache-control", response)]);
            assert_eq!(forbid_transformation(&asked, &head), want, "{request:?} {response:?}");
        }
    }

    #[test]
    fn an_encoded_head_has_a_weak_tag_and_nothing_about_other_bytes() {
        let mut encoded = head(&[
            ("content-type", "text/css"),
            ("ETag", "\"a\""),
            ("Accept-Ranges", "bytes"),
            ("Content-MD5", "x"),
            ("content-digest", "sha-256=:x:"),
            ("Repr-Digest", "sha-256=:x:"),
            ("digest", "x"),
            ("last-modified", "x"),
        ]);
        set_encoded(&mut encoded, Coding::Brotli);
        let want = ["content-type: text/css", "last-modified: x", "content-encoding: br", "etag: W/\"a\""];
        assert_eq!(shown(&encoded), want);
        for (tag, want) in [("\"a\"", Some("W/\"a\"")), ("W/\"a\"", Some("W/\"a\"")), ("a", None), ("", None)]
        {
            let mut encoded = head(&[("etag", tag)]);
            set_encoded(&mut encoded, Coding::Gzip);
            assert_eq!(encoded.get(Known::ETag), want.map(str::as_bytes), "{tag}");
        }
    }

    #[test]
    fn trailers_lose_digests_of_other_bytes_only() {
        let mut trailers = FieldSection::default();
        for name in ["grpc-status", "Repr-Digest", "content-digest", "x-sum"] {
            trailers.append(name.as_bytes(), b"1");
        }
        let names: Vec<_> = of_encoded(trailers).iter().map(|(name, _)| name.to_vec()).collect();
        assert_eq!(names, [b"grpc-status".to_vec(), b"x-sum".to_vec()]);
    }

    #[test]
    fn a_304_has_the_tag_that_the_client_knows() {
        for (asked, tag, want) in [
            ("W/\"a\"", "\"a\"", "W/\"a\""),
            ("\"b\", W/\"a\"", "\"a\"", "W/\"a\""),
            ("W/\"a\"", "W/\"a\"", "W/\"a\""),
            ("\"a\"", "\"a\"", "\"a\""),
            ("\"a\", W/\"a\"", "\"a\"", "\"a\""),
            ("*", "\"a\"", "\"a\""),
            ("W/\"b\"", "\"a\"", "\"a\""),
            ("nonsense", "\"a\"", "\"a\""),
            ("W/\"a\"", "nonsense", "nonsense"),
        ] {
            let mut request = testing::get("/");
            request.fields_mut().append(b"if-none-match", asked.as_bytes());
            let mut head = head(&[("etag", tag)]);
            match_tag_of_client(&request, &mut head);
            assert_eq!(head.get(Known::ETag), Some(want.as_bytes()), "{asked} {tag}");
        }
    }

    #[test]
    fn the_hint_is_read_and_taken_out() {
        for (value, want) in
            [("on", Hint::On), ("OFF", Hint::Off), ("auto", Hint::Auto), ("", Hint::Auto), ("5", Hint::Auto)]
        {
            let mut head = head(&[("X-Compress-Hint", value), ("a", "b")]);
            assert_eq!(Hint::take(&mut head), want, "{value}");
            assert_eq!(shown(&head), ["a: b"]);
        }
        assert_eq!(Hint::take(&mut head(&[])), Hint::Auto);
    }
}
