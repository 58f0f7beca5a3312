//! `tcp-keepalive`, `tcp-user-timeout`: how the kernel detects that a peer is gone.

use crate::config::directive::{Directive, Scope, directive, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use hayami_net::liveness::{Liveness, Probes};
use std::time::Duration;

/// The settings of this feature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Connections of clients.
    clients: Peers,
    /// Connections to upstreams.
    upstreams: Peers,
}

impl FeatureSetting for Settings {}

/// The settings of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peers {
    probes: Option<Probes>,
    user_timeout: UserTimeout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UserTimeout {
    /// Not set.
    Default,
    Off,
    After(Duration),
}

impl Default for Peers {
    fn default() -> Self {
        Self { probes: Liveness::default().probes, user_timeout: UserTimeout::Default }
    }
}

impl Peers {
    /// The default user timeout is at least `patience`: for that long a peer may accept no data.
    fn liveness(self, patience: Duration) -> Liveness {
        let user_timeout = match self.user_timeout {
            UserTimeout::Default => Liveness::default().user_timeout.max(Some(patience)),
            UserTimeout::Off => None,
            UserTimeout::After(time) => Some(time),
        };
        Liveness { probes: self.probes, user_timeout }
    }
}

impl Settings {
    /// For connections of clients, which may accept no data of a response for `patience`.
    pub fn of_clients(&self, patience: Duration) -> Liveness {
        self.clients.liveness(patience)
    }

    /// For connections to upstreams.
    pub fn of_upstreams(&self) -> Liveness {
        self.upstreams.liveness(Duration::ZERO)
    }
}

const PROBES: &str = "ON | OFF, or {idle, interval, probes}";

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("TCP", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    directive!(
        "tcp-keepalive",
        GLOBAL,
        PROBES,
        "{idle: 60, interval: 30, probes: 8}",
        |scope, node| probes(node).map(|probes| own(scope).clients.probes = probes),
        "TCP keep-alive for connections of clients: after `idle` seconds without data the kernel sends a \
         probe every `interval` seconds, and closes the connection after `probes` unanswered probes or after \
         `tcp-user-timeout`."
    ),
    directive!(
        "tcp-user-timeout",
        GLOBAL,
        "seconds, or OFF",
        "300, or http1-response-io-timeout if that is longer",
        |scope, node| user_timeout(node).map(|time| own(scope).clients.user_timeout = time),
        "How long sent data may stay unacknowledged before the kernel closes the connection of a client; OFF \
         uses the kernel's default of about 15 minutes."
    ),
    directive!(
        "proxy.tcp-keepalive",
        GLOBAL,
        PROBES,
        "{idle: 60, interval: 30, probes: 8}",
        |scope, node| probes(node).map(|probes| own(scope).upstreams.probes = probes),
        "Like `tcp-keepalive`, for connections to upstreams, FastCGI applications and CONNECT targets."
    ),
    directive!(
        "proxy.tcp-user-timeout",
        GLOBAL,
        "seconds, or OFF",
        "300",
        |scope, node| user_timeout(node).map(|time| own(scope).upstreams.user_timeout = time),
        "Like `tcp-user-timeout`, for connections to upstreams, FastCGI applications and CONNECT targets."
    ),
];

fn own<'s>(scope: &'s mut Scope<'_>) -> &'s mut Settings {
    scope.global.get_mut::<Settings>()
}

/// The kernel's limits (tcp(7)).
const LONGEST: u64 = 32_767;
const MOST: u64 = 127;

fn probes(node: &Node) -> Result<Option<Probes>, ConfigError> {
    let Value::Mapping(pairs) = &node.value else {
        let on = node.on_off().map_err(|_| node.expected(PROBES))?;
        return Ok(on.then(Probes::default));
    };
    let mut probes = Probes::default();
    for (key, value) in pairs {
        match key.one_of(&["idle", "interval", "probes"])? {
            0 => probes.idle = seconds(value)?,
            1 => probes.interval = seconds(value)?,
            _ => probes.count = value.integer(1..=MOST)? as u32,
        }
    }
    Ok(Some(probes))
}

fn seconds(node: &Node) -> Result<Duration, ConfigError> {
    node.integer(1..=LONGEST).map(Duration::from_secs)
}

fn user_timeout(node: &Node) -> Result<UserTimeout, ConfigError> {
    if node.is("OFF") {
        return Ok(UserTimeout::Off);
    }
    // The kernel stores it in milliseconds, as a signed 32-bit number.
    let most = i32::MAX as u64 / 1000;
    node.integer(1..=most).map(|seconds| UserTimeout::After(Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::Level;
    use crate::modules::test_support::Setting;

    fn set(lines: &[&str]) -> Settings {
        let mut setting = Setting::default();
        lines.iter().for_each(|line| setting.set(Level::Global, line).expect(line));
        setting.global.get::<Settings>().clone()
    }

    #[test]
    fn settings_are_read() {
        let seconds = Duration::from_secs;
        let plain = set(&[]);
        assert_eq!(plain.of_clients(seconds(60)), Liveness::default());
        assert_eq!(plain.of_clients(seconds(3600)).user_timeout, Some(seconds(3600)));
        assert_eq!(plain.of_upstreams(), Liveness::default());
        let lines = [
            "tcp-keepalive: {idle: 5, probes: 2}",
            "tcp-user-timeout: 20",
            "proxy.tcp-keepalive: OFF",
            "proxy.tcp-user-timeout: OFF",
        ];
        let tcp = set(&lines);
        let probes = Probes { idle: seconds(5), count: 2, ..Probes::default() };
        let want = Liveness { probes: Some(probes), user_timeout: Some(seconds(20)) };
        assert_eq!(tcp.of_clients(seconds(60)), want);
        assert_eq!(tcp.of_upstreams(), Liveness::NONE);
        assert_eq!(set(&["tcp-keepalive: ON"]), plain);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let cases = [
            ("tcp-keepalive: 60", "expected ON | OFF, or {idle, interval, probes}, found `60`"),
            ("tcp-keepalive: {idle: 0}", "expected an integer from 1 to 32767, found `0`"),
            (
                "tcp-keepalive: {idel: 1}",
                "expected one of idle, interval, probes, found `idel`; did you mean `idle`?",
            ),
            ("tcp-user-timeout: 0", "expected an integer from 1 to 2147483, found `0`"),
        ];
        for (line, want) in cases {
            let error = Setting::default().set(Level::Global, line).expect_err(line);
            assert_eq!(error, want);
        }
    }
}
