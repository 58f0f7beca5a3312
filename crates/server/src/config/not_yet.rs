//! The directives of h2o that hayami does not have yet: a better answer than "unknown".

/// Names by what they belong to.
pub(crate) const NOT_YET: &[(&str, &[&str])] = &[
    ("automatic certificates", &["acme"]),
    ("HTTP/3", &["quic-nodes"]),
    (
        "this reverse-proxy feature",
        &["proxy.connect-udp", "proxy.connect.masque-draft-03", "proxy.http3.ratio", "proxy.http3.ecn"],
    ),
    ("the status page", &["status"]),
    ("event tracing", &["h2olog", "self-trace"]),
    ("scripting", &["mruby.handler", "mruby.handler-file", "mruby.handler_path"]),
];

/// What the directive `name` of h2o belongs to, if it is one that comes later.
pub(crate) fn topic(name: &str) -> Option<&'static str> {
    NOT_YET.iter().find(|(_, names)| names.contains(&name)).map(|(topic, _)| *topic)
}
