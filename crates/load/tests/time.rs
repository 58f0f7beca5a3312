//! When requests are made, how late answers are said to be, and distances that are not there.

mod support;

use hayami_load::Errors;
use hayami_load::plan::{Distance, KeepAlive, Until};
use std::io::{Read, Write};
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
            std::thread::sleep(stall); // the server's work, of which the client knows nothing
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

/// What a server sees of a connection: from accepting it to the request, and from the answer to the end.
fn far_server() -> (std::net::SocketAddr, std::sync::mpsc::Receiver<[Duration; 2]>) {
    let (told, news) = channel();
    let address = serve(move |mut stream, _| {
        let accepted = Instant::now();
        if !read_request(&mut stream, &mut Vec::new()) {
            return;
        }
        let asked = Instant::now();
        let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
        stream.write_all(answer).and_then(|()| stream.shutdown(std::net::Shutdown::Write)).expect("written");
        let _ = stream.read(&mut [0; 64]);
        let _ = told.send([asked - accepted, asked.elapsed()]);
    });
    (address, news)
}

#[test]
fn both_ends_see_a_distance() {
    let (address, news) = far_server();
    let (rtt, slack) = (ms(200), ms(150)); // a busy machine adds some
    let mut plan = plan(address, 40);
    (plan.keep_alive, plan.connections, plan.timeout) = (KeepAlive::Off, 20, Duration::from_secs(30));
    plan.distance = Some(Distance { rtt, jitter: Duration::ZERO, loss: 0.0 });
    let outcome = outcome(&plan);
    let tally = &outcome.tally;
    assert_eq!((tally.responses, tally.errors, tally.connections), (40, Errors::default(), 40));
    let about = |time: Duration| time >= rtt && time < rtt + slack;
    for histogram in [&tally.latency, &tally.connect, &tally.first_byte] {
        assert!(about(histogram.min()) && about(histogram.quantile(0.5)), "{:?}", histogram.min());
    }
    assert!(outcome.elapsed >= 4 * rtt, "two requests one after the other, two round trips each");
    for _ in 0..20 {
        let [before, behind] = news.recv_timeout(Duration::from_secs(5)).expect("told");
        // Its thread may be late to look at the clock the first time.
        let late = ms(80);
        assert!(before + late >= rtt && behind + late >= rtt, "{before:?} {behind:?}");
    }
}

#[test]
fn jitter_keeps_the_order_of_octets_and_lost_connections_are_no_errors() {
    let address = serve(|stream, _| answer_each(stream, &ok("hello")));
    let mut plan = plan(address, 200);
    (plan.pipeline, plan.timeout) = (4, Duration::from_secs(30));
    plan.distance = Some(Distance { rtt: ms(20), jitter: ms(20), loss: 0.0 });
    let tally = outcome(&plan).tally;
    assert_eq!((tally.responses, tally.errors), (200, Errors::default()));
    assert!(tally.latency.max() - tally.latency.min() > ms(2));

    plan.distance = Some(Distance { rtt: ms(2), jitter: Duration::ZERO, loss: 1.0 });
    plan.until = Until::Elapsed(ms(300));
    plan.timeout = ms(50);
    let tally = outcome(&plan).tally;
    assert_eq!((tally.responses, tally.connections, tally.errors.total()), (0, 0, 0));
    assert!(tally.errors.lost >= 4);
}
