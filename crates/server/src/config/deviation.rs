//! Where we differ from h2o, and why: defaults, directives of our own, behaviour.

/// A default of ours that is not h2o's.
pub(super) struct Deviation {
    /// The directive.
    pub(super) name: &'static str,
    /// The default of h2o.
    pub(super) h2o: &'static str,
    /// Why ours differs.
    pub(super) reason: &'static str,
}

/// All of them, in the order of the manual.
pub(super) const DEVIATIONS: &[Deviation] = &[
    Deviation {
        name: "num-threads",
        h2o: "the number of CPUs",
        reason: "A container or a pinned process may use fewer CPUs than there are; more workers than usable \
                 CPUs only take turns.",
    },
    Deviation {
        name: "tcp-reuseport",
        h2o: "OFF",
        reason: "With a queue of its own, no worker is woken for a connection that another one takes.",
    },
    Deviation {
        name: "max-connections",
        h2o: "1024",
        reason: "The open-files limit says what the machine allows, and is raised to its maximum at the start; \
                 a fixed number is wrong on every machine but one.",
    },
    Deviation {
        name: "proxy.timeout.keepalive",
        h2o: "2000",
        reason: "A new connection costs more than one that waits. What an upstream closes is noticed at once, and \
                 a request that meets such an end is sent again if that may be done.",
    },
    Deviation {
        name: "proxy.max-buffer-size",
        h2o: "unlimited",
        reason: "A slow client must not fill the memory of the machine.",
    },
    Deviation {
        name: "proxy.tunnel",
        h2o: "OFF",
        reason: "Who proxies an application with WebSocket wants it to work. Nothing is let through that the client did \
                 not ask for and the upstream did not agree to.",
    },
    Deviation { name: "proxy.websocket", h2o: "OFF", reason: "As for `proxy.tunnel`." },
    Deviation {
        name: "proxy.ssl.cafile",
        h2o: "a file that comes with it",
        reason: "The machine's list is kept up to date.",
    },
    Deviation { name: "server-name", h2o: "h2o/VERSION", reason: "It is another server." },
];

/// Directives that h2o does not have.
pub(super) const OWN: &[&str] = &[
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
    "reproxy.sendfile",
    "resolver",
    "tcp-keepalive",
    "tcp-user-timeout",
    "try-files",
    "underscores-in-headers",
    "upstreams",
];

