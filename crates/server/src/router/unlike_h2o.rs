//! Warns of hosts that h2o would choose for other requests: there, a key without a port means the default port.

use super::Name;
use super::host::{HostTable, default_port};
use super::map::of_listener;
use super::names::Ports;
use crate::config::error::ConfigError;
use crate::config::settings::Settings;
use crate::config::yaml::Position;
use crate::modules::listen::{Binding, bindings};

/// A warning for each host whose requests would go to another one in h2o. `places` are the positions of the keys.
pub(crate) fn warnings(settings: &Settings, places: &[Position]) -> Vec<ConfigError> {
    let mut found = vec![None; settings.hosts.len()];
    for binding in bindings(settings) {
        let Some(comparison) = Comparison::new(settings, &binding) else { continue };
        for host in &binding.hosts {
            let warning = &mut found[*host];
            *warning = warning.take().or_else(|| comparison.warning(*host, places[*host]));
        }
    }
    found.into_iter().flatten().collect()
}

/// A listener on a port that is not the default, as routed here and in h2o.
struct Comparison<'a> {
    settings: &'a Settings,
    port: u16,
    default: u16,
    here: HostTable,
    there: HostTable,
}

impl<'a> Comparison<'a> {
    fn new(settings: &'a Settings, binding: &Binding<'_>) -> Option<Self> {
        let (port, default) = (binding.listener.address.port()?, default_port(binding.is_tls()));
        // Port 0 is any free port: the port in requests is unknown.
        if port == 0 || port == default {
            return None;
        }
        let here = of_listener(settings, binding, &Ports::Any).ok()?;
        let there = of_listener(settings, binding, &Ports::These([default].into())).ok()?;
        Some(Self { settings, port, default, here, there })
    }

    fn warning(&self, host: usize, at: Position) -> Option<ConfigError> {
        let (key, port, default) = (&self.settings.hosts[host].name, self.port, self.default);
        if Name::of(key.as_bytes())?.port.is_some() {
            return None;
        }
        // A name that the wildcard matches.
        let asked = format!("{}:{port}", key.replacen('*', "www", 1));
        let (here, there) = (self.here.find(asked.as_bytes())?, self.there.find(asked.as_bytes()));
        if here != host || there == Some(host) {
            return None;
        }
        let other =
            there.map_or("no host".to_owned(), |other| format!("`{}`", self.settings.hosts[other].name));
        let text =
            format!("the host `{key}` answers on every port; a host of h2o answers on port {default} only");
        let help = format!(
            "h2o would answer requests for `{asked}` with {other}: ignore this unless h2o reads the file, too; with \
             the port in the key (`{key}:{port}`) both choose this host"
        );
        Some(ConfigError::new(at, text).help(help))
    }
}

#[cfg(test)]
mod tests {
    use crate::features::load_text;

    /// The warnings about hosts in a configuration.
    fn warned(text: &str) -> Vec<String> {
        let text = text.replace("PATHS", "paths: {/: {file.dir: /}}");
        let loaded = load_text("t", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let texts = loaded.warnings.into_iter().map(|warning| warning.message);
        texts.filter(|text| text.contains("the host")).collect()
    }

    #[test]
    fn only_hosts_that_h2o_would_not_choose_are_warned_of() {
        let cases: [(&str, &[&str]); 8] = [
            ("listen: 8080\nhosts: {a: {PATHS}, b: {PATHS}, c: {PATHS}}", &["`b`", "`c`"]),
            ("listen: 80\nhosts: {a: {PATHS}, b: {PATHS}}", &[]),
            ("listen: 0\nhosts: {a: {PATHS}, b: {PATHS}}", &[]),
            ("listen: 8080\nhosts: {a: {PATHS}, 'b:8080': {PATHS}}", &[]),
            // Requests for the port go to the key that has it.
            ("listen: 8080\nhosts: {a: {PATHS}, b: {PATHS}, 'b:8080': {PATHS}}", &[]),
            ("listen: 80\nhosts: {a: {PATHS}, b: {listen: 81, PATHS}, c: {listen: 82, PATHS}}", &[]),
            ("listen: 81\nhosts: {a: {PATHS}, '*.b': {PATHS}, '*': {PATHS}}", &["`*.b`", "`*`"]),
            ("listen: [80, 81]\nhosts: {a: {strict-match: ON, PATHS}}", &["`a`"]),
        ];
        for (text, want) in cases {
            let warned = warned(text);
            assert_eq!(warned.len(), want.len(), "{text}: {warned:?}");
            for (warning, name) in warned.iter().zip(want) {
                assert!(warning.contains(name), "{text}: {warning}");
            }
        }
    }
}
