//! The directives of named upstream groups.

use super::read;
use crate::config::directive::{Directive, Levels};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "upstreams",
        levels: Levels::GLOBAL,
        argument: "a mapping of names to {backends, balancer, max-failures, fail-timeout, health-check, queue, \
                   retry, slow-start}",
        default: "",
        help: "Named groups of upstream servers, for any number of paths: `proxy.reverse.url: \
               http://NAME/path`, or `fastcgi.connect: {upstream: NAME}`. All paths that use a group share \
               its connections, health and counters.",
        set: read::set,
    },
    Directive {
        name: "resolver",
        levels: Levels::GLOBAL,
        argument: "an address with or without a port, or a sequence of such",
        default: "",
        help: "Name servers that resolve the names of upstreams instead of the system's resolver \
               (/etc/hosts, /etc/nsswitch.conf).",
        set: read::set_resolver,
    },
];

#[cfg(test)]
mod tests {
    use super::super::{Check, Group, HashKey, Policy, Queueing};
    use crate::features::load_text;
    use std::time::Duration;

    fn load(lines: &str) -> Result<crate::config::Loaded, String> {
        let text = format!(
            "listen: 80\n{lines}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: http://app/x}}}}}}}}\n"
        );
        load_text("test", &text).map_err(|errors| {
            let all = errors.errors.iter().map(|error| match error.help.as_str() {
                "" => error.message.clone(),
                help => format!("{}; {help}", error.message),
            });
            all.collect::<Vec<_>>().join(" | ")
        })
    }

    fn group(keys: &str) -> Group {
        let loaded =
            load(&format!("upstreams: {{app: {{backends: http://127.0.0.1:1, {keys}}}}}")).expect(keys);
        loaded.settings.global.get::<crate::modules::upstreams::Settings>().groups[0].clone()
    }

    #[test]
    fn everything_that_may_be_said_of_a_group_is_read() {
        let plain = group("");
        assert!(plain.used && plain.check.is_none());
        assert_eq!(plain.queue, Queueing { length: 1000, timeout: Duration::from_secs(5) });
        let full = group(
            "balancer: {hash: {header: X-User}}, max-failures: 3, fail-timeout: 5000, slow-start: 30000, queue: \
             {length: 7, timeout: 250}, retry: {tries: 2, time: 1000}, health-check: /health",
        );
        assert_eq!((full.policy, full.key), (Policy::Hash, HashKey::Header(b"x-user".to_vec())));
        assert_eq!((full.patience.failures, full.patience.longest), (3, Duration::from_secs(5)));
        assert_eq!(full.slow_start, Duration::from_secs(30));
        assert_eq!(full.queue, Queueing { length: 7, timeout: Duration::from_millis(250) });
        assert_eq!((full.retry.tries, full.retry.time), (2, Some(Duration::from_secs(1))));
        assert_eq!(full.check, Some(Check { path: Some("/health".to_owned()), ..Check::default() }));
        assert_eq!(group("queue: OFF").queue.length, 0);
    }

    #[test]
    fn balancers_and_what_they_hash_have_names() {
        let cases = [
            ("round-robin", Policy::RoundRobin, HashKey::Client),
            ("least-conn", Policy::LeastConn, HashKey::Client),
            ("two-choices", Policy::TwoChoices, HashKey::Client),
            ("hash", Policy::Hash, HashKey::Client),
            ("{hash: client}", Policy::Hash, HashKey::Client),
            ("{hash: uri}", Policy::Hash, HashKey::Uri),
            ("{hash: {cookie: SID}}", Policy::Hash, HashKey::Cookie(b"SID".to_vec())),
        ];
        for (text, policy, key) in cases {
            let group = group(&format!("balancer: {text}"));
            assert_eq!((group.policy, group.key), (policy, key), "{text}");
        }
    }