/// What else differs: what a configuration of h2o would notice, and why.
pub(super) const BEHAVIOUR: &[(&str, &str)] = &[
    (
        "A path that is written twice in one host is an error.",
        "h2o never reaches the second one: nobody means that.",
    ),
    ("Tags other than `!file` and `!env` are an error.", "h2o ignores them: a slip stays unseen."),
    (
        "`!env` with a variable that is not set is an error.",
        "h2o puts in nothing, and the server starts with half a configuration.",
    ),
    ("`!file` takes a pattern, `conf.d/*.conf`.", "A directory of sites is how many people keep them."),
    ("A host name is checked; h2o takes any text.", "A name that no client can send is a typing error."),
    (
        "A host without a port answers on every port of its listeners, unless the same name with that port is a host as \
         well; in h2o it stands for port 80, over TLS 443. Where that sends requests elsewhere, `-t` and the start warn.",
        "With `listen: 8080` all requests would go to the first site, whatever they ask for.",
    ),
    ("Sizes may carry a letter (`64k`), times a unit (`30s`) or a fraction.", "They read better."),
    (
        "TLS 1.2 is the lowest version of TLS; h2o begins with 1.0.",
        "TLS 1.0 and 1.1 are broken and withdrawn (RFC 8996).",
    ),
    (
        "`cipher-suite` keeps suites with ECDHE and AEAD only.",
        "Without them, whoever gets the key later reads what was recorded before.",
    ),
    (
        "An expired or unreadable certificate, or one that is not its key's, is an error of `-t` and of the start.",
        "Else every client would find it out.",
    ),
    (
        "SIGHUP reads certificates again without a new process.",
        "No connection is lost, and nothing has to be bound anew.",
    ),
    (
        "A host with `client-ca-file` answers only on connections whose handshake required its certificates; others get \
         421, and internal redirects from them 403.",
        "Otherwise a client without a certificate would ask for another host first.",
    ),
    (
        "`link` fields with `rel=preload` make a 103 Early Hints, not a push.",
        "Browsers no longer take pushes.",
    ),
    (
        "Names of upstreams are looked up at the start, and again when their TTL expires. One that cannot be resolved \
         is a warning of `-t` and of the start; meanwhile its requests get 502.",
        "A typing error shows at once, a deployment that moves is found, and no request waits for a name server.",
    ),
    (
        "`proxy.reverse.url` with `balancer: two-choices` sends a request to the less busy of two that are drawn.",
        "Workers that do not know of each other do not all run to the same upstream.",
    ),
    (
        "Upstreams may have names (`upstreams`); a group takes `balancer: {hash: …}`, `health-check`, `queue`, \
         `retry`, `slow-start`, `max-failures` and `fail-timeout`, and its backends `backup`, `down`, \
         `max-connections` and `srv`.",
        "What several paths use is written once and shares its connections; a busy or ill upstream costs nobody else.",
    ),
    (
        "Of a name's addresses the next one is tried beside the first after 250 ms (RFC 8305).",
        "One address that is silent does not cost the whole timeout.",
    ),
    (
        "An upstream that cannot be connected to is left alone for 1 second, then 2, 4, up to 16, while others can.",
        "Its own requests suffer, not one in three of all.",
    ),
    (
        "Requests that may be repeated are, if a connection ends before anything of the response has come.",
        "An upstream that restarts loses nothing.",
    ),
    (
        "gRPC is offered to `https` upstreams over HTTP/2 whatever `proxy.http2.ratio` says, and \
         `proxy.http2.force-cleartext: ON` needs no ratio of 100 beside it.",
        "gRPC knows nothing but HTTP/2, and who forces a protocol has said all there is to say.",
    ),
    (
        "Dot segments are resolved in what upstreams get; everything else of the path stays as the client wrote it.",
        "The upstream finds the path that was routed.",
    ),
    (
        "`reproxy: ON` heeds `x-accel-redirect` beside `x-reproxy-url`, keeps HEAD, and answers 502 to what is neither URL \
         nor path.",
        "Applications written for nginx need no change; where a file is need not be shown to clients.",
    ),
    (
        "`fastcgi.connect` takes several places.",
        "Requests go to each in turn, and to the next if one cannot be connected to.",
    ),
    (
        "`fastcgi.spawn` starts an application again when it ends.",
        "A crash costs the requests that it was answering, not all that follow.",
    ),
    (
        "`fastcgi.document_root` is where scripts are told to be in `file.custom-handler`, too.",
        "An application in a container finds them below another directory.",
    ),
    (
        "At a path, `fastcgi.document_root` makes files below it that end in `.php` scripts, with SCRIPT_FILENAME and \
         PATH_INFO; PATH_TRANSLATED is told of scripts only.",
        "PHP would run whatever file it is told of, uploads as well.",
    ),
    (
        "`proxy-protocol: ON` of `listen` requires a header of every connection; `{from: [ADDRESS, …], optional: ON}` takes \
         connections without one too, and believes those of the addresses only.",
        "h2o believes whoever sends one: every client could pretend to be another one.",
    ),
    (
        "A URL of the upstream in `location` becomes a path of this server, not a whole URL, over `https` as well; \
         so do those in `content-location` and `refresh`. `proxy.rewrite-location: OFF` leaves them alone.",
        "A path stays on the scheme and host that the client came by, whatever stands in front of this server.",
    ),
    (
        "An `x-reproxy-url` of another origin than the path's upstreams gets no `cookie` and no `authorization`.",
        "The client has sent its credentials to this site, and not to the other one.",
    ),
    (
        "Request fields with `_` in their names go neither to upstreams nor to FastCGI applications, unless \
         `underscores-in-headers: ON`; fields with other odd characters, and `proxy`, never become `HTTP_` variables.",
        "A client could send `x_forwarded_for` in the place of the server's own `x-forwarded-for`.",
    ),
    ("`via` names `hayami`, not the host.", "Hosts have many names; this one says whose word it is."),
    ("A month in `expires` has 30 days; in h2o it has 30 hours.", "It is a slip of h2o's."),
];
