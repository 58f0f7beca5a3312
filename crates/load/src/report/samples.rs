//! Made-up measurements for tests, with the same numbers each time.

use super::{About, Machine, Report};
use crate::plan::{
    Address, Distance, Expect, KeepAlive, Plan, Protocol, RequestTemplate, Target, TlsOptions, Until,
    Weighted,
};
use crate::{CpuRoom, Death, Ended, Errors, Outcome, Sample, ServerCost, Statuses, Tally};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

pub(crate) fn about() -> About {
    About {
        program: "hayami 0.1.0".into(),
        command: ["hayami", "bench", "-c", "100", "-t", "2", "http://127.0.0.1:8080/?a=1&b=<2>"]
            .map(String::from)
            .into(),
        machine: Machine {
            cpu: "Example CPU @ 3.00 GHz".into(),
            cores: 2,
            memory: 8_000_000_000,
            kernel: "Linux 6.18.0".into(),
            architecture: "x86_64".into(),
        },
    }
}

fn target(name: &str, port: u16) -> Target {
    let request = RequestTemplate {
        method: "GET".into(),
        target: "/".into(),
        authority: format!("127.0.0.1:{port}"),
        fields: vec![("accept".into(), "*/*".into())],
        body: None,
    };
    Target {
        name: name.into(),
        address: Address::Tcp(([127, 0, 0, 1], port).into()),
        secure: false,
        host: "127.0.0.1".into(),
        requests: vec![Weighted { weight: 1.0, request }],
    }
}

fn plan(targets: Vec<Target>) -> Plan {
    Plan {
        targets,
        connections: 100,
        threads: 2,
        streams: 1,
        pipeline: 1,
        until: Until::Elapsed(Duration::from_secs(10)),
        warm_up: Duration::from_secs(1),
        ramp_up: Duration::ZERO,
        rate: None,
        protocol: Protocol::Http11,
        keep_alive: KeepAlive::On,
        expect: Expect::default(),
        distance: None,
        tls: TlsOptions::default(),
        sources: Vec::new(),
        timeout: Duration::from_secs(30),
        rounds: 1,
    }
}

/// A server that answers `rate` requests per second with latencies around `median_us`, a few far out.
fn outcome(target: usize, round: u64, rate: u64, median_us: f64) -> Outcome {
    let seconds = 10;
    let mut tally = Tally::default();
    let mut state = 7 + round * 13 + target as u64;
    for step in 0..seconds * 100 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let even = (state >> 33) as f64 / f64::from(1_u32 << 31);
        let nanos = (median_us * 1e3 * (0.7 + 0.5 * even + 0.02 / (1.001 - even))) as u64;
        let times = (rate as f64 / 100.0 * (0.95 + 0.1 * even)) as u64;
        tally.latency.record_many(nanos, times);
        tally.first_byte.record_many(nanos * 9 / 10, times);
        let slot = tally.timeline.at(step * 10_000_000);
        slot.responses += times;
        slot.bytes += times * 850;
        slot.latency += nanos * times;
        slot.longest = slot.longest.max(nanos);
        tally.responses += times;
    }
    (0..100).for_each(|connection| tally.connect_before.record(150_000 + connection * 1_000));
    tally.requests = tally.responses;
    tally.statuses.add(200, tally.responses);
    (tally.bytes_in, tally.bytes_out) = (tally.responses * 850, tally.responses * 60);
    (tally.bytes_head, tally.bytes_content) = (tally.responses * 238, tally.responses * 612);
    tally.sample = Some(Sample {
        protocol: "HTTP/1.1".into(),
        tls: None,
        status: 200,
        fields: vec![("server".into(), "example".into())],
        content: 612,
    });
    Outcome {
        target,
        started: UNIX_EPOCH + Duration::from_secs(1_795_311_600 + 10 * round),
        elapsed: Duration::from_secs(seconds),
        generator_cpu: Duration::from_millis(13_400),
        threads: 2,
        server: Some(ServerCost {
            processes: vec![4711, 4712],
            name: "example".into(),
            user: Duration::from_nanos(tally.responses * (1500 + 600 * target as u64)),
            system: Duration::from_nanos(tally.responses * (4900 + 300 * target as u64 + 20 * round)),
            memory: 12_300_000 + 1_000_000 * target as u64 + 10_000 * round,
        }),
        room: Some(CpuRoom {
            generator: vec![0, 1],
            server: vec![0, 1],
            busy: Duration::from_millis(19_000),
            idle: Duration::from_millis(1_000),
        }),
        ended: Ended::Complete,
        death: None,
        tally,
    }
}

/// One target, one round, no error.
pub(crate) fn single() -> (Plan, Vec<Outcome>) {
    (plan(vec![target("http://127.0.0.1:8080/", 8080)]), vec![outcome(0, 0, 61_000, 800.0)])
}

