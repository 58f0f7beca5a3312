//! How much load a client CPU generates: `load_speed URL [-c N] [-t N] [-m N] [-p N] [-d S] [-n N] [-r RATE]
//! [--http 1.0|1.1|2] [--close] [--rtt MS] [--post BYTES]`. For manual comparisons with wrk, h2load and ab,
//! whose CPU time `time` reports.

use hayami_load::plan::{
    Address, Distance, Expect, KeepAlive, Plan, Protocol, RequestTemplate, Target, TlsOptions, Until,
    Weighted,
};
use hayami_load::{Control, run};
use std::net::ToSocketAddrs;
use std::time::Duration;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let number = |name: &str, default: f64| value(name).map_or(default, |text| text.parse().expect(name));
    let url = args.first().expect("a URL");
    let (scheme, rest) = url.split_once("://").expect("a scheme");
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let secure = scheme == "https";
    let port = if secure { 443 } else { 80 };
    let name = if authority.contains(':') { authority.into() } else { format!("{authority}:{port}") };
    let address = name.to_socket_addrs().expect("an address").next().expect("an address");
    let bytes = number("--post", 0.0) as usize;
    let request = RequestTemplate {
        method: if bytes > 0 { "POST" } else { "GET" }.into(),
        target: format!("/{path}"),
        authority: authority.into(),
        fields: vec![("user-agent".into(), "load_speed".into())],
        body: (bytes > 0).then(|| vec![b'x'; bytes].into()),
    };
    let target = Target {
        name: url.clone(),
        address: Address::Tcp(address),
        secure,
        host: authority.split(':').next().unwrap_or_default().into(),
        requests: vec![Weighted { weight: 1.0, request }],
    };
    let plan = Plan {
        targets: vec![target],
        connections: number("-c", 100.0) as usize,
        threads: number("-t", 1.0) as usize,
        streams: number("-m", 1.0) as usize,
        pipeline: number("-p", 1.0) as usize,
        until: match value("-n") {
            Some(count) => Until::Requests(count.parse().expect("-n")),
            None => Until::Elapsed(Duration::from_secs_f64(number("-d", 3.0))),
        },
        warm_up: Duration::from_secs_f64(number("--warm-up", 0.0)),
        ramp_up: Duration::from_secs_f64(number("--ramp-up", 0.0)),
        rate: value("-r").map(|rate| rate.parse().expect("-r")),
        protocol: match value("--http").map(String::as_str) {
            Some("1.0") => Protocol::Http10,
            Some("2") => Protocol::Http2,
            Some(_) => Protocol::Http11,
            None => Protocol::Auto,
        },
        keep_alive: if args.iter().any(|arg| arg == "--close") { KeepAlive::Off } else { KeepAlive::On },
        expect: Expect::default(),
        distance: value("--rtt").map(|rtt| Distance {
            rtt: Duration::from_secs_f64(rtt.parse::<f64>().expect("--rtt") / 1e3),
            jitter: Duration::ZERO,
            loss: 0.0,
        }),
        tls: TlsOptions { verify: false, ..TlsOptions::default() },
        sources: Vec::new(),
        timeout: Duration::from_secs(10),
        rounds: 1,
    };
    let outcome = run(&plan, 0, &Control::new(None)).expect("a run");
    let tally = &outcome.tally;
    let rate = tally.responses as f64 / outcome.elapsed.as_secs_f64();
    let per_cpu = tally.responses as f64 / outcome.generator_cpu.as_secs_f64();
    println!("{rate:.0} responses/s, {per_cpu:.0} for a CPU second of the client");
    println!(
        "{} responses, {} requests, {} connections, {} resumed in {:?}, CPU {:?}",
        tally.responses,
        tally.requests,
        tally.connections,
        tally.resumed,
        outcome.elapsed,
        outcome.generator_cpu
    );
    println!("bytes: {} in, {} out, {} of content", tally.bytes_in, tally.bytes_out, tally.bytes_content);
    let times = [("latency", &tally.latency), ("connect", &tally.connect), ("first byte", &tally.first_byte)];
    for (name, histogram) in times.into_iter().chain(tally.uncorrected.as_ref().map(|h| ("uncorrected", h))) {
        let at = [0.5, 0.9, 0.99, 0.999, 1.0].map(|quantile| histogram.quantile(quantile));
        println!("{name}: p50 {:?} p90 {:?} p99 {:?} p99.9 {:?} max {:?}", at[0], at[1], at[2], at[3], at[4]);
    }
    println!("status {:?}, {:?}", tally.statuses.classes(), tally.errors);
}
