//! Directives to limits, and limits to verdicts.

use super::*;
use crate::client::Client;
use crate::features::load_text;
use crate::handler::testing;
use crate::modules::file::scratch::Scratch;
use crate::modules::test_support::{Setting, error, set};
use crate::passed_limits::PassedLimits;
use bound::{Bound, Exceeded};
use std::time::Duration;

fn settings(line: &str) -> Settings {
    set(&[line]).inherited.get::<Settings>().clone()
}

fn faults(settings: &Settings) -> Vec<String> {
    settings.all().map(|limit| limit.bound.fault()).collect()
}

#[test]
fn one_mapping_or_several_are_read_and_off_removes_them() {
    let one = settings("limit.requests: {rate: 5/s, burst: 10}");
    assert_eq!(faults(&one), ["more requests than 5/s with a burst of 10"]);
    let both =
        settings("limit.requests: [{rate: 5/s}, {rate: 100/h, key: path}]\nlimit.connections: {max: 3}");
    assert_eq!(
        faults(&both),
        ["more requests than 5/s", "more requests than 100/h", "more than 3 requests at once"]
    );
    assert!(
        faults(set(&["limit.requests: {rate: 5/s}", "limit.requests: OFF"]).inherited.get::<Settings>())
            .is_empty()
    );
}

#[test]
fn an_inner_level_replaces_the_limits_of_the_same_directive() {
    let mut setting = Setting::default();
    setting
        .set(Level::Global, "limit.requests: [{rate: 1/s}, {rate: 2/s}]\nlimit.connections: {max: 9}")
        .expect("set");
    setting.set(Level::Path, "limit.requests: {rate: 3/s}").expect("set");
    let inner = setting.inherited.get::<Settings>();
    assert_eq!(faults(inner), ["more requests than 3/s", "more than 9 requests at once"]);
}

#[test]
fn a_directive_that_is_repeated_at_a_level_adds_limits() {
    let mut setting = Setting::default();
    setting.set(Level::Global, "limit.requests: {rate: 1/s}").expect("set");
    setting.set(Level::Path, "limit.requests: {rate: 2/s}").expect("set");
    setting.set(Level::Path, "limit.requests: [{rate: 3/s}, {rate: 4/s}]").expect("set");
    let shown = |setting: &Setting| faults(setting.inherited.get::<Settings>());
    assert_eq!(
        shown(&setting),
        ["more requests than 2/s", "more requests than 3/s", "more requests than 4/s"]
    );
    let ids: Vec<_> = setting.inherited.get::<Settings>().all().map(|limit| limit.shown()).collect();
    assert!(ids[1].contains("entry 2") && ids[2].contains("entry 3"), "{ids:?}");
    setting.set(Level::Path, "limit.requests: OFF").expect("set");
    assert!(shown(&setting).is_empty());
}

