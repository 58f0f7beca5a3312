//! Which connections may access which hosts, where some hosts require a client certificate.
//!
//! The server name in the handshake decides which authority's certificate the client had to present; the request, or an
//! internal redirect of it, then names a host, possibly another one. A host that requires a certificate is only
//! accessible on connections whose handshake required one of the same authority.

use crate::config::settings::Settings;
use crate::modules::listen::{Binding, server_name};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::path::Path;

/// The index of an authority of client certificates; 0 means that no certificate is required.
type Authority = usize;

/// The requirements of a configuration's hosts.
#[derive(Debug)]
pub(super) struct Guard {
    listeners: Vec<Listener>,
    /// By host: the authorities it requires on its own listeners. They apply when a request reaches the host from a
    /// listener that is not one of them.
    required: Vec<Vec<Authority>>,
}

/// The requirements of a listener's handshakes.
#[derive(Debug)]
struct Listener {
    /// By server name; wildcards as written: `*.example.org`.
    names: HashMap<String, Authority>,
    /// For all other names.
    default: Authority,
    /// The requirements here of hosts that define this listener.
    hosts: HashMap<usize, Authority, FixedState>,
}

impl Guard {
    /// The guard of these bindings; `None` if no client certificate is required anywhere.
    pub(super) fn new(settings: &Settings, bindings: &[Binding<'_>]) -> Option<Self> {
        let mut blocks = bindings.iter().flat_map(|binding| &binding.blocks);
        blocks.find(|block| block.ssl.client_ca.is_some())?;
        let mut files = Authorities::from([(None, 0)]);
        let listeners: Vec<_> =
            bindings.iter().map(|binding| Listener::new(settings, binding, &mut files)).collect();
        let mut required = vec![Vec::new(); settings.hosts.len()];
        for (host, authority) in listeners.iter().flat_map(|listener| &listener.hosts) {
            required[*host].extend(Some(*authority).filter(|authority| *authority > 0));
        }
        Some(Self { listeners, required })
    }

    /// Whether a connection to `listener` whose handshake sent the server name `name` may access `host`. `outdated`:
    /// the listener required other certificates at the time of the handshake.
    pub(super) fn admits(&self, host: usize, listener: usize, name: Option<&str>, outdated: bool) -> bool {
        let Some(listener) = self.listeners.get(listener) else { return false };
        let shown = || match name {
            _ if outdated => 0,
            Some(name) => listener.of_name(name),
            None => listener.default,
        };
        match listener.hosts.get(&host).copied() {
            Some(0) => true,
            Some(authority) => shown() == authority,
            None => self.required[host].is_empty() || self.required[host].contains(&shown()),
        }
    }
}

/// The authorities by their files.
type Authorities<'a> = HashMap<Option<&'a Path>, Authority>;

impl Listener {
    fn new<'a>(settings: &Settings, binding: &Binding<'a>, files: &mut Authorities<'a>) -> Self {
        let mut listener = Self { names: HashMap::new(), default: 0, hosts: HashMap::default() };
        for (index, block) in binding.blocks.iter().enumerate() {
            let next = files.len();
            let file = block.ssl.client_ca.as_ref().map(|file| file.path.as_path());
            let authority = *files.entry(file).or_insert(next);
            if index == 0 {
                listener.default = authority;
            }
            for name in &block.names {
                listener.names.entry(name.clone()).or_insert(authority);
            }
        }
        for host in &binding.hosts {
            listener.hosts.insert(*host, listener.of_key(&settings.hosts[*host].name));
        }
        listener
    }

    /// The authority required for a key of `hosts`.
    fn of_key(&self, key: &str) -> Authority {
        server_name(key).map_or(self.default, |name| self.of_name(&name))
    }

    /// The authority required in a handshake for `name`: by exact name, longest wildcard, or the default.
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
    use crate::config::yaml::Position;
    use crate::modules::listen;
    use crate::modules::listen::testing::listener;
    use crate::modules::listen::{bindings, ssl};

    /// A guard of hosts, each with its port and the authority whose certificates it requires; without a port it has no
    /// listener of its own.
    fn guard(global: Option<u16>, hosts: &[(&str, u16, &str)]) -> Option<Guard> {
        let mut settings = Settings::default();
        settings.global.get_mut::<listen::Listeners>().0.extend(global.map(|port| listener(port, None)));
        for (name, port, authority) in hosts {
            let mut listener = listener(*port, Some(name));
            let file = ssl::FileName { path: authority.into(), at: Position::NOWHERE };
            if let Some(ssl) = &mut listener.ssl {
                ssl.client_ca = (!authority.is_empty()).then_some(file);
            }
            let mut host = HostSettings { name: (*name).to_owned(), ..HostSettings::default() };
            host.features.get_mut::<listen::Listeners>().0.extend((*port != 0).then_some(listener));
            settings.hosts.push(host);
        }
        let bindings = bindings(&settings);
        Guard::new(&settings, &bindings)
    }

    #[test]
    fn where_no_certificate_is_required_there_is_no_guard() {
        assert!(guard(None, &[("a", 443, ""), ("b", 443, "")]).is_none());
        assert!(guard(None, &[("a", 443, "ca"), ("b", 443, "ca")]).is_some());
    }

    #[test]
    fn a_host_that_requires_certificates_answers_where_the_handshake_required_them() {
        let hosts =
            [("open", 443, ""), ("closed", 443, "ca"), ("*.closed", 443, "ca"), ("other", 443, "ca2")];
        let guard = guard(None, &hosts).expect("a guard");
        assert!(guard.admits(0, 0, Some("closed"), true));
        assert!(!guard.admits(1, 0, Some("closed"), true), "it did not require them then");
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
            assert_eq!(guard.admits(host, 0, name, false), want, "{host} {name:?}");
        }
    }

    #[test]
    fn from_another_listener_the_requirements_of_the_hosts_own_count() {
        let hosts = [("open", 443, ""), ("closed", 8443, "ca"), ("same", 9443, "ca"), ("other", 7443, "ca2")];
        let guard = guard(None, &hosts).expect("a guard");
        for (host, listener, want) in [
            (0, 1, true),
            (1, 0, false),
            (1, 1, true),
            // The handshake required a certificate of the same authority.
            (1, 2, true),
            (1, 3, false),
            (3, 2, false),
        ] {
            assert_eq!(guard.admits(host, listener, None, false), want, "{host} {listener}");
        }
    }

    #[test]
    fn a_host_that_answers_in_clear_somewhere_requires_nothing_there() {
        let guard = guard(Some(80), &[("both", 443, "ca"), ("open", 81, "")]).expect("a guard");
        // The host's cleartext port, its TLS port, the other host's port.
        for (listener, want) in [(0, true), (1, true), (2, false)] {
            assert_eq!(guard.admits(0, listener, None, false), want, "{listener}");
        }
    }
}
