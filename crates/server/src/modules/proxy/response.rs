//! The fields of a response on their way from an upstream (RFC 9110 §7.6.1).

use super::hop;
use hayami_http::{FieldSection, Known, ResponseHead};
use std::cell::RefCell;

thread_local! {
    /// The memory of the last response's fields, for those of the next one.
    static SPARE: RefCell<FieldSection> = RefCell::default();
}

/// Removes what was meant for this hop only. Without `keep_server`, the upstream's name goes too.
pub(in crate::modules) fn clean(head: &mut ResponseHead, keep_server: bool) {
    let fields = head.own_all();
    SPARE.with_borrow_mut(|spare| {
        spare.clear();
        hop::pass_on(fields, spare, |name, known| passes(name, known, keep_server));
        std::mem::swap(fields, spare);
    });
}

fn passes(name: &[u8], known: Option<Known>, keep_server: bool) -> bool {
    match known {
        Some(Known::Server) => keep_server,
        Some(known) => !matches!(known, Known::ContentLength | Known::Te) && !known.is_of_connection(),
        None => !name.eq_ignore_ascii_case(b"proxy-authenticate"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::Status;

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
            let mut head = ResponseHead::new(Status::OK);
            for field in *fields {
                let (name, value) = field.split_once(": ").expect("a field");
                head.append(name.as_bytes(), value.as_bytes());
            }
            clean(&mut head, *keep);
            let names: Vec<_> = head.iter().map(|(name, _)| str::from_utf8(name).expect("ASCII")).collect();
            assert_eq!(names, *want, "{fields:?}");
        }
    }
}
