//! `proxy.reverse.url`: the upstreams of a path, private or a named group.

use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::path_key::PathKey;
use crate::config::settings::HandlerSettings;
use crate::config::yaml::Node;
use crate::modules::upstreams;

pub(super) fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let settings = upstreams::reference(scope, node)?;
    let upstreams = &scope.global.get::<upstreams::Settings>().groups[settings.group].upstreams;
    if matches!(scope.path, Some(PathKey::Pattern(_))) {
        let own = upstreams.iter().map(|upstream| &upstream.url.path);
        check_without_path(node, settings.path.iter().chain(own.filter(|_| settings.path.is_none())))?;
    }
    if upstreams.iter().any(|upstream| upstream.url.tls) {
        scope.inherited.get_mut::<super::Settings>().tls.check(node)?;
    }
    scope.add_handler(HandlerSettings::new(settings));
    Ok(())
}

/// Rejects URLs with a path: a path that is a regular expression has no prefix for it to replace.
fn check_without_path<'a>(
    node: &Node,
    mut paths: impl Iterator<Item = &'a String>,
) -> Result<(), ConfigError> {
    let Some(path) = paths.find(|path| !matches!(path.as_str(), "" | "/")) else { return Ok(()) };
    let error =
        node.error(format!("the URL must not have a path (`{path}`) where `paths` has a regular expression"));
    Err(error.help("remove it: the upstream gets the path of the request, which `rewrite` can change"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};
    use crate::modules::upstreams::{Group, Policy};

    fn settings(line: &str) -> Group {
        let setting = set(&[line]);
        let group = setting.handler::<upstreams::Reference>().group;
        setting.global.get::<upstreams::Settings>().groups[group].clone()
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
            ("'[::1]'", format!("{url} `[::1]`; write `http://[::1]`")),
            (
                "upstream:app",
                format!(
                    "{url} `upstream:app`; write `http://HOST:PORT/`, or `http://NAME/` for the upstream group NAME"
                ),
            ),
            ("http://", format!("{url} `http://`")),
            ("http://[unix:/a", format!("{url} `http://[unix:/a`")),
            ("[]", "at least one upstream URL is required".into()),
            (
                "https://-a/",
                "'-a' is neither a host name nor an address; a certificate can't be checked for it".into(),
            ),
            ("ftp://a/", "unsupported upstream scheme `ftp`; use `http://` or `https://`".into()),
            ("http://a:0/", "`a:0` is not a host with an optional port from 1 to 65535".into()),
            ("http://a:99999/", "`a:99999` is not a host with an optional port from 1 to 65535".into()),
            (
                "http://u:p@a/",
                "an upstream URL must not contain a user name or password; write `proxy.header.set: \
                 'authorization: Basic …'`"
                    .into(),
            ),
            (
                "http://[unix:a.sock]/",
                "`a.sock` is not an absolute path of a unix socket; write `http://[unix:/run/app.sock]/`"
                    .into(),
            ),
            (
                "http://127.0.0.1/?a",
                "an upstream URL must not contain a query or fragment; the query of the request is used"
                    .into(),
            ),
            ("http://127.0.0.1/ü", "a URL must not contain `ü`; write `%C3%BC`".into()),
            ("{balancer: round-robin}", "`backends` is missing".into()),
            (
                "{backends: http://127.0.0.1/, balancer: random}",
                "expected one of round-robin, least-conn, two-choices, hash, found `random`".into(),
            ),
            ("[{weight: 1}]", "`url` is missing".into()),
            ("[{url: http://127.0.0.1/, weight: 0}]", "expected an integer from 1 to 256, found `0`".into()),
            (
                "[{url: http://127.0.0.1/, wait: 0}]",
                "expected one of url, weight, backup, down, max-connections, srv, found `wait`".into(),
            ),
        ];
        for (argument, want) in cases {
            assert_eq!(error(&format!("proxy.reverse.url: {argument}")), want, "{argument}");
        }
    }

    #[test]
    fn what_can_be_no_name_is_an_error_and_a_name_is_looked_up_later() {
        for name in ["a".repeat(64), format!("{}a", "a.".repeat(127)), "a..b".to_owned()] {
            let said = error(&format!("proxy.reverse.url: http://{name}/"));
            assert!(said.starts_with(&format!("`{name}` is not a valid host name; a host name")), "{said}");
        }
        let upstreams = settings("proxy.reverse.url: [http://a.invalid, http://127.0.0.1:1]").upstreams;
        assert_eq!(upstreams.iter().map(|own| own.found.len()).collect::<Vec<_>>(), [0, 1]);
    }
}
