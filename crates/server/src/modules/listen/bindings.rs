//! The hosts of each address, and their certificates.

use super::{Address, Listener, Listeners, ssl};
use crate::config::settings::{HostSettings, Settings};
use crate::config::yaml::Position;
use std::collections::{HashMap, HashSet};

/// A listener and the hosts it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The listener; where an address is written several times, the first.
    pub listener: &'a Listener,
    /// Indexes into the settings' hosts, in the order written.
    pub hosts: Vec<usize>,
    /// The `ssl` blocks for handshakes, the default first; empty without TLS.
    pub blocks: Vec<Block<'a>>,
}

/// One `ssl` of an address, and the server names it applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Host names, including wildcards such as `*.example.org`; empty if it only applies to all other names.
    pub names: Vec<String>,
    /// The hosts that define it; empty for the top level of the file.
    pub hosts: Vec<usize>,
    /// The settings.
    pub ssl: &'a ssl::Settings,
}

/// Every address once, with the hosts it serves: a top-level listener serves all hosts, a host's listener only the
/// hosts that name it.
pub fn bindings(settings: &Settings) -> Vec<Binding<'_>> {
    let mut found = Found::default();
    let every: Vec<usize> = (0..settings.hosts.len()).collect();
    for listener in settings.global.get::<Listeners>().iter() {
        let binding = found.binding(listener, &every);
        found.add_block(binding, listener, None);
    }
    for (index, host) in settings.hosts.iter().enumerate() {
        for listener in host.features.get::<Listeners>().iter() {
            let binding = found.binding(listener, &[]);
            found.add_host(binding, index);
            found.add_block(binding, listener, Some((index, host)));
        }
    }
    found.bindings.iter_mut().for_each(|binding| binding.choose_default(settings));
    found.bindings
}

/// The files of all certificates and keys, each once.
pub fn tls_files(settings: &Settings) -> Vec<&std::path::Path> {
    let bindings = bindings(settings);
    let identities = bindings.iter().flat_map(|own| &own.blocks).flat_map(|block| &block.ssl.identities);
    let files = identities.flat_map(|files| [&*files.certificate.path, &*files.key.path]);
    let mut files: Vec<_> = files.collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// The bindings so far, with indexes for what ten thousand hosts may share.
#[derive(Default)]
struct Found<'a> {
    bindings: Vec<Binding<'a>>,
    by_address: HashMap<&'a Address, usize>,
    /// Blocks of a binding by the position of the first certificate, which equal ones have in common.
    blocks: HashMap<(usize, Position), Vec<usize>>,
    /// The names of the blocks of a binding.
    names: HashSet<(usize, usize, String)>,
}

impl<'a> Found<'a> {
    /// The index of the binding for a listener's address; a new one begins with `hosts`.
    fn binding(&mut self, listener: &'a Listener, hosts: &[usize]) -> usize {
        *self.by_address.entry(&listener.address).or_insert_with(|| {
            self.bindings.push(Binding { listener, hosts: hosts.to_vec(), blocks: Vec::new() });
            self.bindings.len() - 1
        })
    }

    fn add_host(&mut self, binding: usize, host: usize) {
        let hosts = &mut self.bindings[binding].hosts;
        // Hosts are added in order.
        if let Err(end) = hosts.binary_search(&host) {
            hosts.insert(end, host);
        }
    }

    /// Adds a listener's `ssl`; an alias of an existing one shares its block, so that its files are read once.
    fn add_block(&mut self, binding: usize, listener: &'a Listener, host: Option<(usize, &HostSettings)>) {
        let Some(ssl) = listener.ssl.as_deref() else { return };
        let index = self.block(binding, ssl);
        let block = &mut self.bindings[binding].blocks[index];
        if let Some((number, host)) = host {
            block.hosts.push(number);
            if let Some(name) = server_name(&host.name)
                && self.names.insert((binding, index, name.clone()))
            {
                block.names.push(name);
            }
        }
    }

