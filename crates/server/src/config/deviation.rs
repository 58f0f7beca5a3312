//! Deviations from h2o, and their reasons: defaults, additional directives, behaviour.

/// A default that differs from h2o's.
pub(crate) struct Deviation {
    /// The directive.
    pub(crate) name: &'static str,
    /// The default of h2o.
    pub(crate) h2o: &'static str,
    /// The reason.
    pub(crate) reason: &'static str,
}

/// All of them, in the order of the manual.
pub(crate) const DEVIATIONS: &[Deviation] = &[
    Deviation {
        name: "num-threads",
        h2o: "the number of CPUs",
        reason: "A container or a pinned process may have fewer CPUs than the machine; more workers than \
                 usable CPUs only compete for them.",
    },
    Deviation {
        name: "tcp-reuseport",
        h2o: "OFF",
        reason: "With a queue per worker, no worker wakes up for a connection that another worker accepts.",
    },
    Deviation {
        name: "max-connections",
        h2o: "1024",
        reason: "The open-files limit states what the machine allows, and is raised to its maximum at \
                 startup; no fixed number suits every machine.",
    },
    Deviation {
        name: "proxy.timeout.keepalive",
        h2o: "2000",
        reason: "A new connection costs more than an idle one. A connection that the upstream closes is \
                 noticed at once, and a request that races with the close is retried when that is safe.",
    },
    Deviation {
        name: "proxy.max-buffer-size",
        h2o: "unlimited",
        reason: "A slow client must not fill the machine's memory.",
    },
    Deviation {
        name: "proxy.tunnel",
        h2o: "OFF",
        reason: "WebSocket applications work behind the proxy without configuration. A tunnel opens only if \
                 the client asks for it and the upstream agrees.",
    },
    Deviation { name: "proxy.websocket", h2o: "OFF", reason: "As for `proxy.tunnel`." },
    Deviation {
        name: "proxy.ssl.cafile",
        h2o: "a bundled file",
        reason: "The operating system keeps its list up to date.",
    },
    Deviation { name: "server-name", h2o: "h2o/VERSION", reason: "It is a different server." },
];

/// Directives that h2o does not have.
pub(crate) const OWN: &[&str] = &[
    "allow",
    "auth.basic",
    "auth.request",
    "deny",
    "file.cache.descriptors",
    "file.cache.max-file-size",
    "file.cache.max-frequent-file-size",
    "file.cache.revalidate",
    "file.cache.size",
    "file.symlinks",
    "http1-response-io-timeout",
    "http2-prior-knowledge",
    "internal",
    "limit-chunk-extensions",
    "limit-chunk-line",
    "limit.connections",
    "limit.requests",
    "limit-request-fields",
    "limit-request-head",
    "limit-request-line",
    "limit-request-memory",
    "limit-request-spool",
    "limit-request-trailer",
    "proxy.timeout.stream",
    "min-rate",
    "proxy.timeout.tunnel",
    "proxy.emit-forwarded-header",
    "proxy.rewrite-location",
    "proxy.ssl.certificate",
    "proxy.ssl.name",
    "proxy.tcp-keepalive",
    "proxy.tcp-user-timeout",
    "real-ip",
    "reproxy.sendfile",
    "resolver",
    "return",
    "rewrite",
    "satisfy",
    "tcp-keepalive",
    "tcp-user-timeout",
    "try-files",
    "underscores-in-headers",
    "upstreams",
];

