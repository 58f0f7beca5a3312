//! When requests are made, and the reported latencies.

mod support;

use hayami_load::Errors;
use hayami_load::plan::{KeepAlive, Until};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use support::{answer_each, ok, outcome, plan, read_request, serve};

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn a_schedule_waits_for_nobody_and_latency_counts_from_when_a_request_was_due() {
    let stall = ms(300);
    let address = serve(move |mut stream, _| {
        let mut left = Vec::new();
        if read_request(&mut stream, &mut left) {
            std::thread::sleep(stall); // the server's work, which the client does not see
            stream.write_all(&ok("")).expect("written");
        }
        while read_request(&mut stream, &mut left) && stream.write_all(&ok("")).is_ok() {}
    });
    // Due every 10 ms: 30 of them while the first one is answered.
    let mut plan = plan(address, 40);
    (plan.connections, plan.threads, plan.rate) = (1, 1, Some(100.0));
    plan.timeout = Duration::from_secs(30);
    let outcome = outcome(&plan);
    let tally = &outcome.tally;
    assert_eq!((tally.responses, tally.errors), (40, Errors::default()));
    assert!(outcome.elapsed >= ms(390), "the last one is due then: {:?}", outcome.elapsed);
    let uncorrected = tally.uncorrected.as_ref().expect("the open model has it");
    assert_eq!((tally.latency.count(), uncorrected.count()), (40, 40));
    assert!(tally.latency.max() >= stall && uncorrected.max() >= stall);
    // Those due in the first 200 ms have waited 100 ms or more.
    assert!(tally.latency.share_within(ms(99)) <= 0.53, "{}", tally.latency.share_within(ms(99)));
    assert!(uncorrected.share_within(ms(99)) >= 0.8, "{}", uncorrected.share_within(ms(99)));
}

#[test]
fn a_schedule_opens_connections_for_requests_that_are_due_and_no_others() {
    let address = serve(|mut stream, _| {
        if read_request(&mut stream, &mut Vec::new()) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let mut plan = plan(address, 0);
    (plan.keep_alive, plan.rate) = (KeepAlive::Off, Some(200.0));
    plan.until = Until::Elapsed(ms(500));
    let tally = outcome(&plan).tally;
    assert_eq!(tally.errors, Errors::default());
    assert!((50..=101).contains(&tally.responses), "{}", tally.responses);
    assert!(tally.connections <= 101, "{}", tally.connections);
}

#[test]
fn a_schedule_is_kept_to_over_connections_that_stay() {
    let address = serve(|stream, _| answer_each(stream, &ok("")));
    let mut plan = plan(address, 0);
    plan.rate = Some(1000.0);
    plan.until = Until::Elapsed(ms(500));
    let tally = outcome(&plan).tally;
    assert_eq!(tally.errors, Errors::default());
    assert!((400..=501).contains(&tally.responses), "{}", tally.responses);
}

#[test]
fn latencies_at_a_fixed_rate_are_those_that_the_server_knows_of() {
    let (told, news) = channel();
    let number = AtomicUsize::new(0);
    let address = serve(move |mut stream, _| {
        let mut left = Vec::new();
        while read_request(&mut stream, &mut left) {
            let asked = Instant::now();
            // The server's work: mostly short.
            let is_long = number.fetch_add(1, Ordering::Relaxed).is_multiple_of(10);
            std::thread::sleep(if is_long { ms(60) } else { ms(6) });
            let _ = told.send(asked.elapsed());
            if stream.write_all(&ok("")).is_err() {
                return;
            }
        }
    });
    let mut plan = plan(address, 120);
    (plan.connections, plan.rate, plan.timeout) = (16, Some(150.0), Duration::from_secs(30));
    let tally = outcome(&plan).tally;
    assert_eq!((tally.responses, tally.errors), (120, Errors::default()));
    let mut truth: Vec<Duration> =
        (0..120).map(|_| news.recv_timeout(Duration::from_secs(10)).expect("told")).collect();
    truth.sort();
    let sent = tally.uncorrected.as_ref().expect("the open model has it");
    for share in [0.5, 0.9, 0.95, 1.0] {
        let truth = truth[(120.0 * share) as usize - 1];
        // Each answer takes the client at least as long as the server; the histogram may round by one percent.
        let (due, sent) = (tally.latency.quantile(share), sent.quantile(share));
        assert!(
            due >= truth.mul_f64(0.99) && sent >= truth.mul_f64(0.99),
            "{share}: {truth:?} {due:?} {sent:?}"
        );
    }
    // How much longer depends on the machine.
    let median = sent.quantile(0.5);
    assert!(median < truth[59] + ms(40), "{median:?} {:?}", truth[59]);
}
