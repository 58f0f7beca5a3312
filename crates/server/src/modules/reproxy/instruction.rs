//! Parses the fields that delegate a response.

use hayami_http::{ResponseHead, push_percent_encoded};

/// What to do instead of forwarding a response.
#[derive(Debug, PartialEq)]
pub enum Instruction {
    /// Request a path of this server, or an `http` or `https` URL, possibly of another server.
    Ask {
        /// The path with its query, or the URL.
        target: Vec<u8>,
        /// The fields that are kept of the response.
        kept: Option<Kept>,
    },
    /// Send a file.
    File {
        /// Its path below the directory, as in a target: it begins with a slash.
        path: Vec<u8>,
        /// The fields that are kept of the response.
        kept: Option<Kept>,
    },
}

/// Fields that are kept of a discarded response.
#[derive(Debug, PartialEq)]
pub struct Kept(Vec<(Vec<u8>, Vec<u8>)>);

/// Those that occur once; they replace the fields of the new response.
const ONE: [&[u8]; 4] = [b"content-type", b"content-disposition", b"cache-control", b"expires"];
const COOKIE: &[u8] = b"set-cookie";

impl Kept {
    fn of(head: &ResponseHead) -> Option<Self> {
        let stays = |name: &[u8]| ONE.iter().chain([&COOKIE]).any(|own| own.eq_ignore_ascii_case(name));
        let kept = head.iter().filter(|(name, _)| stays(name));
        let kept: Vec<_> = kept.map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        (!kept.is_empty()).then_some(Self(kept))
    }

    /// Adds them to the new response; only the cookies if that is an error.
    pub fn put_into(&self, head: &mut ResponseHead) {
        let cookies_only = head.status().is_error();
        for (name, value) in &self.0 {
            match name.eq_ignore_ascii_case(COOKIE) {
                true => head.append(name, value),
                false if cookies_only => {}
                false => head.set(name, value),
            }
        }
    }
}

/// `x-reproxy-url`. The response with it is discarded completely, as in h2o.
pub(super) fn url(value: &[u8]) -> Result<Instruction, String> {
    let scheme = value.split(|byte| *byte == b':').next().unwrap_or_default();
    let absolute = [&b"http"[..], b"https"].iter().any(|own| own.eq_ignore_ascii_case(scheme));
    let fits = value.first() == Some(&b'/') || absolute && value[scheme.len()..].starts_with(b"://");
    match fits && is_visible(value) {
        true => Ok(Instruction::Ask { target: value.to_vec(), kept: None }),
        false => {
            Err(no("x-reproxy-url", value, "an `http` URL, or a path of this server that starts with `/`"))
        }
    }
}

/// `x-accel-redirect`: a path. Bytes that nginx would accept but that are not allowed in a target are percent-encoded.
pub(super) fn path(value: &[u8], head: &ResponseHead) -> Result<Instruction, String> {
    if value.first() != Some(&b'/') {
        return Err(no("x-accel-redirect", value, "a path of this server that starts with `/`"));
    }
    let mut target = Vec::with_capacity(value.len());
    for byte in value {
        push_encoded(*byte, &mut target);
    }
    Ok(Instruction::Ask { target, kept: Kept::of(head) })
}

/// `x-sendfile`: the path of a file in the file system, below `root`.
pub(super) fn file(value: &[u8], root: &[u8], head: &ResponseHead) -> Result<Instruction, String> {
    let wrong =
        || no("x-sendfile", value, "the absolute path of a file below the directory of reproxy.sendfile");
    let below = value.strip_prefix(root).filter(|below| below.starts_with(b"/")).ok_or_else(wrong)?;
    // No segment may lead out of it; a legitimate path is normalized.
    let segments = below[1..].split(|byte| *byte == b'/');
    if below.contains(&0) || segments.into_iter().any(|segment| matches!(segment, b"" | b"." | b"..")) {
        return Err(wrong());
    }
    Ok(Instruction::File { path: below.to_vec(), kept: Kept::of(head) })
}

fn is_visible(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_graphic)
}

fn push_encoded(byte: u8, out: &mut Vec<u8>) {
    if byte.is_ascii_graphic() {
        return out.push(byte);
    }
    push_percent_encoded(byte, out);
}

fn no(field: &str, value: &[u8], wanted: &str) -> String {
    let shown: String =
        String::from_utf8_lossy(value).chars().take(200).flat_map(char::escape_default).collect();
    format!("the upstream's {field} `{shown}` is not {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::Status;

    fn ask(target: &str) -> Result<Instruction, String> {
        Ok(Instruction::Ask { target: target.as_bytes().to_vec(), kept: None })
    }

    #[test]
    fn urls_and_paths_are_asked_for_and_nothing_else() {
        let cases = [
            ("/a?b", ask("/a?b")),
            ("http://app:81/a?b", ask("http://app:81/a?b")),
            ("HTTPS://app", ask("HTTPS://app")),
        ];
        for (value, want) in cases {
            assert_eq!(url(value.as_bytes()), want, "{value}");
        }
        for wrong in ["a", "", "ftp://a/", "http:/a", "http://a/ b", "/a\u{e4}", "javascript:x"] {
            let reason = url(wrong.as_bytes()).unwrap_err();
            assert!(
                reason.ends_with("is not an `http` URL, or a path of this server that starts with `/`"),
                "{reason}"
            );
        }
        let none = ResponseHead::new(Status::OK);
        for (value, want) in [("/a%20b?c", "/a%20b?c"), ("/a b\u{e4}", "/a%20b%C3%A4")] {
            assert_eq!(path(value.as_bytes(), &none), ask(want), "{value}");
        }
        for wrong in ["a", "", "@named", "http://a/"] {
            assert!(path(wrong.as_bytes(), &none).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_are_below_the_directory() {
        let none = ResponseHead::new(Status::OK);
        for (value, want) in [("/srv/files/a", "/a"), ("/srv/files/a b/%c", "/a b/%c")] {
            let want = Instruction::File { path: want.into(), kept: None };
            assert_eq!(file(value.as_bytes(), b"/srv/files", &none), Ok(want), "{value}");
        }
        let wrong = ["/srv/files", "/srv/filesystem/a", "/etc/passwd", "a", "/srv/files/", "/srv/files/../a"];
        for value in wrong.into_iter().chain(["/srv/files/a/./b", "/srv/files//a", "/srv/files/a\0"]) {
            assert!(file(value.as_bytes(), b"/srv/files", &none).is_err(), "{value}");
        }
    }

    #[test]
    fn what_the_application_said_of_the_content_stays() {
        let mut head = ResponseHead::new(Status::OK);
        for (name, value) in
            [("Content-Type", "a/b"), ("Set-Cookie", "x=1"), ("set-cookie", "y=2"), ("etag", "1")]
        {
            head.append(name.as_bytes(), value.as_bytes());
        }
        let kept = Kept::of(&head).expect("something stays");
        let mut page = ResponseHead::new(Status::OK);
        page.append(b"content-type", b"text/plain");
        page.append(b"etag", b"2");
        kept.put_into(&mut page);
        let values = |head: &ResponseHead| head.iter().map(|(_, value)| value.to_vec()).collect::<Vec<_>>();
        let mut found = values(&page);
        found.sort();
        assert_eq!(found, [&b"2"[..], b"a/b", b"x=1", b"y=2"]);
        let mut error = ResponseHead::new(Status::NOT_FOUND);
        kept.put_into(&mut error);
        assert_eq!(values(&error), [&b"x=1"[..], b"y=2"]);
    }
}