    #[test]
    fn checks_have_short_forms_and_long_ones() {
        let path = Some("/up".to_owned());
        let check = |text: &str| group(&format!("health-check: {text}")).check;
        assert_eq!(check("OFF"), None);
        assert_eq!(check("TCP"), Some(Check::default()));
        assert_eq!(check("{tcp: YES, falls: 1}"), Some(Check { falls: 1, ..Check::default() }));
        let long = "{path: /up, host: 'a.example:1', status: [200, 301-302], interval: 1000, timeout: 100, rises: 1}";
        let want = Check {
            path,
            host: Some("a.example:1".to_owned()),
            statuses: vec![200..=200, 301..=302],
            interval: Duration::from_secs(1),
            timeout: Duration::from_millis(100),
            rises: 1,
            falls: 3,
        };
        assert_eq!(check(long), Some(want));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let one = |rest: &str| format!("upstreams: {{app: {rest}}}");
        let of = |keys: &str| one(&format!("{{backends: http://127.0.0.1:1, {keys}}}"));
        let cases = [
            (one("{balancer: hash}"), "`upstreams`: `backends` is missing"),
            (one("[]"), "`upstreams`: at least one upstream URL is required"),
            (
                of("balancr: hash"),
                "`upstreams`: expected one of backends, balancer, fail-timeout, health-check, \
              max-failures, queue, retry, slow-start, found `balancr`; did you mean `balancer`?",
            ),
            (
                of("balancer: {hash: ip}"),
                "`upstreams`: expected client, uri, {header: NAME} or {cookie: NAME}, found `ip`",
            ),
            (
                of("balancer: {hash: {header: 'a b'}}"),
                "`upstreams`: `a b` is not a valid header or cookie name",
            ),
            (of("queue: 5"), "`upstreams`: expected {length, timeout}, or OFF, found `5`"),
            (of("retry: {tries: 0}"), "`upstreams`: expected an integer from 1 to 100, found `0`"),
            (of("health-check: {falls: 2}"), "`upstreams`: a health check requires a `path` or `tcp: YES`"),
            (
                of("health-check: {path: /a, tcp: YES}"),
                "`upstreams`: a health check must have a `path` or `tcp: YES`, not both",
            ),
            (
                of("health-check: {path: /a, status: 99}"),
                "`upstreams`: expected a status from 100 to 599, or a range such as 200-299, found `99`",
            ),
            (
                one("[{url: 'http://127.0.0.1:1', weight: 257}]"),
                "`upstreams`: expected an integer from 1 to 256, found `257`",
            ),
            (
                one("[{url: 'http://127.0.0.1:1', backup: maybe}]"),
                "`upstreams`: expected one of NO, YES, OFF, ON, found `maybe`",
            ),
            (
                one("[{url: 'http://127.0.0.1:1', srv: YES}]"),
                "`upstreams`: with `srv: YES`, DNS supplies the ports; write the name of a service without \
                 a port: `http://_http._tcp.example.org`",
            ),
            (
                one("http://127.0.0.1:1/a"),
                "`upstreams`: `http://127.0.0.1:1` must not have a path here; put the path \
                 where the group is used: `http://app/a`",
            ),
            (
                "upstreams: {'a:1': http://127.0.0.1:1}".to_owned(),
                "`upstreams`: expected a name of letters, digits, `-`, `_` and `.`, found `a:1`",
            ),
            (
                "upstreams: {app: http://127.0.0.1:1, app: http://127.0.0.1:2}".to_owned(),
                "upstream group `app` is defined twice",
            ),
            (
                "resolver: localhost".to_owned(),
                "`resolver`: expected the address of a name server, such as `10.0.0.2` or `127.0.0.1:8600`, found `localhost`",
            ),
        ];
        for (lines, want) in cases {
            let said = load(&lines).expect_err(&lines);
            assert!(said.contains(want), "{lines}: {said}");
        }
    }

    #[test]
    fn an_unused_group_is_a_warning() {
        let loaded = load("upstreams: {app: http://127.0.0.1:1, other: http://127.0.0.1:1}").expect("good");
        let said: Vec<_> = loaded.warnings.iter().map(|warning| &warning.message[..]).collect();
        assert_eq!(said, ["upstream group `other` is not used"]);
    }
}
