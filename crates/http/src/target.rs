//! Normalizes the path of a request target for lookup, and encodes paths for a URI (RFC 3986).
//!
//! A path is percent-decoded once, then its dot segments are removed, so that `%2e%2e` is treated like `..`
//! and no path leaves the root. A normalized path must not be decoded again. Not here: the forms of a target
//! (the parsers know them), the query, the authority ([`crate::authority`]).

use std::fmt;

/// Why a path cannot be looked up; each is answered with 400 (Bad Request).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// A `%` without two hexadecimal digits after it (RFC 3986 §2.1).
    MalformedEscape,
    /// A NUL byte, plain or encoded: no file name holds one (RFC 3986 §7.3).
    Nul,
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MalformedEscape => "a percent sign in the path is not followed by two hexadecimal digits",
            Self::Nul => "the path holds a NUL byte",
        })
    }
}

impl std::error::Error for PathFault {}

/// The path decoded, without dot segments and repeated slashes.
///
/// The result starts with `/`, holds no NUL and no segment that is `.`, `..` or empty, but for the
/// last one, which is empty if the path names a folder. `%2F` becomes a `/` like any other, as in nginx
/// and h2o. A backslash is a byte of a name.
///
/// A path that is normal already is returned as it is; else the result is written to `scratch`, whose
/// former content is lost.
///
/// # Errors
/// The path is refused; see [`PathFault`].
pub fn normalize<'a>(path: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<&'a [u8], PathFault> {
    if is_normal(path) {
        return Ok(path);
    }
    normalize_slow(path, scratch)?;
    Ok(scratch)
}

/// Whether decoding and removing would not change `path`. Errs on the side of `false` (`/.profile`).
#[inline]
fn is_normal(path: &[u8]) -> bool {
    let Some((b'/', rest)) = path.split_first() else { return false };
    // No early exit: the compiler vectorizes this (examples/path_speed.rs).
    !path.iter().zip(rest).fold(false, |odd, (&before, &byte)| {
        let after_slash = (before == b'/') & ((byte == b'/') | (byte == b'.'));
        odd | after_slash | (byte == b'%') | (byte == 0)
    })
}

fn normalize_slow(path: &[u8], scratch: &mut Vec<u8>) -> Result<(), PathFault> {
    scratch.clear();
    scratch.reserve(path.len() + 1);
    scratch.push(b'/');
    let mut segment = scratch.len(); // where the segment being read starts; a `/` stands before it
    let mut rest = path;
    while let Some((byte, after)) = next_byte(rest)? {
        rest = after;
        if byte != b'/' {
            scratch.push(byte);
            continue;
        }
        remove_dots(scratch, segment);
        if !scratch.ends_with(b"/") {
            scratch.push(b'/');
        }
        segment = scratch.len();
    }
    remove_dots(scratch, segment);
    Ok(())
}

/// The first byte, decoded, and what follows it.
fn next_byte(path: &[u8]) -> Result<Option<(u8, &[u8])>, PathFault> {
    let (byte, rest) = match path {
        [] => return Ok(None),
        // The digits' case does not matter (RFC 3986 §2.1).
        [b'%', high, low, rest @ ..] => match (hex(*high), hex(*low)) {
            (Some(high), Some(low)) => (high << 4 | low, rest),
            _ => return Err(PathFault::MalformedEscape),
        },
        [b'%', ..] => return Err(PathFault::MalformedEscape),
        [byte, rest @ ..] => (*byte, rest),
    };
    if byte == 0 { Err(PathFault::Nul) } else { Ok(Some((byte, rest))) }
}

/// Removes the last segment, which starts at `segment`, if it is a dot segment (RFC 3986 §5.2.4). `..`
/// removes its parent too; the root has none and stays.
fn remove_dots(path: &mut Vec<u8>, segment: usize) {
    match &path[segment..] {
        b"." => path.truncate(segment),
        b".." => {
            let parent = memchr::memrchr(b'/', &path[..segment - 1]);
            path.truncate(parent.map_or(1, |slash| slash + 1));
        }
        _ => {}
    }
}

/// Whether all bytes may appear in a request target: every visible one except the fragment's `#` (RFC 9110 §7.1), and
/// UTF-8, because browsers and scripts send them unencoded. The same rule as in the h1 parser.
pub fn has_target_bytes(target: &[u8]) -> bool {
    // No early exit: the compiler vectorizes this.
    target.iter().fold(true, |good, byte| good & (*byte > b' ') & (*byte != 0x7f) & (*byte != b'#'))
}

