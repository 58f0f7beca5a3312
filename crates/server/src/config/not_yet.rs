//! The directives of h2o that hayami does not support yet, for a better message than "unknown".

/// Names by feature.
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

/// The feature of h2o's directive `name`, if it is one that is planned.
pub(crate) fn topic(name: &str) -> Option<&'static str> {
    NOT_YET.iter().find(|(_, names)| names.contains(&name)).map(|(topic, _)| *topic)
}
