//! Targets for upstreams: the path's prefix is replaced by the URL's path.
//!
//! The rest behind the prefix is sent as the client wrote it, percent-encoding and repeated slashes included; only dot
//! segments are resolved, so that the upstream cannot resolve a path out of the prefix that the router has not seen.
//! The same path, normalized by the upstream, is the path that was routed.

use hayami_http::{RequestHead, push_percent_encoded};

/// What follows the path's prefix in a request, query included, as it is sent.
#[derive(Debug)]
pub(super) struct Below {
    /// The prefix ends in a slash.
    slash: bool,
    bytes: Vec<u8>,
}

impl Below {
    /// Extracts it from `head`, whose normalized path is `path`, with the prefix in the first `below` bytes.
    pub(super) fn new(head: &RequestHead, path: &[u8], below: usize) -> Self {
        let raw = head.path();
        let mut bytes = Vec::with_capacity(raw.len() + head.query().map_or(0, |query| query.len() + 1));
        if raw == path {
            push(&raw[below..], &mut bytes);
        } else {
            push_resolved(raw, below, &mut bytes);
        }
        if let Some(query) = head.query() {
            bytes.push(b'?');
            push(query, &mut bytes);
        }
        Self { slash: path[..below].ends_with(b"/"), bytes }
    }

    /// The target for an upstream whose URL has this path.
    pub(super) fn at(&self, path: &[u8]) -> Vec<u8> {
        let rest = &self.bytes[..];
        let is_here = matches!(rest.first(), None | Some(b'?'));
        let mut target = Vec::with_capacity(path.len() + rest.len() + 1);
        target.extend_from_slice(path);
        match (self.slash, target.ends_with(b"/")) {
            (true, false) => target.push(b'/'),
            (false, true) if !is_here => _ = target.pop(),
            _ => {}
        }
        if target.is_empty() && is_here {
            target.push(b'/');
        }
        target.extend_from_slice(rest);
        target
    }
}

/// Appends `bytes`; those that are not visible, and so not allowed in a target, are percent-encoded (RFC 9112 §3.2).
fn push(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.iter().fold(true, |plain, byte| plain & byte.is_ascii_graphic()) {
        return out.extend_from_slice(bytes);
    }
    for &byte in bytes {
        match byte {
            b'!'..=b'~' => out.push(byte),
            _ => push_percent_encoded(byte, out),
        }
    }
}

/// A segment of a path that is not normalized.
struct Segment<'a> {
    /// As received, with the slash before it; only the first may lack that.
    raw: &'a [u8],
    /// Where the segment itself begins in `raw`.
    begins: usize,
}

impl Segment<'_> {
    fn text(&self) -> &[u8] {
        &self.raw[self.begins..]
    }

    fn is_empty(&self) -> bool {
        self.raw.len() == self.begins
    }
}

/// Appends what follows the first `below` bytes of the normalized path, taken from `raw`.
#[cold]
fn push_resolved(raw: &[u8], below: usize, out: &mut Vec<u8>) {
    let segments = resolve(raw);
    let last = segments.len().saturating_sub(1);
    // Bytes of the normalized path before this segment.
    let mut before = 0;
    for (index, segment) in segments.iter().enumerate() {
        // Repeated slashes count as one.
        if segment.is_empty() && index < last {
            if before >= below {
                push(segment.raw, out);
            }
            continue;
        }
        let end = before + 1 + decoded_len(segment.text());
        if before >= below {
            push(segment.raw, out);
        } else if end > below {
            push(behind(segment.text(), below - before - 1), out);
        }
        before = end;
    }
}

/// The segments that remain after removing dot segments (RFC 3986 §5.2.4), as `normalize` does it.
fn resolve(raw: &[u8]) -> Vec<Segment<'_>> {
    let mut kept: Vec<Segment<'_>> = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let begins = slash_len(rest);
        let end = begins + segment_len(&rest[begins..]);
        let (segment, after) = rest.split_at(end);
        rest = after;
        let segment = Segment { raw: segment, begins };
        let dots = match dots_in(segment.text()) {
            None => {
                kept.push(segment);
                continue;
            }
            Some(dots) => dots,
        };
        if dots == 2 {
            while kept.pop().is_some_and(|segment| segment.is_empty()) {}
        }
        if rest.is_empty() {
            // A path that ends in dot segments names a directory.
            kept.push(Segment { raw: b"/", begins: 1 });
        }
    }
    kept
}

/// Length of the slash that the path begins with, plain or encoded.
fn slash_len(path: &[u8]) -> usize {
    match path {
        [b'/', ..] => 1,
        [b'%', b'2', b'f' | b'F', ..] => 3,
        _ => 0,
    }
}