/// The value of a hexadecimal digit.
pub(crate) fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// Appends `path` to `out`, percent-encoded for use in a Location field or in a link.
///
/// Characters that are allowed in a path stay (RFC 3986 §3.3: unreserved, sub-delims, `:`, `@` and the
/// slashes). In HTML, `&` and `'` still need escaping. A relative link whose first segment contains a `:`
/// needs a `./` before it (RFC 3986 §4.2).
pub fn encode_path(path: &[u8], out: &mut Vec<u8>) {
    out.reserve(path.len());
    for &byte in path {
        if stays(byte) {
            out.push(byte);
        } else {
            push_percent_encoded(byte, out);
        }
    }
}

/// Appends a query to `out`, the bytes percent-encoded that no URL contains (RFC 3986 §3.4).
pub fn encode_query(query: &[u8], out: &mut Vec<u8>) {
    for &byte in query {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>') {
            out.push(byte);
        } else {
            push_percent_encoded(byte, out);
        }
    }
}

/// Appends a value to the query in `out`, percent-encoded so that it does not end there (RFC 3986 §3.4).
pub fn encode_query_value(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        if is_unreserved(byte) || matches!(byte, b'/' | b':' | b'@' | b',') {
            out.push(byte);
        } else {
            push_percent_encoded(byte, out);
        }
    }
}

