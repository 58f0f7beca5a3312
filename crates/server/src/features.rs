//! The one list of features. A new feature is a line here.

use crate::config::directive::Registry;
use crate::config::errors::Errors;
use crate::config::load::{self, Loaded};
use crate::config::settings::{Reading, Settings};
use crate::config::yaml::Node;
use crate::feature::Feature;
use crate::modules::{
    access, access_log, auth, auth_request, compress, connect, early_hints, env, error_doc, error_log,
    expires, fastcgi, file, headers, hosts, http1, http2, identity, ignored, limits, listen, process, proxy,
    rate_limit, real_ip, redirect, reproxy, rewrite, server_timing, session_resumption, stash,
    static_response, tcp, throttle, try_files, upstreams,
};
use crate::router::unlike_h2o;
use std::path::Path;
use std::sync::LazyLock;

/// All features, in the order of the manual, and of the filters within each phase: the commands of `header.*` see what
/// `expires` has added, and what they add may decide whether a response is compressed; `throttle-response` counts the bytes
/// that are sent.
pub const FEATURES: &[Feature] = &[
    hosts::FEATURE,
    listen::FEATURE,
    process::FEATURE,
    tcp::FEATURE,
    limits::FEATURE,
    session_resumption::FEATURE,
    http1::FEATURE,
    http2::FEATURE,
    early_hints::FEATURE,
    file::FEATURE,
    try_files::FEATURE,
    redirect::FEATURE,
    rewrite::FEATURE,
    static_response::FEATURE,
    upstreams::FEATURE,
    proxy::FEATURE,
    connect::FEATURE,
    reproxy::FEATURE,
    fastcgi::FEATURE,
    real_ip::FEATURE,
    rate_limit::FEATURE,
    auth_request::GUARD,
    access::FEATURE,
    auth::FEATURE,
    auth_request::FEATURE,
    expires::FEATURE,
    headers::FEATURE,
    compress::FEATURE,
    throttle::FEATURE,
    server_timing::FEATURE,
    error_doc::FEATURE,
    identity::FEATURE,
    env::FEATURE,
    access_log::FEATURE,
    error_log::FEATURE,
    stash::FEATURE,
    ignored::FEATURE,
];

/// The directives of all features.
pub static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let directives = FEATURES.iter().flat_map(|feature| feature.directives);
    Registry::new(directives.chain(FEATURES.iter().flat_map(|feature| feature.ignored)))
});

/// Reads the configuration in the file `path`.
///
/// # Errors
/// Everything wrong with it that can be found at once.
pub fn load_file(path: &Path) -> Result<Loaded, Errors> {
    load::load_file(path, &REGISTRY, complete)
}

/// Reads a configuration from a text, which messages call `name`.
///
/// # Errors
/// Everything wrong with it that can be found at once.
pub fn load_text(name: &str, text: &str) -> Result<Loaded, Errors> {
    load::load_text(name, text, &REGISTRY, complete)
}

/// What only the whole configuration says.
fn complete(settings: &mut Settings, reading: &mut Reading, root: &Node) {
    let features = FEATURES.iter().filter_map(|feature| feature.complete);
    features.for_each(|complete| complete(settings, reading, root));
    if reading.errors.is_empty() {
        let warnings = unlike_h2o::warnings(settings, &reading.host_places);
        reading.warnings.extend(warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::not_yet;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_rows_are_complete() {
        let mut names = HashSet::new();
        for directive in REGISTRY.all() {
            let name = directive.name;
            assert!(names.insert(name), "{name} is defined twice");
            assert!(directive.help.ends_with('.'), "{name}: the help is not a sentence");
            assert!(directive.levels.iter().next().is_some(), "{name} is allowed nowhere");
            assert!(!directive.argument.is_empty(), "{name} has no argument");
            assert!(!directive.help.contains("  "), "{name}: doubled spaces");
        }
    }

    #[test]
    fn no_directive_is_announced_for_later() {
        for directive in REGISTRY.all() {
            assert!(not_yet::topic(directive.name).is_none(), "{}", directive.name);
        }
    }
}
