//! A plan for tests of other modules.

use super::*;

/// One plain target, 64 connections, ten seconds.
pub(crate) fn plan() -> Plan {
    Plan {
        targets: vec![target("http://a/")],
        connections: 64,
        threads: 2,
        streams: 1,
        pipeline: 1,
        until: Until::Elapsed(Duration::from_secs(10)),
        warm_up: Duration::ZERO,
        ramp_up: Duration::ZERO,
        rate: None,
        protocol: Protocol::Auto,
        keep_alive: KeepAlive::On,
        expect: Expect::default(),
        distance: None,
        tls: TlsOptions::default(),
        sources: Vec::new(),
        timeout: Duration::from_secs(10),
        rounds: 1,
    }
}

/// A target with one path.
pub(crate) fn target(name: &str) -> Target {
    let request = RequestTemplate {
        method: "GET".into(),
        target: "/".into(),
        authority: "a".into(),
        fields: Vec::new(),
        body: None,
    };
    Target {
        name: name.into(),
        address: Address::Tcp(([127, 0, 0, 1], 80).into()),
        secure: false,
        host: "a".into(),
        requests: vec![Weighted { weight: 1.0, request }],
    }
}
