//! The directives of the reverse proxy.

use super::{Expect, ForwardingHeaders, Settings, options, reverse};
use crate::config::directive::{Directive, Levels, Scope, directive};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use crate::modules::fastcgi;
use crate::modules::headers::Command;
use crate::modules::headers::field::{self, Line, Ours};
use crate::modules::ignored::ignored;

const LINES: &str = "`Name: value`, or a sequence of such";
const NAMES: &str = "a name, or a sequence of names";

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    directive!(
        "proxy.reverse.url",
        PATH,
        "a URL; a sequence of URLs and {url, weight, backup, down, max-connections, srv}; or {backends: …, balancer: \
         round-robin | least-conn | two-choices | hash | {hash: …}, …} with the keys of `upstreams`",
        "",
        reverse::set,
        "Forwards requests to upstream servers: `http://host:port/path` or \
         `http://[unix:/run/app.sock]/path`. The URL's path replaces the path's prefix. Weights range from 1 \
         to 256. `http://NAME/path` refers to the upstream group of that name."
    ),
    directive!(
        "proxy.preserve-host",
        GLOBAL_HOST_PATH,
        "ON | OFF",
        "OFF",
        |scope, node| node.on_off().map(|value| own(scope).preserve_host = value),
        "Whether upstreams get the client's `host` field; otherwise they get the host and port of their URL."
    ),
    directive!(
        "underscores-in-headers",
        ALL,
        "ON | OFF",
        "OFF",
        underscores,
        "Whether request fields with `_` in their names are forwarded to upstreams and FastCGI applications. \
         Applications cannot distinguish `x_forwarded_for` from the `x-forwarded-for` that the server sets."
    ),
    directive!(
        "proxy.rewrite-location",
        GLOBAL_HOST_PATH,
        "ON | OFF",
        "ON",
        |scope, node| node.on_off().map(|on| own(scope).keeps_location = !on),
        "Whether upstream URLs in `location`, `content-location` and `refresh` of a response are rewritten \
         to the paths of this server that map to them."
    ),
    directive!(
        "proxy.timeout.io",
        GLOBAL_HOST_PATH,
        "milliseconds",
        "30000",
        |scope, node| node.milliseconds(1).map(|value| own(scope).timeouts.io = value),
        "How long an upstream may read nothing of a request or send nothing of a response."
    ),
    directive!(
        "proxy.timeout.connect",
        GLOBAL_HOST_PATH,
        "milliseconds",
        "as proxy.timeout.io",
        |scope, node| node.milliseconds(1).map(|value| own(scope).timeouts.connect = Some(value)),
        "How long a connection attempt may take, for each address of an upstream."
    ),
    directive!(
        "proxy.timeout.first_byte",
        GLOBAL_HOST_PATH,
        "milliseconds",
        "as proxy.timeout.io",
        |scope, node| node.milliseconds(1).map(|value| own(scope).timeouts.first_byte = Some(value)),
        "How long an upstream may take from the end of the request to the end of the response head."
    ),
    directive!(
        "proxy.timeout.keepalive",
        GLOBAL_HOST_PATH,
        "milliseconds",
        "60000",
        |scope, node| options::set_keep_alive(own(scope), node, node.milliseconds(0)?),
        "How long an idle connection to an upstream is kept open, unless the upstream closes it earlier; 0 \
         opens a new connection for every request."
    ),
    directive!(
        "proxy.proxy-protocol",
        GLOBAL_HOST_PATH,
        "ON | OFF | v1 | v2",
        "OFF",
        |scope, node| options::set_announcement(own(scope), node),
        "Whether connections to upstreams start with a PROXY protocol header that names both addresses of \
         the client's connection, before TLS: text (`ON`, `v1`) or binary (`v2`). Every request then uses a \
         new connection."
    ),
    directive!(
        "proxy.expect",
        GLOBAL_HOST_PATH,
        "OFF | ON | FORWARD",
        "OFF",
        |scope, node| {
            let choices = [Expect::Off, Expect::On, Expect::Forward];
            own(scope).proxy_options.expect = choices[node.one_of(&["OFF", "ON", "FORWARD"])?];
            Ok(())
        },
        "Whether requests with content carry `expect: 100-continue` and delay the content until the upstream \
         asks for it, for at most a second: all requests (`ON`), or those whose client sent it (`FORWARD`). \
         An upstream that rejects the request head then gets no content."
    ),
    directive!(
        "proxy.forward.close-connection",
        GLOBAL_HOST_PATH,
        "ON | OFF",
        "OFF",
        |scope, node| node.on_off().map(|on| own(scope).proxy_options.forward_close = on),
        "Whether the HTTP/1 connection of the client is closed when the upstream closes its connection after \
         a response."
    ),
    directive!(
        "proxy.emit-x-forwarded-headers",
        GLOBAL,
        "ON | OFF",
        "ON",
        |scope, node| node.on_off().map(|value| forwarding(scope).x_forwarded = value),
        "Whether requests to upstreams carry the client's address (`x-forwarded-for`, appended to the \
         client's own value) and protocol (`x-forwarded-proto`)."
    ),
    directive!(
        "proxy.preserve-x-forwarded-proto",
        GLOBAL,
        "ON | OFF",
        "OFF",
        |scope, node| node.on_off().map(|value| forwarding(scope).preserve_proto = value),
        "Whether the client's `x-forwarded-proto` is preserved: for a server behind another, trusted proxy."
    ),
    directive!(
        "proxy.emit-forwarded-header",
        GLOBAL,
        "ON | OFF",
        "OFF",
        |scope, node| node.on_off().map(|value| forwarding(scope).forwarded = value),
        "Whether requests to upstreams carry a `forwarded` field (RFC 7239) with the client's address, host \
         and protocol, appended to the client's own value if that is well-formed."
    ),
    directive!(
        "proxy.emit-via-header",
        GLOBAL,
        "ON | OFF",
        "ON",
        |scope, node| node.on_off().map(|value| forwarding(scope).via = value),
        "Whether requests to upstreams carry a `via` field with this server, appended to the client's own \
         value."
    ),
    directive!(
        "proxy.emit-missing-date-header",
        GLOBAL,
        "ON | OFF",
        "ON",
        |scope, node| node.on_off().map(|value| forwarding(scope).date = value),
        "Whether an upstream response without `date` gets one, as downstream caches need it (RFC 9110 \
         §6.6.1)."
    ),
    directive!(
        "proxy.header.add",
        GLOBAL_HOST_PATH,
        LINES,
        "",
        |scope, node| lines(scope, node, Command::Add),
        "Adds a field line to requests to upstreams."
    ),
    directive!(
        "proxy.header.append",
        GLOBAL_HOST_PATH,
        LINES,
        "",
        |scope, node| lines(scope, node, Command::Append),
        "Adds a field line to requests to upstreams, or appends the value to the first line of that name, \
         separated by a comma."
    ),
    directive!(
        "proxy.header.merge",
        GLOBAL_HOST_PATH,
        LINES,
        "",
        |scope, node| lines(scope, node, Command::Merge),
        "Adds a field line to requests to upstreams, or adds the value to the comma-separated list of the \
         first line of that name unless the list contains it."
    ),
    directive!(
        "proxy.header.set",
        GLOBAL_HOST_PATH,
        LINES,
        "",
        set_lines,
        "Replaces all field lines of that name, including `host`, in requests to upstreams."
    ),
    directive!(
        "proxy.header.setifempty",
        GLOBAL_HOST_PATH,
        LINES,
        "",
        |scope, node| lines(scope, node, Command::SetIfEmpty),
        "Adds a field line to requests to upstreams unless a field of that name exists."
    ),
    directive!(
        "proxy.header.unset",
        GLOBAL_HOST_PATH,
        NAMES,
        "",
        |scope, node| {
            let names = field::names(&node.one_or_many(), OF_REQUESTS)?;
            command(scope, Command::Unset(names))
        },
        "Removes all field lines of these names from requests to upstreams."
    ),
    directive!(
        "proxy.header.unsetunless",
        GLOBAL_HOST_PATH,
        NAMES,
        "",
        |scope, node| {
            let mut names = field::names(&node.one_or_many(), OF_REQUESTS)?;
            // RFC 9112 §3.2: every request has one.
            names.push(b"host".to_vec());
            command(scope, Command::UnsetUnless(names))
        },
        "Removes all field lines except `host` and those of these names from requests to upstreams."
    ),
    directive!(
        "proxy.header.cookie.unset",
        GLOBAL_HOST_PATH,
        NAMES,
        "",
        |scope, node| command(scope, Command::CookieUnset(field::cookies(&node.one_or_many())?)),
        "Removes cookies of these names from requests to upstreams."
    ),
    directive!(
        "proxy.header.cookie.unsetunless",
        GLOBAL_HOST_PATH,
        NAMES,
        "",
        |scope, node| command(scope, Command::CookieUnsetUnless(field::cookies(&node.one_or_many())?)),
        "Removes all cookies except those of these names from requests to upstreams."
    ),
];