/// Appends `byte` to `out` as `%` and two digits.
pub fn push_percent_encoded(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF"; // capitals (RFC 3986 §2.1)
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

fn stays(byte: u8) -> bool {
    is_unreserved(byte) || is_sub_delim(byte) || matches!(byte, b':' | b'@' | b'/')
}

/// RFC 3986 §2.3.
pub(crate) const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986 §2.2.
pub(crate) const fn is_sub_delim(byte: u8) -> bool {
    matches!(byte, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalized(path: &[u8]) -> Result<Vec<u8>, PathFault> {
        let mut scratch = b"left over".to_vec();
        normalize(path, &mut scratch).map(<[u8]>::to_vec)
    }

    #[test]
    fn queries_and_their_values_are_encoded_where_they_must_be() {
        let encoded = |encode: fn(&[u8], &mut Vec<u8>), text: &[u8]| {
            let mut out = Vec::new();
            encode(text, &mut out);
            String::from_utf8(out).expect("ASCII")
        };
        for (text, query, value) in [
            (&b"a=b&c/d:e?f"[..], "a=b&c/d:e?f", "a%3Db%26c/d:e%3Ff"),
            (b"%20\"<>", "%20%22%3C%3E", "%2520%22%3C%3E"),
            (b" \r\n#+\xff", "%20%0D%0A#+%FF", "%20%0D%0A%23%2B%FF"),
        ] {
            assert_eq!(
                (encoded(encode_query, text).as_str(), encoded(encode_query_value, text).as_str()),
                (query, value)
            );
        }
    }

    #[test]
    fn paths_become_what_they_name() {
        let cases: &[(&str, &str)] = &[
            ("/", "/"),
            ("", "/"),
            ("index.html", "/index.html"),
            ("/index.html", "/index.html"),
            ("/a.b/c..d/...", "/a.b/c..d/..."),
            ("/.profile", "/.profile"),
            ("/..a/.b./", "/..a/.b./"),
            ("/a%20b", "/a b"),
            ("/%e6%B0%b4", "/水"),
            ("/a%3Fb%23", "/a?b#"),
            ("/100%25", "/100%"),
            ("/%2561", "/%61"), // once, not twice
            ("/%252e%252e/", "/%2e%2e/"),
            ("//a///b//", "/a/b/"),
            ("/a/./b/.", "/a/b/"),
            ("/a/b/..", "/a/"),
            ("/a/b/../c", "/a/c"),
            ("/a/b/c/./../../g", "/a/g"), // RFC 3986 §5.2.4's own example
            ("/a//../b", "/b"),
            ("/..", "/"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("..", "/"),
            ("./../x", "/x"),
            ("/%2e%2e/%2E./.%2e/etc", "/etc"),
            ("/a%2f..%2f..%2fetc", "/etc"),
            ("/a%2Fb%2f%2Fc", "/a/b/c"),
            ("/a/%2e", "/a/"),
            ("/a/..%2f", "/"),
            ("/a\\..\\b", "/a\\..\\b"),
            ("/a/..\\..", "/a/..\\.."),
            ("/..%5c..", "/..\\.."),
            ("%2f%2f", "/"),
        ];
        for (path, want) in cases {
            let got = normalized(path.as_bytes()).expect(path);
            assert_eq!(String::from_utf8_lossy(&got), *want, "{path:?}");
        }
    }

    #[test]
    fn paths_that_name_nothing_are_refused() {
        let cases: &[(&[u8], PathFault)] = &[
            (b"/%", PathFault::MalformedEscape),
            (b"/a%2", PathFault::MalformedEscape),
            (b"/%zz", PathFault::MalformedEscape),
            (b"/%2g", PathFault::MalformedEscape),
            (b"/%%41", PathFault::MalformedEscape),
            (b"/%+1", PathFault::MalformedEscape),
            (b"/%u0041", PathFault::MalformedEscape),
            (b"/a\0b", PathFault::Nul),
            (b"\0", PathFault::Nul),
            (b"/a%00.html", PathFault::Nul),
            (b"/../%00", PathFault::Nul),
        ];
        for (path, want) in cases {
            assert_eq!(normalized(path), Err(*want), "{}", path.escape_ascii());
        }
    }

    #[test]
    fn a_normal_path_is_not_copied() {
        for path in [&b"/"[..], b"/index.html", b"/a/b.c/d~e/", b"/\xff\\"] {
            let mut scratch = Vec::new();
            assert_eq!(normalize(path, &mut scratch).map(<[u8]>::as_ptr), Ok(path.as_ptr()));
            assert_eq!(scratch.capacity(), 0);
        }
    }

    #[test]
    fn a_target_has_no_spaces_controls_and_fragments() {
        assert!(has_target_bytes("/a|{}\"?b=\u{6c34}".as_bytes()));
        for byte in *b" \t\r\n\0\x7f#" {
            assert!(!has_target_bytes(&[b'/', byte]), "{byte}");
        }
    }

    #[test]
    fn only_what_may_stand_in_a_path_stays_unencoded() {
        let cases: &[(&[u8], &str)] = &[
            (b"/a/b-c.d_e~f", "/a/b-c.d_e~f"),
            (b"/!$&'()*+,;=:@", "/!$&'()*+,;=:@"),
            (b"/a b?c#d%e", "/a%20b%3Fc%23d%25e"),
            (b"/\r\nx: y", "/%0D%0Ax:%20y"),
            (b"/<\">\\^`{|}[]", "/%3C%22%3E%5C%5E%60%7B%7C%7D%5B%5D"),
            ("/水".as_bytes(), "/%E6%B0%B4"),
            (b"\x00\x7f\xff", "%00%7F%FF"),
        ];
        for (path, want) in cases {
            let mut out = b"x".to_vec();
            encode_path(path, &mut out);
            assert_eq!(out, format!("x{want}").into_bytes());
        }
    }

    /// The reference implementation: decode all, then use a stack of segments.
    fn by_the_book(path: &[u8]) -> Result<Vec<u8>, PathFault> {
        let mut decoded = Vec::new();
        let mut rest = path;
        while let Some((byte, after)) = next_byte(rest)? {
            decoded.push(byte);
            rest = after;
        }
        let mut stack: Vec<&[u8]> = Vec::new();
        let mut folder = true;
        for segment in decoded.split(|b| *b == b'/') {
            folder = matches!(segment, b"" | b"." | b"..");
            match segment {
                b"" | b"." => {}
                b".." => drop(stack.pop()),
                name => stack.push(name),
            }
        }
        let end: &[u8] = if folder && !stack.is_empty() { b"/" } else { b"" };
        Ok([b"/", &stack.join(&b'/')[..], end].concat())
    }

    /// Paths made of the pieces that matter here.
    fn tricky() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "/", "/", ".", "..", "%2e", "%2E", "%2f", "%2F", "%25", "%", "2", "e", "a", "\\", "%00", "\0",
            "水",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn normalizing_does_what_the_book_says_and_never_escapes(path in tricky()) {
            let got = normalized(&path);
            prop_assert_eq!(&got, &by_the_book(&path));
            if let Ok(got) = got {
                prop_assert_eq!(got.first(), Some(&b'/'));
                prop_assert!(!got.contains(&0));
                let segments: Vec<_> = got[1..].split(|b| *b == b'/').collect();
                let (last, others) = segments.split_last().expect("split gives at least one");
                prop_assert!(!others.iter().chain([last]).any(|s| matches!(*s, b"." | b"..")));
                prop_assert!(!others.contains(&&b""[..]));
            }
        }

        #[test]
        fn any_bytes_are_normalized_or_refused(path: Vec<u8>) {
            prop_assert_eq!(normalized(&path), by_the_book(&path));
        }

        #[test]
        fn a_normalized_path_survives_encoding_and_normalizing_again(path: Vec<u8>) {
            if let Ok(once) = normalized(&path) {
                let mut encoded = Vec::new();
                encode_path(&once, &mut encoded);
                prop_assert_eq!(normalized(&encoded), Ok(once));
            }
        }
    }
}