    /// The index of the block for an `ssl`.
    fn block(&mut self, binding: usize, ssl: &'a ssl::Settings) -> usize {
        let blocks = &mut self.bindings[binding].blocks;
        let same = self.blocks.entry((binding, ssl.identities[0].certificate.at)).or_default();
        if let Some(index) = same.iter().find(|index| blocks[**index].ssl == ssl) {
            return *index;
        }
        blocks.push(Block { names: Vec::new(), hosts: Vec::new(), ssl });
        same.push(blocks.len() - 1);
        blocks.len() - 1
    }
}

impl Binding<'_> {
    /// Whether the address uses TLS.
    pub fn is_tls(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Moves the default block, for unknown server names or none, to the front: that of the host `*`; without that host
    /// the one at the top of the file, or else that of the first host without strict matching.
    fn choose_default(&mut self, settings: &Settings) {
        let star = self.hosts.iter().find(|host| is_star(&settings.hosts[**host].name));
        let fallback = || self.hosts.iter().find(|host| !settings.hosts[**host].strict_match);
        let host = star.or_else(fallback);
        let of_host =
            self.blocks.iter().position(|block| host.is_some_and(|host| block.hosts.contains(host)));
        let of_file = self.blocks.iter().position(|block| block.hosts.is_empty());
        if let Some(index) = of_file.filter(|_| star.is_none()).or(of_host).or(of_file) {
            self.blocks[..=index].rotate_right(1);
        }
    }
}

fn is_star(key: &str) -> bool {
    key == "*" || key.starts_with("*:")
}

/// The name in a key of `hosts` as clients may send it in SNI (RFC 6066 §3), which excludes addresses.
pub(crate) fn server_name(key: &str) -> Option<String> {
    let (host, _) = hayami_http::split_authority(key.as_bytes())?;
    let host = std::str::from_utf8(host).ok()?.trim_end_matches('.').to_ascii_lowercase();
    let address = host.starts_with('[') || host.parse::<std::net::IpAddr>().is_ok();
    (!address && host != "*" && host != "default" && !host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::listen::testing::listener;

    /// Each block as `certificate: names`.
    fn blocks(global: Option<&str>, hosts: &[(&str, Option<&str>)]) -> Vec<String> {
        let mut settings = Settings::default();
        settings
            .global
            .get_mut::<Listeners>()
            .0
            .extend(global.map(|certificate| listener(443, Some(certificate))));
        for (name, certificate) in hosts {
            let listen = certificate.map(|certificate| listener(443, Some(certificate)));
            let strict_match = name.starts_with('!');
            let name = name.trim_start_matches('!').to_owned();
            let mut host = HostSettings { name, strict_match, ..<_>::default() };
            host.features.get_mut::<Listeners>().0.extend(listen);
            settings.hosts.push(host);
        }
        let bindings = bindings(&settings);
        let shown = |block: &Block<'_>| {
            let path = block.ssl.identities[0].certificate.path.with_extension("");
            format!("{}: {}", path.display(), block.names.join(" "))
        };
        bindings.iter().flat_map(|binding| &binding.blocks).map(shown).collect()
    }

    #[test]
    fn server_names_choose_among_blocks_and_the_first_is_the_default() {
        type Case =
            (Option<&'static str>, &'static [(&'static str, Option<&'static str>)], &'static [&'static str]);
        let cases: &[Case] = &[
            (Some("g"), &[("a", None), ("b", None)], &["g: "]),
            (None, &[("a:443", Some("x")), ("B.example.:443", Some("y"))], &["x: a", "y: b.example"]),
            (None, &[("a", Some("x")), ("*.a", Some("x")), ("b", Some("y"))], &["x: a *.a", "y: b"]),
            (None, &[("!a", Some("x")), ("b", Some("y"))], &["y: b", "x: a"]),
            (None, &[("a", Some("x")), ("*", Some("y"))], &["y: ", "x: a"]),
            (None, &[("a", Some("x")), ("default", Some("x"))], &["x: a"]),
            (None, &[("192.0.2.1", Some("x")), ("[::1]:443", Some("y"))], &["x: ", "y: "]),
            (Some("g"), &[("a", Some("x"))], &["g: ", "x: a"]),
            (Some("g"), &[("a", Some("x")), ("*", Some("y"))], &["y: ", "g: ", "x: a"]),
        ];
        for (global, hosts, want) in cases {
            assert_eq!(blocks(*global, hosts), *want, "{global:?} {hosts:?}");
        }
    }
}
