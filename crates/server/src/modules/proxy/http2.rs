//! `proxy.http2.*`: HTTP/2 to upstreams.

use super::Settings;
use crate::config::directive::{Directive, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use hayami_client::{BUFFER, Protocol};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "proxy.http2.ratio",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "a percentage",
        default: "0",
        help: "The percentage of requests to `https` upstreams for which HTTP/2 is offered, so that many of \
               them share a connection; an upstream that does not support it gets them over HTTP/1.1. HTTP/2 \
               is always offered for gRPC.",
        set: |scope, node| node.integer(0..=100).map(|value| own(scope).ratio = value as u8),
    },
    Directive {
        name: "proxy.http2.force-cleartext",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF",
        default: "OFF",
        help: "Whether `http` upstreams are contacted over HTTP/2 with prior knowledge (RFC 9113 §3.3): for \
               gRPC and servers that are known to support it. They then get no request over HTTP/1.1, not \
               even WebSocket.",
        set: |scope, node| node.on_off().map(|value| own(scope).force_cleartext = value),
    },
    Directive {
        name: "proxy.http2.max-concurrent-streams",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "an integer from 1 to 4294967295",
        default: "100",
        help: "The maximum number of concurrent requests per HTTP/2 connection, unless the upstream allows \
               fewer; further requests open another connection.",
        set: streams,
    },
    Directive {
        name: "proxy.http2.max-concurrent_streams",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "an integer from 1 to 4294967295",
        default: "100",
        help: "The h2o 2.2 name of `proxy.http2.max-concurrent-streams`.",
        set: streams,
    },
    Directive {
        name: "proxy.max-buffer-size",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "bytes",
        default: "1m",
        help: "How much of each HTTP/2 response of an upstream is buffered in memory for a slow client. \
               Responses over HTTP/1.1 and from FastCGI applications are read as fast as the client reads \
               them, with a buffer of about 64 KiB.",
        set: |scope, node| {
            // A flow-control window has 31 bits (RFC 9113 §6.9.1).
            match node.bytes()?.min(i32::MAX as u64) {
                0 => Err(node.expected("more than 0 bytes")),
                bytes => {
                    own(scope).buffer = bytes as u32;
                    Ok(())
                }
            }
        },
    },
];

/// HTTP/2 to upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2 {
    /// `proxy.http2.ratio`
    pub ratio: u8,
    /// `proxy.http2.force-cleartext`
    pub force_cleartext: bool,
    /// `proxy.http2.max-concurrent-streams`
    pub streams: u32,
    /// `proxy.max-buffer-size`
    pub buffer: u32,
}

impl Default for Http2 {
    fn default() -> Self {
        Self { ratio: 0, force_cleartext: false, streams: 100, buffer: BUFFER }
    }
}

impl Http2 {
    /// The protocol of an upstream, over TLS or in cleartext.
    pub(super) fn protocol(self, secure: bool) -> Protocol {
        match (secure, self.force_cleartext) {
            (true, _) => Protocol::Negotiated(self.ratio),
            (false, true) => Protocol::Http2,
            (false, false) => Protocol::Http1,
        }
    }
}

fn own<'a>(scope: &'a mut Scope<'_>) -> &'a mut Http2 {
    let Settings { http2, .. } = scope.inherited.get_mut::<super::Settings>();
    http2
}

fn streams(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    node.integer(1..=u64::from(u32::MAX)).map(|value| own(scope).streams = value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};

    #[test]
    fn settings_are_read_and_say_what_is_spoken_to_whom() {
        type Case<'a> = (&'a [&'a str], u32, Protocol, Protocol);
        let cases: [Case<'_>; 4] = [
            (&[], 100, Protocol::Http1, Protocol::Negotiated(0)),
            (&["proxy.http2.ratio: 25"], 100, Protocol::Http1, Protocol::Negotiated(25)),
            (
                &["proxy.http2.ratio: 100", "proxy.http2.force-cleartext: ON"],
                100,
                Protocol::Http2,
                Protocol::Negotiated(100),
            ),
            (
                &["proxy.http2.force-cleartext: ON", "proxy.http2.max-concurrent_streams: 7"],
                7,
                Protocol::Http2,
                Protocol::Negotiated(0),
            ),
        ];
        for (lines, streams, clear, secure) in cases {
            let http2 = set(lines).inherited.get::<crate::modules::proxy::Settings>().http2;
            let got = (http2.streams, http2.protocol(false), http2.protocol(true));
            assert_eq!(got, (streams, clear, secure), "{lines:?}");
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let cases = [
            ("proxy.http2.ratio: 101", "expected an integer from 0 to 100, found `101`"),
            ("proxy.http2.max-concurrent-streams: 0", "expected an integer from 1 to 4294967295, found `0`"),
            ("proxy.http2.force-cleartext: 1", "expected ON or OFF, found `1`; write `ON`"),
        ];
        for (line, want) in cases {
            assert_eq!(error(line), want);
        }
    }
}
