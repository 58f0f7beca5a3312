//! Emulated distances: when both ends see each event, compared with the table in docs/bench.md ("Clients far
//! away").
//!
//! No event may come early; how late it comes depends on the machine, so that bound is generous.

mod support;

use hayami_load::plan::{Distance, KeepAlive, Plan, Until};
use hayami_load::{Errors, Tally};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use support::{answer_each, ok, outcome, plan, read_request, serve};

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A server's record of a connection.
#[derive(Clone, Copy, Debug)]
struct Seen {
    asked: Instant,
    answered: Instant,
    ended: Instant,
}

/// A server that takes `work` for each answer, and records its events.
fn watching_server(work: Duration) -> (SocketAddr, Receiver<Seen>) {
    let (told, news) = channel();
    let address = serve(move |mut stream, _| {
        if !read_request(&mut stream, &mut Vec::new()) {
            return;
        }
        let asked = Instant::now();
        std::thread::sleep(work); // the server's work, which the client does not see
        // Before the response is sent: anything after can only be later.
        let answered = Instant::now();
        let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
        stream.write_all(answer).and_then(|()| stream.shutdown(Shutdown::Write)).expect("written");
        let _ = stream.read(&mut [0; 64]);
        let _ = told.send(Seen { asked, answered, ended: Instant::now() });
    });
    (address, news)
}

/// Connections of one request each, `rtt` away.
fn far(address: SocketAddr, requests: u64, distance: Distance) -> Plan {
    let mut plan = plan(address, requests);
    (plan.keep_alive, plan.connections, plan.timeout) = (KeepAlive::Off, 20, Duration::from_secs(30));
    plan.distance = Some(distance);
    plan
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
fn a_server_sees_connections_begin_ask_and_end_as_the_model_says() {
    let (rtt, work) = (ms(160), ms(40));
    let (address, news) = watching_server(work);
    let began = Instant::now();
    let outcome = outcome(&far(address, 60, Distance { rtt, jitter: Duration::ZERO, loss: 0.0 }));
    let tally = &outcome.tally;
    assert_eq!((tally.responses, tally.errors, tally.connections), (60, Errors::default(), 60));
    let cycle = 2 * rtt + work; // of a client: connect, ask, and begin again
    assert!(outcome.elapsed >= 3 * cycle, "{:?}", outcome.elapsed);
    let (a_trip, an_answer) = (&tally.connect, &tally.latency);
    assert!(a_trip.min() >= rtt && an_answer.min() >= rtt + work && tally.first_byte.min() >= rtt + work);
    assert!(a_trip.quantile(0.5) < 2 * rtt && an_answer.quantile(0.5) < 2 * rtt + work);

    // The last connections of a run end with it, before their time.
    let mut seen: Vec<Seen> =
        (0..40).map(|_| news.recv_timeout(Duration::from_secs(10)).expect("told")).collect();
    seen.sort_by_key(|seen| seen.asked);
    for (index, seen) in seen.iter().enumerate() {
        let before = index as u32 / 20 * cycle;
        assert!(seen.asked >= began + before + 3 * rtt / 2, "request {index}: {:?}", seen.asked - began);
        assert!(seen.ended >= seen.answered + rtt, "{index} lived for {:?}", seen.ended - seen.answered);
    }
    let lives = median(seen.iter().map(|seen| seen.ended - seen.answered).collect());
    assert!(lives < 2 * rtt, "{lives:?}");
}

#[test]
fn a_server_accepts_when_a_request_comes_and_not_a_round_trip_before() {
    let (told, news) = channel();
    let address = serve(move |mut stream, _| {
        let _ = told.send(Instant::now());
        let _ = read_request(&mut stream, &mut Vec::new()) && stream.write_all(&ok("")).is_ok();
    });
    // The kernel does not delay the end of the handshake for longer.
    let rtt = ms(120);
    let began = Instant::now();
    let tally = outcome(&far(address, 20, Distance { rtt, jitter: Duration::ZERO, loss: 0.0 })).tally;
    assert_eq!((tally.responses, tally.errors), (20, Errors::default()));
    for _ in 0..20 {
        let accepted = news.recv_timeout(Duration::from_secs(10)).expect("told");
        assert!(accepted >= began + 3 * rtt / 2, "{:?}", accepted - began);
    }
}

#[test]
fn jitter_spreads_round_trips_around_the_middle_and_no_further() {
    let (rtt, jitter) = (ms(200), ms(120));
    let (address, news) = watching_server(Duration::ZERO);
    let tally = outcome(&far(address, 120, Distance { rtt, jitter, loss: 0.0 })).tally;
    assert_eq!((tally.responses, tally.errors), (120, Errors::default()));
    assert!(tally.connect.min() >= rtt - jitter && tally.latency.min() >= rtt - jitter);
    // Of 120 some are half the jitter or more below the middle, however late the machine is with others.
    assert!(tally.connect.min() < rtt - jitter / 4, "{:?}", tally.connect.min());
    assert!(tally.connect.max() - tally.connect.min() > jitter / 2);
    let lives: Vec<Duration> = (0..100)
        .map(|_| news.recv_timeout(Duration::from_secs(10)).expect("told"))
        .map(|seen| seen.ended - seen.answered)
        .collect();
    let (shortest, longest) = (lives.iter().min().expect("some"), lives.iter().max().expect("some"));
    assert!(*shortest >= rtt - jitter && *shortest < rtt, "{shortest:?}");
    assert!(*longest - *shortest > jitter / 2, "{shortest:?} to {longest:?}");
}

#[test]
fn jitter_keeps_the_order_of_bytes() {
    let address = serve(|stream, _| answer_each(stream, &ok("hello")));
    let mut plan = plan(address, 200);
    (plan.pipeline, plan.timeout) = (4, Duration::from_secs(30));
    plan.distance = Some(Distance { rtt: ms(20), jitter: ms(20), loss: 0.0 });
    let tally = outcome(&plan).tally;
    assert_eq!((tally.responses, tally.errors), (200, Errors::default()));
    assert!(tally.latency.max() - tally.latency.min() > ms(2));
}

/// A run that loses that share of the connections.
fn lossy(loss: f64, until: Until) -> Tally {
    let address = serve(|mut stream, _| {
        let _ = read_request(&mut stream, &mut Vec::new())
            && stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").is_ok();
    });
    let mut plan = far(address, 0, Distance { rtt: ms(2), jitter: Duration::ZERO, loss });
    (plan.timeout, plan.until) = (ms(50), until);
    outcome(&plan).tally
}

#[test]
fn lost_connections_are_counted_and_are_no_errors() {
    let all = lossy(1.0, Until::Elapsed(ms(300)));
    assert_eq!((all.responses, all.connections, all.errors.total()), (0, 0, 0));
    assert!(all.errors.lost >= 20, "each of the connections is given up in time: {}", all.errors.lost);

    let some = lossy(0.3, Until::Requests(400));
    assert_eq!(some.responses + some.errors.total(), 400, "what is lost is asked again");
    let share = some.errors.lost as f64 / (some.errors.lost + some.connections) as f64;
    assert!((0.2..0.4).contains(&share), "{share} of {}", some.connections);
}
