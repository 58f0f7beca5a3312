//! Which connections may ask which hosts, where some hosts want certificates of their clients and others
//! on the same address do not.
//!
//! The name in the handshake chose whose certificates were asked for; the request then names a host, maybe
//! another one. A host that wants certificates answers only if the handshake asked for the same ones.

use crate::config::settings::Settings;
use crate::modules::listen::{Binding, server_name};
use std::collections::HashMap;

/// Authorities of clients by index; 0 is none.
type Authority = usize;

/// What the hosts of one address want.
#[derive(Debug)]
pub(super) struct Guard {
    /// By server name; `*.example.org` as it is written.
    names: HashMap<String, Authority>,
    /// For all other names.
    default: Authority,
    /// By host.
    wanted: HashMap<usize, Authority>,
}

impl Guard {
    /// The guard of an address; `None` if every handshake asks for the same.
    pub(super) fn new(settings: &Settings, binding: &Binding<'_>) -> Option<Self> {
        let mut files = vec![None];
        let mut authority = |file| {
            files.iter().position(|known| *known == file).unwrap_or_else(|| {
                files.push(file);
                files.len() - 1
            })
        };
        let blocks = binding.blocks.iter();
        let blocks: Vec<_> = blocks
            .map(|block| (block, authority(block.ssl.client_ca.as_ref().map(|file| file.path.as_path()))))
            .collect();
        let default = blocks.first()?.1;
        if blocks.iter().all(|(_, authority)| *authority == default) {
            return None;
        }
        let mut names = HashMap::new();
        for (block, authority) in &blocks {
            for name in &block.names {
                names.entry(name.clone()).or_insert(*authority);
            }
        }
        let mut guard = Self { names, default, wanted: HashMap::new() };
        for host in &binding.hosts {
            let wanted = guard.of_key(&settings.hosts[*host].name);
            guard.wanted.insert(*host, wanted);
        }
        Some(guard)
    }

    /// Whether a connection that asked for `name` in its handshake may ask `host`.
    pub(super) fn admits(&self, host: usize, name: Option<&str>) -> bool {
        match self.wanted.get(&host) {
            None | Some(0) => true,
            Some(wanted) => name.map_or(self.default, |name| self.of_name(name)) == *wanted,
        }
    }

    /// Whose certificates a key of `hosts` means.
    fn of_key(&self, key: &str) -> Authority {
        server_name(key).map_or(self.default, |name| self.of_name(&name))
    }

    /// Whose certificates a handshake for `name` asks for: the exact name, the longest wildcard, all others.
    fn of_name(&self, name: &str) -> Authority {
        let below = |(dot, _): (usize, &str)| self.names.get(&format!("*{}", &name[dot..]));
        let found = self.names.get(name).or_else(|| name.match_indices('.').find_map(below));
        *found.unwrap_or(&self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::HostSettings;
    use crate::config::yaml::Place;
    use crate::modules::listen::testing::listener;
    use crate::modules::listen::{bindings, ssl};

    /// A guard of hosts, each with the authority that it wants.
    fn guard(hosts: &[(&str, &str)]) -> Option<Guard> {
        let mut settings = Settings::default();
        for (name, authority) in hosts {
            let mut listener = listener(443, Some(name));
            let file = ssl::FileName { path: authority.into(), at: Place::NOWHERE };
            if let Some(ssl) = &mut listener.ssl {
                ssl.client_ca = (!authority.is_empty()).then_some(file);
            }
            let name = (*name).to_owned();
            settings.hosts.push(HostSettings { name, listen: vec![listener], ..HostSettings::default() });
        }
        let bindings = bindings(&settings);
        Guard::new(&settings, &bindings[0])
    }

    #[test]
    fn where_all_want_the_same_nobody_is_asked() {
        assert!(guard(&[("a", ""), ("b", "")]).is_none());
        assert!(guard(&[("a", "ca"), ("b", "ca")]).is_none());
    }

    #[test]
    fn a_host_that_wants_certificates_answers_only_who_was_asked_for_them() {
        let guard =
            guard(&[("open", ""), ("closed", "ca"), ("*.closed", "ca"), ("other", "ca2")]).expect("a guard");
        for (host, name, want) in [
            (0, Some("closed"), true),
            (0, None, true),
            (1, Some("closed"), true),
            (1, Some("x.closed"), true),
            (1, Some("open"), false),
            (1, Some("unknown"), false),
            (1, Some("other"), false),
            (1, None, false),
            (2, Some("closed"), true),
            (2, Some("a.b.closed"), true),
            (2, Some("open"), false),
            (3, Some("other"), true),
            (3, Some("closed"), false),
        ] {
            assert_eq!(guard.admits(host, name), want, "{host} {name:?}");
        }
    }
}
