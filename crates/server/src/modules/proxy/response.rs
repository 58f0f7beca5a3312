//! The fields of an upstream's response (RFC 9110 §7.6.1).

use super::hop::{self, TooManyElements};
use hayami_http::{FieldSection, Known, ResponseHead, Status};
use std::cell::RefCell;

thread_local! {
    /// Memory of the last response's fields, reused for the next.
    static SPARE: RefCell<FieldSection> = RefCell::default();
}

/// Removes hop-by-hop fields. Without `keep_server`, removes the upstream's `server` too.
///
/// # Errors
/// The upstream's Connection fields have too many elements.
pub(in crate::modules) fn clean(head: &mut ResponseHead, keep_server: bool) -> Result<(), TooManyElements> {
    let challenges = head.status() == Status::PROXY_AUTHENTICATION_REQUIRED;
    let fields = head.own_all();
    SPARE.with_borrow_mut(|spare| {
        spare.clear();
        hop::pass_on(fields, spare, |name, known| match known {
            Some(Known::Server) => keep_server,
            Some(known) => !matches!(known, Known::ContentLength | Known::Te) && !known.is_of_connection(),
            None => !is_of_proxies(name, challenges),
        })?;
        std::mem::swap(fields, spare);
        Ok(())
    })
}

/// Whether a field is between a proxy and its client (RFC 9110 §11.7). A 407 is useless without its challenge
/// (RFC 9110 §15.5.8), which is therefore forwarded.
fn is_of_proxies(name: &[u8], challenges: bool) -> bool {
    match name.len() {
        18 => !challenges && name.eq_ignore_ascii_case(b"proxy-authenticate"),
        25 => name.eq_ignore_ascii_case(b"proxy-authentication-info"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the remaining fields.
    fn cleaned(status: Status, keep_server: bool, fields: &[&str]) -> Vec<String> {
        let mut head = ResponseHead::new(status);
        for field in fields {
            let (name, value) = field.split_once(": ").expect("a field");
            head.append(name.as_bytes(), value.as_bytes());
        }
        clean(&mut head, keep_server).expect("few names");
        head.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn what_was_for_this_hop_only_stays_here() {
        let cases: &[(bool, &[&str], &[&str])] = &[
            (
                false,
                &["Server: x", "ETag: \"1\"", "set-cookie: a", "set-cookie: b"],
                &["ETag", "set-cookie", "set-cookie"],
            ),
            (true, &["Server: x"], &["Server"]),
            (true, &["connection: close, X-Hop", "x-hop: 1", "date: now"], &["date"]),
            (true, &["transfer-encoding: chunked", "content-length: 1", "keep-alive: timeout=5"], &[]),
            (true, &["upgrade: h2c", "proxy-authenticate: x", "www-authenticate: y"], &["www-authenticate"]),
        ];
        for (keep, fields, want) in cases {
            assert_eq!(cleaned(Status::OK, *keep, fields), *want, "{fields:?}");
        }
    }

    #[test]
    fn the_challenge_of_a_407_goes_on_and_of_nothing_else() {
        let fields = ["Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x", "www-authenticate: y"];
        for (status, want) in [
            (Status::PROXY_AUTHENTICATION_REQUIRED, &["Proxy-Authenticate", "www-authenticate"][..]),
            (Status::UNAUTHORIZED, &["www-authenticate"]),
        ] {
            assert_eq!(cleaned(status, false, &fields), want, "{status:?}");
        }
    }

    #[test]
    fn a_response_with_too_many_names_stays_as_it_was() {
        let mut head = ResponseHead::new(Status::OK);
        head.append(b"connection", "x,".repeat(100).as_bytes());
        head.append(b"x", b"1");
        assert_eq!(clean(&mut head, false), Err(TooManyElements));
        assert_eq!(head.iter().count(), 2);
    }
}