#[test]
fn what_is_wrong_is_said_with_a_remedy() {
    let rate = "expected a rate such as `5/s`, `100/m` or `1000/h`, up to 1000000, found";
    let key = "`key`: expected client, host, path, {field: NAME} or {cookie: NAME}, found";
    for (line, want) in [
        ("limit.requests: {rate: 5}", format!("`rate`: {rate} `5`; add the unit: `5/s`, `5/m` or `5/h`")),
        ("limit.requests: {rate: 0/s}", format!("`rate`: {rate} `0/s`")),
        ("limit.requests: {rate: -1/s}", format!("`rate`: {rate} `-1/s`")),
        (
            "limit.requests: 5/s",
            "expected a mapping, such as `limit.requests: {rate: …}`, found `5/s`; write `limit.requests: {rate: 5/s}`".into(),
        ),
        (
            "limit.requests: {burst: 5}",
            "`rate` is missing: how many requests are accepted in which time; write `limit.requests: {rate: 5/s, \
             burst: 10}`"
                .into(),
        ),
        (
            "limit.requests: []",
            "the sequence is empty; write `limit.requests: OFF` to remove the limits of an outer level".into(),
        ),
        (
            "limit.requests: {rates: 5/s}",
            "unknown key `rates` in `limit.requests`; did you mean `rate`?".into(),
        ),
        (
            "limit.requests: {rate: 1/s, delay: ON}",
            "`delay` has no effect without `burst`: only requests within it wait; write `burst: 10` as well".into(),
        ),
        (
            "limit.requests: {rate: 1/s, burst: 5, delay: 5}",
            "`delay: 5` delays no request: `burst` is 5; write a `burst` that is greater".into(),
        ),
        (
            "limit.requests: {rate: 1/s, burst: 5, delay: nodelay}",
            "`delay`: expected ON, OFF or a number of requests, found `nodelay`".into(),
        ),
        ("limit.requests: {rate: 1/s, burst: -1}", "`burst`: expected an integer from 0 to 1000000, found `-1`".into()),
        ("limit.requests: {rate: 1/s, key: ip}", format!("{key} `ip`")),
        ("limit.requests: {rate: 1/s, key: cookie}", format!("{key} `cookie`; write `key: {{cookie: session}}`")),
        (
            "limit.requests: {rate: 1/s, key: {header: a}}",
            "`key`: expected field or cookie, found `header`; write `key: {field: a}`".into(),
        ),
        (
            "limit.requests: {rate: 1/s, key: {field: a, burst: 3}}",
            "`key` has one of field and cookie; write `key: {field: x-api-key}`, and other arguments beside `key`"
                .into(),
        ),
        ("limit.requests: {rate: 1/s, key: x-key}", format!("{key} `x-key`; write `key: {{field: x-key}}`")),
        (
            "limit.requests: {rate: 1/s, key: $binary_remote_addr}",
            format!("{key} `$binary_remote_addr`; leave `key` out: the client's address is the default"),
        ),
        (
            "limit.requests: {rate: 1/s, burst: 5, nodelay: ON}",
            "`nodelay` is the default: requests within the burst are served at once; leave it out; `delay: ON` makes them \
             wait"
                .into(),
        ),
        (
            "limit.requests: zone=one burst=5 nodelay",
            "expected a mapping, a sequence of mappings or OFF, found `zone=one burst=5 nodelay`; write `limit.requests: \
             {rate: 5/s, burst: 10}`"
                .into(),
        ),
        (
            "limit.connections: 2",
            "expected a mapping, a sequence of mappings or OFF, found `2`; write `limit.connections: {max: 2}`".into(),
        ),
        (
            "limit.requests: {rate: 1/s, prefix: 24}",
            "`prefix`: expected the prefix lengths of IPv4 and IPv6, such as [24, 56], found `24`".into(),
        ),
        ("limit.requests: {rate: 1/s, prefix: [33, 64]}", "`prefix`: expected an integer from 1 to 32, found `33`".into()),
        (
            "limit.requests: {rate: 1/s, key: host, prefix: [24, 56]}",
            "`prefix` has no effect: this key does not count clients".into(),
        ),
        ("limit.requests: {rate: 1/s, status: 200}", "`status`: expected an integer from 400 to 599, found `200`".into()),
        (
            "limit.requests: {rate: 1/s, exempt: localhost}",
            "`exempt`: expected an address, a network such as 10.0.0.0/8, or `unix:`, found `localhost`".into(),
        ),
        ("limit.requests: {rate: 1/s, entries: 10}", "`entries`: expected an integer from 100 to 10000000, found `10`".into()),
        ("limit.connections: {max: 0}", "`max`: expected an integer from 1 to 1000000, found `0`".into()),
        (
            "limit.connections: {key: client}",
            "`max` is missing: how many requests of a key are served at once; write `limit.connections: {max: 100}`".into(),
        ),
        (
            "limit.requests: [{rate: 1/s, name: a}, {rate: 2/s, name: a}]",
            "the limit `a` is defined twice, with different keys or values; write the same, or choose another name"
                .into(),
        ),
    ] {
        assert_eq!(error(line), want, "{line}");
    }
}

#[test]
fn limits_of_one_name_are_one() {
    let mut setting = Setting::default();
    setting.set(Level::Path, "limit.requests: {rate: 5/m, name: login}").expect("set");
    let first = Arc::clone(&setting.inherited.get::<Settings>().requests.limits[0]);
    setting.set(Level::Path, "limit.requests: {name: login, rate: 5/m}").expect("set");
    assert!(Arc::ptr_eq(&first, &setting.inherited.get::<Settings>().requests.limits[0]));
    setting.set(Level::Path, "limit.connections: {max: 5, name: login}").expect("another directive");
}

#[test]
fn exempt_clients_are_addresses_and_files() {
    let folder = Scratch::new();
    folder.write("list", "192.0.2.0/24\n");
    let line = format!(
        "limit.requests: {{rate: 1/s, exempt: [10.0.0.0/8, unix:, {{file: {}}}]}}",
        folder.path("list").display()
    );
    let settings = settings(&line);
    let exempt = &settings.requests.limits[0].exempt;
    for (ip, want) in [("10.1.2.3", true), ("192.0.2.7", true), ("192.0.3.7", false)] {
        let client = hayami_net::service::Address::Ip((ip.parse::<std::net::IpAddr>().expect(ip), 1).into());
        assert_eq!(exempt.contains(&client), want, "{ip}");
    }
    assert!(exempt.contains(&hayami_net::service::Address::Unix));
}

fn configuration(global: &str, path: &str) -> config::Settings {
    let text = format!("listen: 80\n{global}\nhosts: {{a: {{paths: {{/: {{{path}, file.dir: /}}}}}}}}");
    let loaded = load_text("t", &text).unwrap_or_else(|errors| panic!("{errors}"));
    config::Settings::clone(&loaded.settings)
}

