//! All directives, in the order of the manual. A new feature is one line here.

use super::directive::Directive;
use crate::modules::{
    access, access_log, auth, auth_request, compress, connect, early_hints, env, error_doc, error_log,
    expires, fastcgi, file, headers, hosts, http1, http2, identity, limits, listen, process, proxy, real_ip,
    redirect, reproxy, rewrite, server_timing, session_resumption, stash, static_response, tcp, throttle,
    tolerated, try_files, upstreams,
};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A part of the manual.
pub struct Group {
    /// Its heading.
    pub title: &'static str,
    /// What belongs there.
    pub directives: &'static [Directive],
}

const fn group(title: &'static str, directives: &'static [Directive]) -> Group {
    Group { title, directives }
}

/// Every directive, by feature.
pub const GROUPS: &[Group] = &[
    group("Sites", hosts::DIRECTIVES),
    group("Listening", listen::DIRECTIVES),
    group("The process", process::DIRECTIVES),
    group("TCP", tcp::DIRECTIVES),
    group("Limits", limits::DIRECTIVES),
    group("TLS", session_resumption::DIRECTIVES),
    group("HTTP/1", http1::DIRECTIVES),
    group("HTTP/2", http2::DIRECTIVES),
    group("Early hints", early_hints::DIRECTIVES),
    group("Files", file::DIRECTIVES),
    group("Front controllers", try_files::DIRECTIVES),
    group("Redirects", redirect::DIRECTIVES),
    group("Rewrites", rewrite::DIRECTIVES),
    group("Fixed responses", static_response::DIRECTIVES),
    group("Upstreams", upstreams::DIRECTIVES),
    group("Reverse proxy", proxy::DIRECTIVES),
    group("Reverse proxy over TLS", proxy::TLS_DIRECTIVES),
    group("HTTP/2 to upstreams", proxy::HTTP2),
    group("Streaming calls", proxy::STREAMING),
    group("Tunnels", proxy::TUNNELS),
    group("CONNECT", connect::DIRECTIVES),
    group("Delegated responses", reproxy::DIRECTIVES),
    group("FastCGI", fastcgi::DIRECTIVES),
    group("The client's address", real_ip::DIRECTIVES),
    group("Access control", access::DIRECTIVES),
    group("Authentication", auth::DIRECTIVES),
    group("Authorization by a subrequest", auth_request::DIRECTIVES),
    group("Response fields", headers::DIRECTIVES),
    group("Expiration", expires::DIRECTIVES),
    group("Compression", compress::DIRECTIVES),
    group("Throttling", throttle::DIRECTIVES),
    group("Server timing", server_timing::DIRECTIVES),
    group("Error pages", error_doc::DIRECTIVES),
    group("The server's name", identity::DIRECTIVES),
    group("Request environment", env::DIRECTIVES),
    group("Access log", access_log::DIRECTIVES),
    group("Error log", error_log::DIRECTIVES),
    group("Anchors", stash::DIRECTIVES),
    group("HTTP/2 and HTTP/3: accepted without effect", http2::TOLERATED),
    group("Reverse proxy: accepted without effect", proxy::TOLERATED),
    group("Accepted without effect", tolerated::DIRECTIVES),
];

/// Every directive, in the order of the manual.
pub fn all() -> impl Iterator<Item = &'static Directive> {
    GROUPS.iter().flat_map(|group| group.directives)
}

/// The directive of this name.
pub fn find(name: &str) -> Option<&'static Directive> {
    static BY_NAME: LazyLock<HashMap<&str, &Directive>> =
        LazyLock::new(|| all().map(|directive| (directive.name, directive)).collect());
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_rows_are_complete() {
        let mut names = HashSet::new();
        for directive in all() {
            let name = directive.name;
            assert!(names.insert(name), "{name} is there twice");
            assert!(directive.help.ends_with('.'), "{name}: the help is not a sentence");
            assert!(directive.levels.iter().next().is_some(), "{name} stands nowhere");
            assert!(!directive.argument.is_empty(), "{name} has no argument");
            assert!(!directive.help.contains("  "), "{name}: doubled spaces");
        }
    }

    #[test]
    fn what_is_there_is_not_announced_for_later() {
        for directive in all() {
            assert!(super::super::not_yet::topic(directive.name).is_none(), "{}", directive.name);
        }
    }
}
