//! The whole measurement as JSON.
//!
//! Its members, units and rules are in docs/bench.md (JSON), and a test compares that list with what is written
//! here. [`VERSION`] rises when a member changes its meaning or goes away; members may be added at any time.

use super::failures::causes;
use super::summary::Summary;
use super::{About, PERCENTILES, Report, figure};
use crate::compare::{Comparison, Figure, Row};
use crate::plan::{Address, KeepAlive, Plan, Protocol, Target, TlsVersions, Until, Weighted};
use crate::{CpuRoom, Ended, Histogram, Outcome, Sample, ServerCost, Tally, Timeline};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The version of the format.
const VERSION: u32 = 1;

/// The measurement as one JSON object, indented, ending with a newline.
#[must_use]
pub fn json(report: &Report<'_>) -> String {
    let targets: Vec<_> = Summary::all(report).iter().map(|summary| target(report.plan, summary)).collect();
    let comparison = Comparison::of(report.plan, report.outcomes);
    let whole = json!({
        "format": { "name": "hayami bench", "version": VERSION },
        "about": about(report.about),
        "plan": plan(report.plan),
        "targets": targets,
        "comparison": comparison.map(|comparison| compared(report.plan, &comparison)),
        "warnings": report.warnings,
    });
    format!("{whole:#}\n")
}

fn about(about: &About) -> Value {
    let machine = &about.machine;
    json!({
        "program": about.program,
        "command": about.command,
        "machine": {
            "cpu": machine.cpu,
            "cores": machine.cores,
            "memory_bytes": machine.memory,
            "kernel": machine.kernel,
            "architecture": machine.architecture,
        },
    })
}

fn plan(plan: &Plan) -> Value {
    let (duration, requests) = match plan.until {
        Until::Elapsed(duration) => (Some(duration.as_secs_f64()), None),
        Until::Requests(count) => (None, Some(count)),
    };
    json!({
        "connections": plan.connections,
        "threads": plan.threads,
        "streams": plan.streams,
        "pipeline": plan.pipeline,
        "duration_s": duration,
        "requests": requests,
        "warm_up_s": plan.warm_up.as_secs_f64(),
        "ramp_up_s": plan.ramp_up.as_secs_f64(),
        "rate_per_s": plan.rate,
        "protocol": protocol(plan.protocol),
        "requests_per_connection": match plan.keep_alive {
            KeepAlive::On => None,
            KeepAlive::Off => Some(1),
            KeepAlive::Requests(count) => Some(count),
        },
        "expect": {
            "status": plan.expect.status,
            "length_bytes": plan.expect.length,
            "body_bytes": plan.expect.body.as_ref().map(|body| body.len()),
        },
        "distance": plan.distance.map(|distance| json!({
            "rtt_us": micros(distance.rtt), "jitter_us": micros(distance.jitter), "loss": distance.loss,
        })),
        "tls": {
            "verify": plan.tls.verify,
            "resume": plan.tls.resume,
            "client_certificate": plan.tls.identity.is_some(),
            "versions": match plan.tls.versions {
                TlsVersions::Both => ["1.2", "1.3"].as_slice(),
                TlsVersions::Only12 => &["1.2"],
                TlsVersions::Only13 => &["1.3"],
            },
            "ciphers": plan.tls.ciphers,
            "groups": plan.tls.groups,
        },
        "sources": plan.sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "timeout_s": plan.timeout.as_secs_f64(),
        "rounds": plan.rounds,
    })
}

fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Auto => "auto",
        Protocol::Http10 => "1.0",
        Protocol::Http11 => "1.1",
        Protocol::Http2 => "2",
    }
}

fn target(plan: &Plan, summary: &Summary<'_>) -> Value {
    let Target { name, address, secure, host, requests } = summary.target;
    let histogram: Vec<_> = summary
        .tally
        .latency
        .recorded()
        .map(|(low, high, count)| json!([low / 1e3, high / 1e3, count]))
        .collect();
    let mut total = figures(plan, &summary.tally, summary.elapsed, summary.server.as_ref());
    total.insert("generator".into(), generator(summary.generator_cpu, summary.elapsed, summary.threads));
    total.insert("ended".into(), ended(summary.ended));
    json!({
        "name": name,
        "address": match address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(path) => format!("unix:{}", path.display()),
        },
        "secure": secure,
        "host": host,
        "requests": requests.iter().map(request).collect::<Vec<_>>(),
        "sample": summary.tally.sample.as_ref().map(sample),
        "total": total,
        "rounds": summary.rounds.iter().map(|outcome| round(plan, outcome)).collect::<Vec<_>>(),
        "latency_histogram_us": histogram,
    })
}

