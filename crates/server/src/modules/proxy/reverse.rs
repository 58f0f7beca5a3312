//! `proxy.reverse.url`: the upstreams of a path, and how requests are shared out among them.

use super::{Policy, Url, names};
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::settings::HandlerSettings;
use crate::config::yaml::{Node, Value};
use hayami_net::dial::Peer;

/// The upstreams of a path.
#[derive(Clone, Debug)]
pub struct ReverseSettings {
    /// How requests are shared out.
    pub policy: Policy,
    /// At least one.
    pub upstreams: Vec<Upstream>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Its URL.
    pub url: Url,
    /// From 1 to 256: its share, compared with that of the others.
    pub weight: u32,
    /// Its addresses when the configuration was read.
    pub peers: Vec<Peer>,
}

pub(super) fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let settings = read(node)?;
    if settings.upstreams.iter().any(|upstream| upstream.url.tls) {
        scope.inherited.proxy.tls.check(node)?;
    }
    scope.add_handler(HandlerSettings::Proxy(settings));
    Ok(())
}

fn read(node: &Node) -> Result<ReverseSettings, ConfigError> {
    let is_group = matches!(&node.value, Value::Mapping(_)) && node.get("url").is_none();
    if !is_group {
        return Ok(ReverseSettings { policy: Policy::default(), upstreams: upstreams(node)? });
    }
    for (key, _) in node.mapping()? {
        key.one_of(&["backends", "balancer"])?;
    }
    let backends = node.get("backends").ok_or_else(|| node.error("`backends` is missing"))?;
    let policy = node.get("balancer").map_or(Ok(Policy::default()), Policy::read)?;
    Ok(ReverseSettings { policy, upstreams: upstreams(backends)? })
}

fn upstreams(node: &Node) -> Result<Vec<Upstream>, ConfigError> {
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.error("at least one URL of an upstream is needed"));
    }
    nodes.into_iter().map(upstream).collect()
}

fn upstream(node: &Node) -> Result<Upstream, ConfigError> {
    let Value::Mapping(pairs) = &node.value else { return resolved(node, 1) };
    for (key, _) in pairs {
        key.one_of(&["url", "weight"])?;
    }
    let url = node.get("url").ok_or_else(|| node.error("`url` is missing"))?;
    let weight = node.get("weight").map_or(Ok(1), |weight| weight.integer(1..=256))?;
    resolved(url, weight as u32)
}

/// Names are looked up here, so that a wrong one shows with its place, before anything is served.
fn resolved(node: &Node, weight: u32) -> Result<Upstream, ConfigError> {
    let url = Url::read(node)?;
    match names::resolve(&url.place) {
        Ok(peers) => Ok(Upstream { url, weight, peers }),
        Err(error) => {
            let error = node.error(format!("the name of `{url}` cannot be resolved: {error}"));
            Err(error.help("correct it, add it to /etc/hosts, or write its address"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};

    fn settings(line: &str) -> ReverseSettings {
        match &set(&[line]).handlers[..] {
            [HandlerSettings::Proxy(settings)] => settings.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_url_many_urls_weights_and_balancers() {
        type Case<'a> = (&'a str, Policy, &'a [(&'a str, u32)]);
        let cases: &[Case<'_>] = &[
            ("proxy.reverse.url: http://127.0.0.1:1/x", Policy::RoundRobin, &[("http://127.0.0.1:1", 1)]),
            (
                "proxy.reverse.url: [http://127.0.0.1:1, {url: 'http://[unix:/a b]/', weight: 3}]",
                Policy::RoundRobin,
                &[("http://127.0.0.1:1", 1), ("http://[unix:/a b]", 3)],
            ),
            (
                "proxy.reverse.url: {url: 'http://[::1]:1', weight: 256}",
                Policy::RoundRobin,
                &[("http://[::1]:1", 256)],
            ),
            (
                "proxy.reverse.url: {backends: [http://127.0.0.1:1], balancer: least-conn}",
                Policy::LeastConn,
                &[("http://127.0.0.1:1", 1)],
            ),
            (
                "proxy.reverse.url: {backends: http://127.0.0.1:1, balancer: two-choices}",
                Policy::TwoChoices,
                &[("http://127.0.0.1:1", 1)],
            ),
        ];
        for (line, policy, want) in cases {
            let settings = settings(line);
            let upstreams = settings.upstreams.iter().map(|own| (&own.url.shown[..], own.weight));
            assert_eq!((settings.policy, upstreams.collect::<Vec<_>>()), (*policy, want.to_vec()), "{line}");
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let url = "expected a URL, such as `http://127.0.0.1:3000/` or `http://[unix:/run/app.sock]/`, found";
        let cases = [
            ("''", format!("{url} nothing")),
            ("127.0.0.1:3000", format!("{url} `127.0.0.1:3000`; write `http://127.0.0.1:3000`")),
            ("http://", format!("{url} `http://`")),
            ("http://[unix:/a", format!("{url} `http://[unix:/a`")),
            ("[]", "at least one URL of an upstream is needed".into()),
            (
                "https://-a/",
                "'-a' is neither a host name nor an address; a certificate can't be checked for it".into(),
            ),
            (
                "ftp://a/",
                "an upstream cannot be reached by `ftp`; upstreams speak HTTP: write `http://` or `https://`"
                    .into(),
            ),
            ("http://a:0/", "`a:0` is no host, or no port from 1 to 65535".into()),
            ("http://a:99999/", "`a:99999` is no host, or no port from 1 to 65535".into()),
            (
                "http://u:p@a/",
                "a URL of an upstream may not hold a user or password; write `proxy.header.set: \
                 'authorization: Basic …'`"
                    .into(),
            ),
            (
                "http://[unix:a.sock]/",
                "`a.sock` is no absolute path of a unix socket; write `http://[unix:/run/app.sock]/`".into(),
            ),
            (
                "http://127.0.0.1/?a",
                "a URL of an upstream ends with its path; the query is that of the request".into(),
            ),
            ("http://127.0.0.1/ü", "a URL may not hold `ü`; write `%C3%BC`".into()),
            ("{balancer: round-robin}", "`backends` is missing".into()),
            (
                "{backends: http://127.0.0.1/, balancer: random}",
                "expected one of round-robin, least-conn, two-choices, found `random`".into(),
            ),
            ("[{weight: 1}]", "`url` is missing".into()),
            (
                "[{url: http://127.0.0.1/, weight: 0}]",
                "expected a whole number from 1 to 256, found `0`".into(),
            ),
            ("[{url: http://127.0.0.1/, wait: 0}]", "expected one of url, weight, found `wait`".into()),
        ];
        for (argument, want) in cases {
            assert_eq!(error(&format!("proxy.reverse.url: {argument}")), want, "{argument}");
        }
    }

    #[test]
    fn a_name_without_an_address_is_an_error_with_advice() {
        // Longer than any label of a name may be: no resolver has to be asked.
        let said = error(&format!("proxy.reverse.url: http://{}/", "a".repeat(64)));
        assert!(
            said.starts_with(&format!("the name of `http://{}` cannot be resolved: ", "a".repeat(64))),
            "{said}"
        );
        assert!(said.ends_with("; correct it, add it to /etc/hosts, or write its address"), "{said}");
    }
}
