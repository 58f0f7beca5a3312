//! Hosts that h2o would choose for other requests: there, a key without a port stands for the default port only.

use super::Name;
use super::host::{Ports, default_port};
use super::map::of_listener;
use crate::config::error::ConfigError;
use crate::config::settings::Settings;
use crate::config::yaml::Place;
use crate::modules::listen::{Binding, bindings};

/// A warning for each host whose requests would go to another one in h2o. `places` are those of the keys.
pub(crate) fn warnings(settings: &Settings, places: &[Place]) -> Vec<ConfigError> {
    let bindings = bindings(settings);
    let of = |host| bindings.iter().find_map(|binding| warning(settings, binding, host, places[host]));
    (0..settings.hosts.len()).filter_map(of).collect()
}

fn warning(settings: &Settings, binding: &Binding<'_>, host: usize, at: Place) -> Option<ConfigError> {
    let key = &settings.hosts[host].name;
    let (port, default) = (binding.listener.address.port()?, default_port(binding.is_tls()));
    let has_port = Name::of(key.as_bytes())?.port.is_some();
    // Port 0 is any that is free: nobody knows what clients will ask for.
    if has_port || port == 0 || port == default || !binding.hosts.contains(&host) {
        return None;
    }
    // A name that a wildcard stands for.
    let asked = format!("{}:{port}", key.replacen('*', "www", 1));
    let find = |portless| of_listener(settings, binding, &portless).ok()?.find(asked.as_bytes());
    let (here, there) = (find(Ports::Any)?, find(Ports::These([default].into())));
    if here != host || there == Some(host) {
        return None;
    }
    let other = there.map_or("no host".to_owned(), |other| format!("`{}`", settings.hosts[other].name));
    let text =
        format!("the host `{key}` answers on every port; a host of h2o answers on port {default} only");
    let help = format!(
        "for a file that h2o does not read, change nothing: `{asked}` is answered by this host, in h2o by {other}; \
         `{key}:{port}` is the same in both"
    );
    Some(ConfigError::new(at, text).help(help))
}

#[cfg(test)]
mod tests {
    use crate::config::load_text;

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