fn request(weighted: &Weighted) -> Value {
    let request = &weighted.request;
    json!({
        "weight": weighted.weight,
        "method": request.method,
        "target": request.target,
        "authority": request.authority,
        "fields": request.fields,
        "body_bytes": request.body.as_ref().map(|body| body.len()),
    })
}

fn sample(sample: &Sample) -> Value {
    json!({
        "protocol": sample.protocol,
        "tls": sample.tls.as_ref().map(|tls| json!({
            "version": tls.version, "suite": tls.suite, "group": tls.group, "alpn": tls.alpn,
        })),
        "status": sample.status,
        "fields": sample.fields,
        "content_bytes": sample.content,
    })
}

fn round(plan: &Plan, outcome: &Outcome) -> Value {
    let mut round = figures(plan, &outcome.tally, outcome.elapsed, outcome.server.as_ref());
    round.insert("started".into(), figure::moment(outcome.started).into());
    round.insert("generator".into(), generator(outcome.generator_cpu, outcome.elapsed, outcome.threads));
    round.insert("ended".into(), ended(outcome.ended));
    let death = outcome.death.as_ref();
    round.insert("stopped_at_s".into(), death.map(|death| death.at.as_secs_f64()).into());
    round.insert("stopped_cause".into(), death.and_then(|death| death.cause.clone()).into());
    round.insert("machine".into(), outcome.room.as_ref().map_or(Value::Null, |room| machine(outcome, room)));
    round.insert("timeline".into(), timeline(&outcome.tally.timeline));
    round.into()
}

fn ended(ended: Ended) -> Value {
    match ended {
        Ended::Complete => "complete",
        Ended::Interrupted => "interrupted",
    }
    .into()
}

