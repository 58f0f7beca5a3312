//! Index files that may belong to another path of the configuration, which then handles them.

use crate::config::feature_settings::FeatureSetting;
use crate::config::path_key::PathKey;
use crate::config::settings::{PathSettings, Reading, Settings};
use crate::config::yaml::Node;
use std::collections::HashSet;

/// File names that the paths of a host may match. Collected once per host; each path checks its index files only.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnPaths {
    /// Whether there is a regular expression, which may match any file.
    has_patterns: bool,
    /// The last segments of exact paths and prefixes.
    names: HashSet<String>,
}

impl FeatureSetting for OwnPaths {}

impl OwnPaths {
    fn of(paths: &[PathSettings]) -> Self {
        let mut own = Self::default();
        for path in paths {
            match &path.key {
                PathKey::Pattern(_) => own.has_patterns = true,
                PathKey::Exact(path) | PathKey::Prefix(path) => {
                    let name = path.rsplit('/').next().filter(|name| !name.is_empty());
                    own.names.extend(name.map(str::to_owned));
                }
            }
        }
        own
    }

    /// Whether one of these files, in any directory, may have a path of its own.
    pub(super) fn have_any(&self, names: &[String]) -> bool {
        self.has_patterns || names.iter().any(|name| self.names.contains(name))
    }
}

/// Collects the names for all hosts.
pub(super) fn complete(settings: &mut Settings, _: &mut Reading, _: &Node) {
    for host in &mut settings.hosts {
        let own = OwnPaths::of(&host.paths);
        if own.has_patterns || !own.names.is_empty() {
            *host.features.get_mut() = own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_may_have_a_path_of_their_own_where_one_ends_in_their_name_or_is_a_pattern() {
        let files = ["index.html".to_owned(), "index.php".to_owned()];
        for (key, want) in [
            (PathKey::Prefix("/".to_owned()), false),
            (PathKey::Prefix("/index.php/".to_owned()), false),
            (PathKey::Prefix("/a/index.php".to_owned()), true),
            (PathKey::Exact("/index.html".to_owned()), true),
            (PathKey::Exact("/index.htm".to_owned()), false),
            (PathKey::Pattern("[.]css$".to_owned()), true),
        ] {
            let paths = [PathSettings { key: key.clone(), ..PathSettings::default() }];
            assert_eq!(OwnPaths::of(&paths).have_any(&files), want, "{key}");
        }
    }
}