/// Directives of h2o that have no effect here.
pub const TOLERATED: &[Directive] = &[ignored!(
    "proxy.zerocopy",
    GLOBAL,
    "ON | OFF | ALWAYS",
    "OFF",
    "Whether h2o forwards content through pipes.",
    "content is not forwarded through pipes",
    |node| node.one_of(&["ON", "OFF", "ALWAYS"]).map(|_| false)
)];

/// In requests for upstreams: fields of the connection (RFC 9110 §7.6.1) and of the framing (RFC 9112 §6).
const OF_REQUESTS: &Ours = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn own<'a>(scope: &'a mut Scope<'_>) -> &'a mut Settings {
    scope.inherited.get_mut::<super::Settings>()
}

fn forwarding<'a>(scope: &'a mut Scope<'_>) -> &'a mut ForwardingHeaders {
    scope.global.get_mut::<super::ForwardingHeaders>()
}

/// Applies to FastCGI as well.
fn underscores(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let on = node.on_off()?;
    (own(scope).underscores, scope.inherited.get_mut::<fastcgi::Settings>().underscores) = (on, on);
    Ok(())
}

fn command(scope: &mut Scope<'_>, command: Command) -> Result<(), ConfigError> {
    own(scope).commands.push(command);
    Ok(())
}

fn lines(scope: &mut Scope<'_>, node: &Node, make: fn(Line) -> Command) -> Result<(), ConfigError> {
    lines_but(scope, node, OF_REQUESTS, make)
}

