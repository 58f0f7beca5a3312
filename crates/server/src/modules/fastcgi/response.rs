//! Interprets the head of an application's response (RFC 3875 §6.2).

use crate::modules::proxy::{TooManyElements, clean};
use hayami_http::{Known, ResponseHead};

/// What to do with a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Forward it.
    Response,
    /// Answer as for a GET of this path and query (RFC 3875 §6.2.2).
    Elsewhere(Vec<u8>),
}

/// Removes the fields meant for the server, and interprets the rest.
///
/// # Errors
/// The Connection fields have too many elements.
pub(super) fn read(head: &mut ResponseHead) -> Result<Meaning, TooManyElements> {
    let said = head.remove(b"status");
    clean(head, false)?;
    Ok(match head.get(Known::Location) {
        Some(path) if !said && path.starts_with(b"/") && !path.starts_with(b"//") => {
            Meaning::Elsewhere(path.to_vec())
        }
        _ => Meaning::Response,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::Status;

    #[test]
    fn a_location_without_a_status_is_a_redirect_inside_the_server_if_it_is_a_path() {
        let elsewhere = |path: &str| Meaning::Elsewhere(path.into());
        /// Fields, their meaning, the names that remain.
        type Case<'a> = (&'a [(&'a str, &'a str)], Meaning, &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            (&[("Location", "/a?b")], elsewhere("/a?b"), &["Location"]),
            (&[("Location", "/a"), ("Status", "302 Found")], Meaning::Response, &["Location"]),
            (&[("Location", "//other/a")], Meaning::Response, &["Location"]),
            (&[("Location", "http://other/")], Meaning::Response, &["Location"]),
            (
                &[
                    ("content-length", "1"),
                    ("Server", "x"),
                    ("Connection", "a"),
                    ("A", "b"),
                    ("Set-Cookie", "c"),
                ],
                Meaning::Response,
                &["Set-Cookie"],
            ),
        ];
        for (fields, want, left) in cases {
            let mut head = ResponseHead::new(Status::OK);
            fields.iter().for_each(|(name, value)| head.append(name.as_bytes(), value.as_bytes()));
            assert_eq!(read(&mut head).as_ref(), Ok(want), "{fields:?}");
            assert!(
                head.iter().map(|(name, _)| name).eq(left.iter().map(|name| name.as_bytes())),
                "{fields:?}"
            );
        }
    }
}
