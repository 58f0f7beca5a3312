//! The fields of a request to an upstream (RFC 9110 §7.6).
//!
//! Framing fields are never copied: the engine writes them from what was actually parsed, so that client and upstream
//! cannot be made to disagree about where a request ends.

use super::hop::{self, TooManyElements};
use super::{ForwardingHeaders, forwarded};
use crate::modules::headers::Command;
use hayami_http::{FieldSection, Known, RequestHead, Version};
use hayami_net::service::{Address, ConnectionInfo};
use std::cell::RefCell;

thread_local! {
    /// Scratch memory for joined field values; a request needs two of them.
    static LIST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How the fields of requests are rewritten.
#[derive(Clone, Debug, Default)]
pub(super) struct Rewriting {
    pub(super) forwarding: ForwardingHeaders,
    /// `proxy.header.*`; they apply after the server has added its own fields.
    pub(super) commands: Vec<Command>,
    /// `underscores-in-headers`
    pub(super) underscores: bool,
}

impl Rewriting {
    /// Appends the fields for a request to `host` from this connection and client. `early`: the request was received
    /// before the TLS handshake was complete.
    ///
    /// # Errors
    /// The client's Connection fields have too many elements.
    pub(super) fn write(
        &self,
        head: &RequestHead,
        host: &[u8],
        (connection, client): (&ConnectionInfo, &Address),
        early: bool,
        fields: &mut FieldSection,
    ) -> Result<(), TooManyElements> {
        fields.append(b"host", host);
        hop::pass_on(head.fields(), fields, |name, known| self.passes(name, known))?;
        if asks_for_trailers(head.fields()) {
            fields.append(b"te", b"trailers");
        }
        // RFC 8470 §5.1
        if early {
            fields.append(b"early-data", b"1");
        }
        if self.forwarding.x_forwarded {
            self.forwarded(head.fields(), connection, client, fields);
        }
        if self.forwarding.forwarded {
            joined(head.fields(), b"forwarded", |told| {
                let own = forwarded::value(told, head.authority(), connection, client);
                fields.append(b"forwarded", &own);
            });
        }
        if self.forwarding.via {
            via(head, fields);
        }
        for command in &self.commands {
            command.apply(fields);
        }
        Ok(())
    }

    /// Whether a field is forwarded. Those that the server writes itself are not.
    fn passes(&self, name: &[u8], known: Option<Known>) -> bool {
        if let Some(known) = known {
            let anew = matches!(known, Known::Host | Known::Te | Known::ContentLength | Known::Expect);
            return !anew && !known.is_of_connection();
        }
        // WSGI, Rack and PHP map `x_forwarded_for` and the `x-forwarded-for` added here to the same variable.
        if !self.underscores && name.contains(&b'_') {
            return false;
        }
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        match name.len() {
            3 => !(self.forwarding.via && is(b"via")),
            // `:protocol` belongs to HTTP/2's CONNECT (RFC 8441 §4), and is not a field.
            9 if is(b":protocol") => false,
            9 => !(self.forwarding.forwarded && is(b"forwarded")),
            10 => !is(b"early-data"),
            14 => !is(b"http2-settings"),
            15 => !(self.forwarding.x_forwarded && is(b"x-forwarded-for")),
            17 => !(self.forwarding.x_forwarded && is(b"x-forwarded-proto")),
            // RFC 9110 §11.7: proxy authentication ends at this hop.
            18 => !is(b"proxy-authenticate"),
            19 => !is(b"proxy-authorization"),
            25 => !is(b"proxy-authentication-info"),
            _ => true,
        }
    }

    /// `x-forwarded-for` and `x-forwarded-proto`.
    fn forwarded(
        &self,
        from: &FieldSection,
        connection: &ConnectionInfo,
        client: &Address,
        to: &mut FieldSection,
    ) {
        joined(from, b"x-forwarded-for", |addresses| {
            if let Address::Ip(_) = client {
                if !addresses.is_empty() {
                    addresses.extend_from_slice(b", ");
                }
                client.push(addresses);
            }
            if !addresses.is_empty() {
                to.append(b"x-forwarded-for", addresses);
            }
        });
        let told = from.get_named(b"x-forwarded-proto").filter(|_| self.forwarding.preserve_proto);
        let own: &[u8] = if connection.tls.is_some() { b"https" } else { b"http" };
        to.append(b"x-forwarded-proto", told.unwrap_or(own));
    }
}

/// `via`: the protocol version of the request, and the name of this proxy (RFC 9110 §7.6.3).
fn via(head: &RequestHead, to: &mut FieldSection) {
    let own: &[u8] = match head.version() {
        Version::Http10 => b"1.0 hayami",
        Version::Http11 => b"1.1 hayami",
        Version::Http2 => b"2 hayami",
        Version::Http3 => b"3 hayami",
    };
    joined(head.fields(), b"via", |all| {
        if !all.is_empty() {
            all.extend_from_slice(b", ");
        }
        all.extend_from_slice(own);
        to.append(b"via", all);
    });
}

/// Passes the values of all lines of a name, joined to one list (RFC 9110 §5.3), to `then`.
fn joined(fields: &FieldSection, name: &[u8], then: impl FnOnce(&mut Vec<u8>)) {
    LIST.with_borrow_mut(|list| {
        list.clear();
        let lines = fields.iter().filter(|(own, value)| own.eq_ignore_ascii_case(name) && !value.is_empty());
        for (_, value) in lines {
            if !list.is_empty() {
                list.extend_from_slice(b", ");
            }
            list.extend_from_slice(value);
        }
        then(list);
    });
}

/// Whether `te` contains `trailers`, the only value that is forwarded.
fn asks_for_trailers(fields: &FieldSection) -> bool {
    let mut words = fields.get_all(Known::Te).flat_map(|value| value.split(|byte| *byte == b','));
    words.any(|word| word.trim_ascii().eq_ignore_ascii_case(b"trailers"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use crate::modules::test_support::set;

    /// The fields that the upstream receives for a request with these, `name: value` each.
    fn rewritten(rewriting: &Rewriting, fields: &[&str]) -> Vec<String> {
        let mut head = testing::get("/");
        for field in fields {
            let (name, value) = field.split_once(": ").expect("a field");
            head.fields_mut().append(name.as_bytes(), value.as_bytes());
        }
        let mut fields = FieldSection::default();
        let connection = testing::connection();
        let ends = (&*connection, &connection.peer);
        rewriting.write(&head, b"app", ends, false, &mut fields).expect("few names");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    fn silent() -> Rewriting {
        let forwarding = ForwardingHeaders { x_forwarded: false, via: false, ..ForwardingHeaders::default() };
        Rewriting { forwarding, ..Rewriting::default() }
    }

    #[test]
    fn what_is_for_the_next_hop_only_stays_here() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["Host: site", "Accept: */*"], &["host: app", "Accept: */*"]),
            (&["connection: keep-alive", "keep-alive: timeout=5", "proxy-connection: close"], &["host: app"]),
            (&["connection: X-A , x-b", "x-a: 1", "X-B: 2", "x-c: 3"], &["host: app", "x-c: 3"]),
            (&["connection: close", "connection: x-a", "x-a: 1"], &["host: app"]),
            (
                &["transfer-encoding: chunked", "content-length: 5", "trailer: x"],
                &["host: app", "trailer: x"],
            ),
            (&["upgrade: h2c", "http2-settings: AA", "expect: 100-continue"], &["host: app"]),
            (&["te: gzip;q=0.5"], &["host: app"]),
            (&["te: gzip, Trailers", "connection: te"], &["host: app", "te: trailers"]),
            (
                &[
                    "proxy-authorization: x",
                    "Proxy-Authenticate: x",
                    "proxy-authentication-info: x",
                    "authorization: y",
                ],
                &["host: app", "authorization: y"],
            ),
            (&["early-data: 1"], &["host: app"]),
            (&["via: 1.1 a", "x-forwarded-proto: x"], &["host: app", "via: 1.1 a", "x-forwarded-proto: x"]),
        ];
        for (fields, want) in cases {
            assert_eq!(rewritten(&silent(), fields), *want, "{fields:?}");
        }
    }

    #[test]
    fn the_upstream_gets_the_clients_address_and_scheme() {
        let cases: &[(bool, &[&str], &[&str])] = &[
            (false, &[], &["x-forwarded-for: 192.0.2.1", "x-forwarded-proto: http", "via: 1.1 hayami"]),
            (
                false,
                &["X-Forwarded-For: a, b", "x-forwarded-for: c", "X-Forwarded-Proto: https", "Via: 1.0 x"],
                &["x-forwarded-for: a, b, c, 192.0.2.1", "x-forwarded-proto: http", "via: 1.0 x, 1.1 hayami"],
            ),
            (
                true,
                &["x-forwarded-proto: https", "connection: x-forwarded-for", "x-forwarded-for: "],
                &["x-forwarded-for: 192.0.2.1", "x-forwarded-proto: https", "via: 1.1 hayami"],
            ),
        ];
        for (preserve_proto, fields, want) in cases {
            let forwarding =
                ForwardingHeaders { preserve_proto: *preserve_proto, ..ForwardingHeaders::default() };
            let rewriting = Rewriting { forwarding, ..Rewriting::default() };
            assert_eq!(rewritten(&rewriting, fields)[1..], **want, "{fields:?}");
        }
    }

    #[test]
    fn names_with_underscores_pass_only_if_that_is_wanted() {
        let fields = ["X_Forwarded_For: 10.0.0.1", "a_: 1", "_: 2", "x-a: 3"];
        assert_eq!(rewritten(&silent(), &fields), ["host: app", "x-a: 3"]);
        let underscores = set(&["underscores-in-headers: ON"])
            .inherited
            .get::<crate::modules::proxy::Settings>()
            .underscores;
        let all: Vec<_> = ["host: app"].into_iter().chain(fields).collect();
        assert_eq!(rewritten(&Rewriting { underscores, ..silent() }, &fields), all);
    }

    #[test]
    fn a_forwarded_field_is_ours_if_it_is_asked_for() {
        let told = ["Forwarded: for=a", "host: site", "forwarded: for=b;proto=https"];
        let passed = ["host: app", "Forwarded: for=a", "forwarded: for=b;proto=https"];
        assert_eq!(rewritten(&silent(), &told), passed);
        let forwarding = ForwardingHeaders { forwarded: true, ..silent().forwarding };
        let rewriting = Rewriting { forwarding, ..Rewriting::default() };
        let own = "forwarded: for=a, for=b;proto=https, for=192.0.2.1;host=site;proto=http";
        assert_eq!(rewritten(&rewriting, &told), ["host: app", own]);
    }

    #[test]
    fn commands_have_the_last_word() {
        let lines = [
            "proxy.header.set: 'Host: other'",
            "proxy.header.unset: [via, cookie]",
            "proxy.header.add: 'x-a: 1'",
            "proxy.header.unset: x-forwarded-proto",
        ];
        let commands = set(&lines).inherited.get::<crate::modules::proxy::Settings>().commands.clone();
        let rewriting = Rewriting { commands, ..Rewriting::default() };
        let want = ["x-forwarded-for: 192.0.2.1", "host: other", "x-a: 1"];
        assert_eq!(rewritten(&rewriting, &["cookie: a=b"]), want);
        let commands = set(&["proxy.header.cookie.unsetunless: a"])
            .inherited
            .get::<crate::modules::proxy::Settings>()
            .commands
            .clone();
        let rewriting = Rewriting { commands, ..silent() };
        assert_eq!(rewritten(&rewriting, &["cookie: b=1; a=2; c=3"]), ["host: app", "cookie: a=2"]);
    }
}