/// Host may be replaced: there is always exactly one (RFC 9112 §3.2).
fn set_lines(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let ours: Vec<_> = OF_REQUESTS.iter().copied().filter(|name| *name != "host").collect();
    lines_but(scope, node, &ours, Command::Set)
}

fn lines_but(
    scope: &mut Scope<'_>,
    node: &Node,
    ours: &Ours,
    make: fn(Line) -> Command,
) -> Result<(), ConfigError> {
    for line in node.one_or_many() {
        let line = field::line(line, ours)?;
        command(scope, make(line))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::modules::test_support::{error, set};
    use std::time::Duration;

    #[test]
    fn settings_are_read() {
        assert_eq!(
            set(&[]).inherited.get::<crate::modules::proxy::Settings>().timeouts.keep_alive,
            Duration::from_secs(60)
        );
        let settings = set(&[
            "proxy.timeout.io: 1000",
            "proxy.timeout.connect: 200",
            "proxy.timeout.first_byte: 5000",
            "proxy.timeout.keepalive: 0",
            "proxy.preserve-host: ON",
        ])
        .inherited
        .get::<crate::modules::proxy::Settings>()
        .clone();
        assert_eq!(settings.timeouts.io, Duration::from_secs(1));
        assert_eq!(settings.timeouts.connect, Some(Duration::from_millis(200)));
        assert_eq!(settings.timeouts.first_byte, Some(Duration::from_secs(5)));
        assert_eq!(settings.timeouts.keep_alive, Duration::ZERO);
        assert!(settings.preserve_host);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let framing = "is set by the server and cannot be changed";
        let cases = [
            ("proxy.timeout.io: 0", "expected a time from 1 ms to 2147483647 ms, found `0`".to_owned()),
            ("proxy.timeout.io: 1 s", "expected a number of milliseconds, or a time such as `500ms`, `30s`, `5m` or `1h`, found `1 s`; did you mean `1s`?".to_owned()),
            ("proxy.preserve-host: yes", "expected ON or OFF, found `yes`; write `ON`".to_owned()),
            ("proxy.header.add: 'Host: a'", format!("`host` {framing}; see proxy.header.set")),
            ("proxy.header.unset: host", format!("`host` {framing}; see proxy.header.set")),
            ("proxy.header.set: 'Content-Length: 1'", format!("`content-length` {framing}")),
            ("proxy.header.set: x", "expected `Name: value`, found `x`".to_owned()),
        ];
        for (line, want) in cases {
            assert_eq!(error(line), want);
        }
    }
}