fn figures(plan: &Plan, tally: &Tally, elapsed: Duration, server: Option<&ServerCost>) -> Map<String, Value> {
    let successes = tally.successes();
    let mut errors: Map<_, _> =
        tally.errors.by_kind().map(|(kind, count)| (kind.to_owned(), count.into())).into_iter().collect();
    errors.insert("total".into(), tally.errors.total().into());
    errors.insert("lost".into(), tally.errors.lost.into());
    let classes = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];
    let status: Map<_, _> = classes
        .into_iter()
        .zip(tally.statuses.classes())
        .map(|(class, count)| (class.to_owned(), count.into()))
        .collect();
    let members = [
        ("elapsed_s", elapsed.as_secs_f64().into()),
        ("rate_per_s", (successes as f64 / elapsed.as_secs_f64()).into()),
        ("requests", tally.requests.into()),
        ("responses", tally.responses.into()),
        ("successes", successes.into()),
        ("connections", tally.connections.into()),
        ("connections_before", tally.connect_before.count().into()),
        ("resumed", tally.resumed.into()),
        ("in_bytes", tally.bytes_in.into()),
        ("out_bytes", tally.bytes_out.into()),
        ("head_bytes", tally.bytes_head.into()),
        ("content_bytes", tally.bytes_content.into()),
        ("status", status.into()),
        ("statuses", statuses(tally)),
        ("errors", errors.into()),
        ("causes", reasons(plan, tally)),
        ("latency_us", times(Some(&tally.latency))),
        ("uncorrected_us", times(tally.uncorrected.as_ref())),
        ("first_byte_us", times(Some(&tally.first_byte))),
        ("connect_us", times(Some(&tally.connects()))),
        ("server", server.map_or(Value::Null, |server| cost(server, successes))),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn statuses(tally: &Tally) -> Value {
    tally.statuses.iter().map(|(code, count)| json!({ "status": code, "count": count })).collect()
}

fn reasons(plan: &Plan, tally: &Tally) -> Value {
    let all = causes(plan, tally).into_iter();
    all.map(|cause| json!({ "kind": cause.kind, "cause": cause.text, "count": cause.count })).collect()
}

fn times(times: Option<&Histogram>) -> Value {
    let Some(times) = times.filter(|times| !times.is_empty()) else { return Value::Null };
    let mut members = Map::new();
    members.insert("count".into(), times.count().into());
    members.insert("min".into(), micros(times.min()));
    members.insert("mean".into(), micros(times.mean()));
    members.insert("deviation".into(), micros(times.deviation()));
    for (name, quantile) in PERCENTILES {
        members.insert(name.into(), micros(times.quantile(quantile)));
    }
    members.insert("max".into(), micros(times.max()));
    members.into()
}

fn generator(cpu: Duration, elapsed: Duration, threads: usize) -> Value {
    let share = cpu.as_secs_f64() / elapsed.as_secs_f64() / threads.max(1) as f64;
    json!({ "cpu_s": cpu.as_secs_f64(), "threads": threads, "share": share })
}

fn machine(outcome: &Outcome, room: &CpuRoom) -> Value {
    json!({
        "generator_cpus": room.generator,
        "server_cpus": room.server,
        "idle_s": room.idle.as_secs_f64(),
        "others_s": outcome.others_cpu().map(|time| time.as_secs_f64()),
    })
}

fn cost(server: &ServerCost, successes: u64) -> Value {
    let each = |time: Duration| time.as_secs_f64() * 1e6 / successes as f64;
    json!({
        "name": server.name,
        "processes": server.processes,
        "user_s": server.user.as_secs_f64(),
        "system_s": server.system.as_secs_f64(),
        "user_us_per_response": each(server.user),
        "system_us_per_response": each(server.system),
        "cpu_us_per_response": each(server.user + server.system),
        "memory_bytes": server.memory,
    })
}

fn timeline(timeline: &Timeline) -> Value {
    let slots = timeline.slots().iter().map(|slot| {
        let mean = slot.mean().map(micros);
        json!([slot.responses, slot.errors, slot.bytes, mean, slot.longest as f64 / 1e3])
    });
    json!({ "width_s": timeline.width().as_secs_f64(), "slots": slots.collect::<Vec<_>>() })
}

fn compared(plan: &Plan, comparison: &Comparison) -> Value {
    let row = |row: &Row| {
        let figures: Map<_, _> = row
            .figures
            .iter()
            .map(|figure| (figure.measure.key().to_owned(), compared_figure(figure)))
            .collect();
        json!({ "target": plan.targets[row.target].name, "figures": figures })
    };
    json!({
        "confidence": 0.95,
        "method": "Student's interval for the mean logarithm of the ratios of paired rounds",
        "rows": comparison.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn compared_figure(figure: &Figure) -> Value {
    json!({
        "median": figure.median,
        "rounds": figure.rounds,
        "ratio": figure.ratio.map(|ratio| json!({
            "value": ratio.value,
            "low": ratio.interval.map(|(low, _)| low),
            "high": ratio.interval.map(|(_, high)| high),
            "rounds": ratio.rounds,
            "verdict": ratio.verdict().to_string(),
        })),
    })
}

fn micros(duration: Duration) -> Value {
    (duration.as_nanos() as f64 / 1e3).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{self, golden};

    #[test]
    fn objects_are_written_like_this() {
        golden("json", |report| {
            // The plots' points are many and irrelevant to the format.
            let mut whole: Value = serde_json::from_str(&json(report)).unwrap();
            for target in whole["targets"].as_array_mut().unwrap() {
                target["latency_histogram_us"].as_array_mut().unwrap().truncate(2);
                for round in target["rounds"].as_array_mut().unwrap() {
                    round["timeline"]["slots"].as_array_mut().unwrap().truncate(2);
                }
            }
            format!("{whole:#}\n")
        });
    }

    #[test]
    fn what_is_no_number_is_null() {
        let (plan, mut outcomes) = samples::nothing();
        outcomes[0].elapsed = Duration::ZERO;
        outcomes[0].server = Some(ServerCost::default());
        let about = samples::about();
        let report = Report { plan: &plan, outcomes: &outcomes, warnings: &[], about: &about };
        let whole: Value = serde_json::from_str(&json(&report)).unwrap();
        let total = &whole["targets"][0]["total"];
        let unknown = [&total["rate_per_s"], &total["latency_us"], &total["server"]["cpu_us_per_response"]];
        assert_eq!(unknown, [&Value::Null; 3]);
        assert_eq!((&whole["comparison"], &whole["format"]["version"]), (&Value::Null, &json!(1)));
    }
}