fn account_of(settings: &config::Settings) -> u64 {
    limits(settings).next().expect("a limit").account().id
}

#[test]
fn a_reload_keeps_what_a_limit_has_counted_if_it_counts_the_same() {
    let one = "limit.requests: {rate: 1/s}";
    let before = configuration("", one);
    let id = account_of(&before);
    for (global, path, is_kept) in [
        ("", one, true),
        ("", "limit.requests: {rate: 9/m, burst: 5, status: 503}", true),
        ("", "limit.requests: {rate: 1/s, key: host}", false),
        ("", "limit.requests: {rate: 1/s, entries: 200}", false),
        ("", "limit.requests: {rate: 1/s, name: own}", false),
        ("", "limit.connections: {max: 1}", false),
        (one, "satisfy: all", false),
    ] {
        let next = configuration(global, path);
        take_over(&next, &before);
        assert_eq!(account_of(&next) == id, is_kept, "{global} {path}");
    }
}

#[test]
fn a_limit_of_an_outer_level_is_one_for_all_below() {
    let text =
        "listen: 80\nlimit.requests: {rate: 1/s}\nhosts: {a: {paths: {/: {file.dir: /}, /b: {file.dir: /}}}}";
    let settings = load_text("t", text).unwrap_or_else(|errors| panic!("{errors}")).settings;
    let mut ids: Vec<_> = limits(&settings).map(|limit| limit.account().id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

#[test]
fn connections_are_counted_while_a_request_passes() {
    let settings = settings("limit.connections: {max: 2}");
    let limit = &settings.connections.limits[0];
    let count = |passed: &mut PassedLimits| limit.bound.count(limit.account(), 7, 0, passed);
    let (mut one, mut two, mut three) = Default::default();
    assert!(count(&mut one).is_ok() && count(&mut two).is_ok());
    assert!(matches!(count(&mut three), Err(Exceeded(wait)) if wait == Duration::from_secs(1)));
    assert!(!three.contains(limit.account().id), "what is rejected holds nothing");
    drop(one);
    assert!(count(&mut three).is_ok());
}

#[test]
fn a_client_is_told_what_it_may_do_and_when() {
    for (line, retry, want) in [
        (
            "limit.requests: {rate: 5/m, name: login}",
            Duration::from_millis(11_001),
            ["12", "\"login\";q=5;w=60", "\"login\";r=0;t=12"],
        ),
        (
            "limit.connections: {max: 3, status: 503}",
            Duration::from_secs(1),
            ["1", "\"connections\";q=3;qu=\"concurrent-requests\"", "\"connections\";r=0;t=1"],
        ),
    ] {
        let settings = settings(line);
        let limit = settings.all().next().expect("a limit");
        let response = reply::rejection(limit, &Exceeded(retry));
        let fields = ["retry-after", "ratelimit-policy", "ratelimit"];
        let fields = fields.map(|name| response.head.get_named(name.as_bytes()).expect(name));
        assert_eq!(fields.map(String::from_utf8_lossy), want, "{line}");
        let status = if matches!(limit.bound, Bound::Requests { .. }) { 429 } else { 503 };
        assert_eq!(response.head.status().code(), status);
    }
}

#[test]
fn each_limit_counts_a_request_once() {
    let mut head = testing::head("GET", "/");
    let settings = settings("limit.requests: [{rate: 1/h, burst: 1}, {rate: 1/h, burst: 5, name: other}]");
    let worker = crate::worker::WorkerContext::new(&Default::default(), None, 1);
    let (all, inherited) =
        (config::Settings::default(), crate::config::feature_settings::FeatureSettings::default());
    let route = crate::feature::RouteContext::new(&[], &all, &inherited, &worker);
    let step = step::build(&settings, &route).expect("a step");
    let mut client = Client::default();
    let mut passed = PassedLimits::default();
    for _ in 0..5 {
        let verdict = testing::pass_again(&*step, &mut head, &mut client, &mut passed);
        assert!(matches!(verdict, crate::phase::Verdict::Pass), "the same request");
    }
    assert!(matches!(testing::pass(&*step, &mut head, &mut client), crate::phase::Verdict::Pass));
    let crate::phase::Verdict::Answer(reply) = testing::pass(&*step, &mut head, &mut client) else {
        panic!("it is the third")
    };
    let want = "more requests than 1/h with a burst of 1 from client ";
    assert!(reply.reason.starts_with(want) && !reply.is_repeated, "{}", reply.reason);
    let crate::phase::Verdict::Answer(reply) = testing::pass(&*step, &mut head, &mut client) else {
        panic!("it is the fourth")
    };
    assert!(reply.reason.starts_with(want), "{}", reply.reason);
}