/// A fixed rate, a distance, TLS, errors of all kinds, and an interrupted run.
pub(crate) fn troubled() -> (Plan, Vec<Outcome>) {
    let mut plan = plan(vec![target("https://example.test/<b>?a=1&b=2", 443)]);
    plan.targets[0].secure = true;
    plan.rate = Some(5000.0);
    plan.distance =
        Some(Distance { rtt: Duration::from_millis(100), jitter: Duration::from_millis(5), loss: 0.01 });
    plan.keep_alive = KeepAlive::Requests(10);
    plan.protocol = Protocol::Http2;
    plan.streams = 8;
    let mut outcome = outcome(0, 0, 4900, 2400.0);
    let tally = &mut outcome.tally;
    tally.uncorrected = Some(tally.latency.clone());
    tally.latency.record_many(900_000_000, 800);
    tally.errors = Errors {
        connect: 3,
        tls: 1,
        reset: 4,
        timeout: 1,
        protocol: 5,
        short: 9,
        status: 26,
        content: 2,
        lost: 53,
    };
    tally.statuses = Statuses::default();
    for (code, count) in [(200, tally.responses - 29), (304, 3), (404, 19), (500, 6), (999, 1)] {
        tally.statuses.add(code, count);
    }
    for (kind, text, count) in [
        ("connect", "connection refused", 3),
        ("tls", "the server's certificate isn't for example.test but for www.example.test", 1),
        ("reset", "connection reset by the server", 4),
        ("timeout", "no response within 30s", 1),
        ("protocol", "malformed response: the Content-Length field is repeated", 5),
        ("short", "the server closed the connection in the middle of a response", 9),
        ("content", "the content differs from the expected content", 2),
    ] {
        tally.causes.add(kind, text, count);
    }
    (0..40).for_each(|step| tally.timeline.at(4_000_000_000 + step * 20_000_000).errors += 1);
    (outcome.server, outcome.room, outcome.ended) = (None, None, Ended::Interrupted);
    outcome.death =
        Some(Death { at: Duration::from_millis(9_840), cause: Some("connection refused".into()) });
    (plan, vec![outcome])
}

/// Three targets in five rounds: the second is slower, the third about the same.
pub(crate) fn compared() -> (Plan, Vec<Outcome>) {
    let names = [
        ("http://127.0.0.1:8080/", 8080),
        ("http://127.0.0.1:8081/", 8081),
        ("http://[::1]:8082/a/rather/long/path/to/an/answer.html", 8082),
    ];
    let mut plan = plan(names.map(|(name, port)| target(name, port)).into());
    plan.rounds = 5;
    let mut outcomes = Vec::new();
    for round in 0..5 {
        let drift = 1000 * (round % 3);
        outcomes.push(outcome(0, round, 61_000 + drift, 800.0));
        outcomes.push(outcome(1, round, 43_000 + drift / 2 + 300 * round, 1140.0));
        outcomes.push(outcome(
            2,
            round,
            60_500 + drift + 350 * (round % 2) * round,
            805.0 - 4.0 * round as f64,
        ));
    }
    (plan, outcomes)
}

/// A server that was unreachable.
pub(crate) fn nothing() -> (Plan, Vec<Outcome>) {
    let (plan, mut outcomes) = single();
    let errors = Errors { connect: 1200, ..Errors::default() };
    outcomes[0].tally = Tally { errors, ..Tally::default() };
    outcomes[0].tally.causes.add("connect", "connection refused", 1200);
    outcomes[0].server = None;
    outcomes[0].generator_cpu = Duration::from_millis(40);
    (plan, outcomes)
}

/// Compares the report of each measurement with fixtures/report/NAME.`extension`. With
/// HAYAMI_WRITE_FIXTURES=1 in the environment, writes the fixture instead.
pub(crate) fn golden(extension: &str, make: impl Fn(&Report<'_>) -> String) {
    let write = std::env::var_os("HAYAMI_WRITE_FIXTURES").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/report");
    let warnings =
        ["the generator used 98 % of its CPU time: it may have been the bottleneck; try -t 2".to_owned()];
    let about = about();
    let all =
        [("single", single()), ("troubled", troubled()), ("compared", compared()), ("nothing", nothing())];
    for (name, (plan, outcomes)) in all {
        let warnings = if name == "troubled" { &warnings[..] } else { &[] };
        let said = make(&Report { plan: &plan, outcomes: &outcomes, warnings, about: &about });
        let path = folder.join(name).with_extension(extension);
        if write {
            std::fs::create_dir_all(&folder).expect("a writable folder");
            std::fs::write(&path, &said).expect("a writable fixture");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(said == expected, "{} is not what is said now:\n{said}", path.display());
    }
}