/// Bytes up to the next slash.
fn segment_len(path: &[u8]) -> usize {
    (0..path.len()).find(|at| slash_len(&path[*at..]) > 0).unwrap_or(path.len())
}

/// 1 or 2 if the segment is `.` or `..`, encoded or not.
fn dots_in(segment: &[u8]) -> Option<usize> {
    let (mut rest, mut dots) = (segment, 0);
    while !rest.is_empty() {
        rest = match rest {
            [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => rest,
            _ => return None,
        };
        dots += 1;
    }
    (1..=2).contains(&dots).then_some(dots)
}

/// Length of the decoded segment.
fn decoded_len(segment: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < segment.len() {
        at += if segment[at] == b'%' { 3 } else { 1 };
        count += 1;
    }
    count
}

/// What follows the first `count` decoded bytes of the segment.
fn behind(segment: &[u8], count: usize) -> &[u8] {
    let mut at = 0;
    for _ in 0..count {
        at += if segment.get(at) == Some(&b'%') { 3 } else { 1 };
    }
    segment.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use hayami_http::normalize;
    use proptest::prelude::*;

    fn target(prefix: &str, url_path: &str, asked: &str) -> String {
        let head = testing::get(asked);
        let mut scratch = Vec::new();
        let path = normalize(head.path(), &mut scratch).expect("a path").to_vec();
        assert!(path.starts_with(prefix.as_bytes()), "{asked} is below {prefix}");
        let target = Below::new(&head, &path, prefix.len()).at(url_path.as_bytes());
        String::from_utf8(target).expect("ASCII")
    }

    #[test]
    fn the_prefix_makes_room_for_the_path_of_the_url() {
        let cases = [
            ("/", "", "/", "/"),
            ("/", "/", "/a?b", "/a?b"),
            ("/", "/app", "/a", "/app/a"),
            ("/", "/app/", "/a", "/app/a"),
            ("/api", "", "/api", "/"),
            ("/api", "", "/api?q", "/?q"),
            ("/api", "", "/api/x", "/x"),
            ("/api", "/", "/api", "/"),
            ("/api", "/", "/api?q", "/?q"),
            ("/api", "/", "/api/x", "/x"),
            ("/api/", "/", "/api/x", "/x"),
            ("/api/", "/v1", "/api/x", "/v1/x"),
            ("/api/", "/v1", "/api/", "/v1/"),
            ("/api", "/v1", "/api", "/v1"),
            ("/api", "/v1/", "/api", "/v1/"),
            ("/api", "/v1/", "/api/x?y=/z", "/v1/x?y=/z"),
        ];
        for (prefix, path, asked, want) in cases {
            assert_eq!(target(prefix, path, asked), want, "{prefix} {path} {asked}");
        }
    }

    #[test]
    fn what_follows_the_prefix_stays_as_it_was_written() {
        let cases = [
            ("/", "/a%20b%2Fc", "/a%20b%2Fc"),
            ("/", "/http://x/", "/http://x/"),
            ("/", "/a//b/./c", "/a//b/c"),
            ("/", "/é?é", "/%C3%A9?%C3%A9"),
            ("/api", "/%61pi/%7e", "/%7e"),
            ("/api", "/x/../api/y", "/y"),
            ("/api", "/x/%2e%2E/api//y", "//y"),
            ("/api/", "/api//y%2f", "/y%2f"),
            ("/api", "//api/y", "/y"),
            ("/api", "/api/a/..", "/"),
            ("/api", "/api/a/%2e", "/a/"),
            ("/a b", "/a%20b/c", "/c"),
            ("/a b", "/a%20b", "/"),
        ];
        for (prefix, asked, want) in cases {
            assert_eq!(target(prefix, "", asked), want, "{prefix} {asked}");
        }
    }

    proptest! {
        #[test]
        fn the_upstream_finds_the_path_that_was_routed(asked in "(/|%2f|\\.|%2e|a|%41|%|b){0,24}") {
            let head = testing::get(&format!("/{asked}"));
            let mut scratch = Vec::new();
            if let Ok(path) = normalize(head.path(), &mut scratch) {
                let path = path.to_vec();
                for below in (1..=path.len()).filter(|at| path[at - 1] == b'/' || path.get(*at) == Some(&b'/')) {
                    let sent = Below::new(&head, &path, below).at(&path[..below]);
                    let mut scratch = Vec::new();
                    prop_assert_eq!(normalize(&sent, &mut scratch), Ok(&path[..]), "{:?} at {}", sent, below);
                }
            }
        }
    }
}