/// Other differences that users of h2o would notice, and the reasons.
pub(crate) const BEHAVIOUR: &[(&str, &str)] = &[
    (
        "A path that is defined twice in a host is an error.",
        "h2o never reaches the second definition, which is never intended.",
    ),
    (
        "Tags other than `!file` and `!env` are an error.",
        "h2o ignores them, so a typing error goes unnoticed.",
    ),
    (
        "`!env` with a variable that is not set is an error.",
        "h2o inserts an empty value, and the server starts with an incomplete configuration.",
    ),
    (
        "`!file` accepts a pattern such as `conf.d/*.conf`.",
        "Many operators keep one file per site in a directory.",
    ),
    ("Host names are validated; h2o accepts any text.", "A name that no client can send is a typing error."),
    (
        "A host without a port serves every port of its listeners, unless the same name with that port is also a host; \
         in h2o it means port 80, over TLS 443. If that changes where requests go, `-t` and the start warn.",
        "With `listen: 8080` all requests would go to the first site, regardless of their host.",
    ),
    ("Sizes accept a suffix (`64k`), times a unit (`30s`) or a fraction.", "They are easier to read."),
    (
        "The minimum version of TLS is 1.2; h2o supports TLS 1.0 and later.",
        "TLS 1.0 and 1.1 are insecure and deprecated (RFC 8996).",
    ),
    (
        "`cipher-suite` supports only ECDHE suites with AEAD.",
        "Without forward secrecy, an attacker who obtains the key later can decrypt recorded traffic.",
    ),
    (
        "An expired or unreadable certificate, or one that does not match its key, is an error of `-t` and \
         at startup.",
        "Otherwise every client would fail to connect.",
    ),
    (
        "SIGHUP reloads the configuration and certificates without a new process.",
        "No connection is lost, and no port has to be bound again.",
    ),
    (
        "A host with `client-ca-file` serves only connections whose handshake required a client certificate \
         for it; requests on other connections get 421, and their internal redirects to it get 403.",
        "Otherwise a client without a certificate could connect to another host and then request this one.",
    ),
    (
        "`link` fields with `rel=preload` are sent as 103 Early Hints, not as pushes.",
        "Browsers no longer support server push.",
    ),
    (
        "Names of upstreams are resolved at startup, and again when their TTL expires. A name that cannot be \
         resolved is a warning of `-t` and at startup; until it resolves, requests to it get 502.",
        "Typing errors show at once, address changes are followed, and no request waits for a name server.",
    ),
    (
        "`proxy.reverse.url` supports `balancer: two-choices`: of two random upstreams, the less busy one \
         gets the request.",
        "Workers that decide independently do not all choose the same upstream.",
    ),
    (
        "Upstreams may have names (`upstreams`); a group takes `balancer: {hash: …}`, `health-check`, `queue`, \
         `retry`, `slow-start`, `max-failures` and `fail-timeout`, and its backends `backup`, `down`, \
         `max-connections` and `srv`.",
        "A group that several paths use is written once and shares its connections; a busy or failing \
         upstream does not affect the others.",
    ),
    (
        "If the first address of a name does not connect within 250 ms, the next one is tried in parallel \
         (RFC 8305).",
        "One unreachable address does not cost the whole timeout.",
    ),
    (
        "An upstream that refuses connections is ejected for 1 second, then 2, 4, up to 16, as long as other \
         upstreams are available.",
        "Only the request that detects the failure is delayed, not every third request.",
    ),
    (
        "Requests that are safe to retry are retried if the connection closes before the first byte of the \
         response.",
        "No request is lost when an upstream restarts.",
    ),
    (
        "For gRPC, `https` upstreams are offered HTTP/2 regardless of `proxy.http2.ratio`, and \
         `proxy.http2.force-cleartext: ON` works without a ratio of 100.",
        "gRPC requires HTTP/2, and forcing the protocol is explicit enough.",
    ),
    (
        "Dot segments are resolved before a path is sent to the upstream; the rest of the path stays as the \
         client sent it.",
        "The upstream sees the same path that was routed.",
    ),
    (
        "`reproxy: ON` supports `x-accel-redirect` in addition to `x-reproxy-url`, keeps the method HEAD, \
         and returns 502 for a value that is neither a URL nor a path.",
        "Applications written for nginx work unchanged; the location of a file stays hidden from clients.",
    ),
    (
        "`fastcgi.connect` accepts several addresses.",
        "Requests are distributed in turn; an application that refuses connections is skipped.",
    ),
    (
        "`fastcgi.spawn` restarts an application that exits.",
        "A crash fails only the requests in progress, not all later ones.",
    ),
    (
        "`fastcgi.document_root` also replaces the document root of scripts in `file.custom-handler`.",
        "An application in a container sees them below a different directory.",
    ),
    (
        "At a path, `fastcgi.document_root` treats files below it that end in `.php` as scripts, with \
         SCRIPT_FILENAME and PATH_INFO; PATH_TRANSLATED is sent for scripts only.",
        "PHP would run any file that it is given, including uploads.",
    ),
    (
        "`proxy-protocol: ON` in `listen` requires a header on every connection; `{from: [ADDRESS, …], \
         optional: ON}` also accepts connections without one, and trusts headers from these addresses only.",
        "h2o trusts a header from any client, so a client could spoof its address.",
    ),
    (
        "An upstream URL in `location` is rewritten to a path of this server, not to a full URL, also over \
         `https`; so are those in `content-location` and `refresh`. `proxy.rewrite-location: OFF` disables \
         this.",
        "A path keeps the scheme and host that the client used, even behind another proxy.",
    ),
    (
        "Requests for an `x-reproxy-url` whose origin is not one of the path's upstreams carry no `cookie` \
         and no `authorization`.",
        "The client sent its credentials to this site, not to the other origin.",
    ),
    (
        "Request fields with `_` in their names are forwarded to upstreams and FastCGI applications only \
         with `underscores-in-headers: ON`; fields with other unusual characters, and `proxy`, never become \
         `HTTP_` variables.",
        "A client could use `x_forwarded_for` to spoof the server's own `x-forwarded-for`.",
    ),
    ("`via` names `hayami`, not the host.", "A host has many names; this one identifies the software."),
    (
        "The order of the codings in `compress` is the server's preference among those that the client weighs \
         equally; h2o prefers br to zstd to gzip whatever the order and the weights.",
        "Both sides can say what they want.",
    ),
    (
        "A compressed response has a weak entity tag and no digest fields; `vary` names `accept-encoding` also \
         if a compressible response is not compressed.",
        "The tag and the digests are those of other bytes, and a cache must keep both forms apart.",
    ),
    (
        "Compressed content is flushed when the upstream pauses.",
        "Server-sent events arrive when they are sent.",
    ),
    ("A month in `expires` has 30 days; in h2o it has 30 hours.", "This is a bug in h2o."),
];
