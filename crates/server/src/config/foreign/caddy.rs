//! Caddy.

use super::Answer::{self, NotNeeded, Unsupported, Write};

/// Directives of a Caddyfile.
pub(super) const NAMES: &[(&str, Answer)] = &[
    ("file_server", Write("`file.dir` in a path")),
    ("browse", Write("`file.dirlisting: ON`")),
    ("precompressed", Write("`file.send-compressed: ON`")),
    ("reverse_proxy", Write("`proxy.reverse.url`")),
    ("lb_policy", Write("`balancer` in a group of `upstreams`")),
    ("health_uri", Write("`health-check` in a group of `upstreams`")),
    ("header_up", Write("`proxy.header.set`")),
    ("header_down", Write("`header.set`")),
    ("php_fastcgi", Write("`fastcgi.connect`, in `file.custom-handler`, and `try-files`")),
    (
        "encode",
        Unsupported(
            "compression on the fly is planned for a later version; `file.send-compressed` sends .gz files",
        ),
    ),
    ("redir", Write("`redirect`")),
    ("uri", Write("`rewrite`; a path and the URL of its upstream replace one prefix by another")),
    ("handle", Write("a path in `paths`")),
    ("handle_path", Write("a path in `paths`")),
    ("path_regexp", Write("a path `~ PATTERN` in `paths`")),
    ("handle_errors", Write("`error-doc`")),
    ("route", NotNeeded("handlers run in the order in which they are written")),
    ("respond", Write("`return: {status: 200, body: \"…\"}` in a path")),
    ("header", Write("`header.set`, `header.add`, `header.unset`")),
    ("request_header", Write("`proxy.header.set`")),
    ("request_body", Write("`limit-request-body`")),
    ("tls", Write("`ssl` in `listen`; automatic certificates are not supported")),
    ("bind", Write("`listen`")),
    ("log", Write("`access-log`")),
    ("import", Write("`!file conf.d/*.conf`, as a value, or an anchor")),
    ("basic_auth", Unsupported("")),
    ("basicauth", Unsupported("")),
    ("forward_auth", Unsupported("")),
    ("templates", Unsupported("")),
    ("http_port", Write("`listen`")),
    ("https_port", Write("`listen`")),
    ("admin", NotNeeded("there is no administration API")),
    ("email", Unsupported("automatic certificates are planned for a later version")),
    ("auto_https", Unsupported("automatic certificates are planned for a later version")),
];
