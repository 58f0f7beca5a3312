//! HTTP/1 load on correct servers, and the counts.

mod support;

use hayami_load::plan::{Expect, KeepAlive, Protocol, Until, Weighted};
use hayami_load::{Control, Ended, Errors, Phase, run};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use support::{answer_each, ok, outcome, plan, read_request, serve};

#[test]
fn every_request_of_a_count_is_answered_once() {
    let answer = ok("hello");
    let head = answer.len() as u64 - 5;
    let address = serve(move |stream, _| answer_each(stream, &answer));
    for (pipeline, connections, threads) in [(1, 4, 2), (8, 3, 3), (64, 1, 1), (1, 50, 2)] {
        let mut plan = plan(address, 1001);
        (plan.pipeline, plan.connections, plan.threads) = (pipeline, connections, threads);
        let outcome = outcome(&plan);
        let tally = &outcome.tally;
        assert_eq!((tally.responses, tally.requests, tally.statuses.classes()[2]), (1001, 1001, 1001));
        assert_eq!(tally.errors, Errors::default());
        assert_eq!((tally.latency.count(), tally.first_byte.count()), (1001, 1001));
        assert_eq!(tally.connections, connections as u64);
        assert_eq!((tally.bytes_content, tally.bytes_head), (5005, 1001 * head));
        assert_eq!(tally.bytes_in, 1001 * (head + 5));
        assert_eq!(tally.bytes_out, 1001 * "GET / HTTP/1.1\r\nhost: a.example\r\n\r\n".len() as u64);
        assert_eq!((outcome.ended, outcome.threads), (Ended::Complete, threads));
        let sample = tally.sample.as_ref().expect("an answer");
        assert_eq!((sample.protocol.as_str(), sample.status, sample.content), ("HTTP/1.1", 200, 5));
        assert_eq!(sample.field("content-length"), Some("5"));
    }
}

#[test]
fn a_connection_for_each_request_or_for_some_of_them() {
    let address = serve(|mut stream, _| {
        let mut left = Vec::new();
        while read_request(&mut stream, &mut left) && stream.write_all(&ok("hi")).is_ok() {}
    });
    // This server closes only when asked to by `close`, which it does not read: the client has to.
    let closing = serve(|mut stream, _| {
        if read_request(&mut stream, &mut Vec::new()) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi");
        }
    });
    let cases = [
        (closing, KeepAlive::Off, Protocol::Http11, 100, 100),
        (closing, KeepAlive::Off, Protocol::Http10, 100, 100),
        // The server closes; nothing is lost.
        (closing, KeepAlive::On, Protocol::Http11, 100, 100),
        (address, KeepAlive::Requests(50), Protocol::Http11, 100, 2),
    ];
    for (address, keep_alive, protocol, requests, connections) in cases {
        let mut plan = plan(address, requests);
        (plan.keep_alive, plan.protocol) = (keep_alive, protocol);
        (plan.connections, plan.threads) = if connections == 2 { (1, 1) } else { (10, 2) };
        let tally = outcome(&plan).tally;
        assert_eq!((tally.responses, tally.errors), (requests, Errors::default()), "{keep_alive:?}");
        assert_eq!(tally.connections, connections, "{keep_alive:?} {protocol:?}");
        assert_eq!(tally.connect.count(), tally.connections);
    }
}

#[test]
fn a_server_that_says_close_loses_no_pipelined_request() {
    let address = serve(|mut stream, _| {
        let mut left = Vec::new();
        for answer in ["", "", "connection: close\r\n"] {
            if !read_request(&mut stream, &mut left) {
                return;
            }
            let answer = format!("HTTP/1.1 200 OK\r\n{answer}content-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).expect("written");
        }
        stream.shutdown(std::net::Shutdown::Write).expect("shut down");
        support::wait_for_end(stream);
    });
    let mut plan = plan(address, 90);
    (plan.pipeline, plan.connections, plan.threads) = (5, 2, 1);
    let tally = outcome(&plan).tally;
    assert_eq!((tally.responses, tally.errors), (90, Errors::default()));
    assert!(tally.requests > 90, "those behind the last answer were asked again");
}

#[test]
fn content_ends_by_chunks_or_with_the_connection() {
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let by_chunks = serve(move |stream, _| answer_each(stream, chunked));
    let by_end = serve(|mut stream, _| {
        if read_request(&mut stream, &mut Vec::new()) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nabcde");
        }
    });
    for address in [by_chunks, by_end] {
        let mut plan = plan(address, 40);
        plan.expect = Expect { body: Some(b"abcde".as_slice().into()), ..Expect::default() };
        let tally = outcome(&plan).tally;
        assert_eq!((tally.responses, tally.errors), (40, Errors::default()));
        assert_eq!(tally.bytes_content, 200);
    }
}

#[test]
fn templates_are_used_by_weight_and_bodies_are_sent() {
    let counts = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let seen = counts.clone();
    let address = serve(move |mut stream, _| {
        let mut bytes = Vec::new();
        loop {
            let mut piece = [0; 4096];
            match std::io::Read::read(&mut stream, &mut piece) {
                Ok(0) | Err(_) => return,
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
            }
            let posted = bytes.starts_with(b"POST ");
            if !bytes.ends_with(if posted { b"\r\n\r\nbody" } else { b"\r\n\r\n" }) {
                continue;
            }
            seen[usize::from(posted)].fetch_add(1, SeqCst);
            bytes.clear();
            stream.write_all(&ok("")).expect("written");
        }
    });
    let mut plan = plan(address, 2000);
    let mut post = plan.targets[0].requests[0].request.clone();
    (post.method, post.body) = ("POST".into(), Some(b"body".as_slice().into()));
    plan.targets[0].requests.push(Weighted { weight: 3.0, request: post });
    assert_eq!(outcome(&plan).tally.responses, 2000);
    let posted = counts[1].load(SeqCst);
    assert!((1400..1600).contains(&posted), "{posted} of 2000, where three quarters were to be posted");
}

#[test]
fn time_is_kept_with_warm_up_and_ramp_up_and_nothing_of_them_counted() {
    let address = serve(|stream, _| answer_each(stream, &ok("")));
    let mut plan = plan(address, 0);
    plan.until = Until::Elapsed(Duration::from_millis(200));
    (plan.warm_up, plan.ramp_up) = (Duration::from_millis(100), Duration::from_millis(100));
    let (told, news) = channel();
    let control = Control::new(Some(Box::new(move |phase| told.send(phase).expect("heard"))));
    let outcome = run(&plan, 0, &control).expect("done");
    assert_eq!(news.try_iter().collect::<Vec<_>>(), [Phase::WarmUp, Phase::Measuring, Phase::Done]);
    assert_eq!(outcome.elapsed, Duration::from_millis(200));
    assert_eq!(outcome.tally.connections, 0, "they were made before");
    assert!(outcome.tally.responses > 0 && outcome.tally.errors == Errors::default());
    assert_eq!(control.live.connections.load(SeqCst), 0);
    let shown: u64 = control.live.responses.load(SeqCst);
    assert!(shown > 0 && shown <= outcome.tally.responses);
}

#[test]
fn a_run_that_is_stopped_gives_what_there_is() {
    let address = serve(|stream, _| answer_each(stream, &ok("")));
    let mut plan = plan(address, 0);
    plan.until = Until::Elapsed(Duration::from_secs(600));
    let control = Arc::new(Control::new(None));
    let stopper = control.clone();
    let watcher = thread::spawn(move || {
        while stopper.live.responses.load(SeqCst) == 0 {
            thread::yield_now();
        }
        stopper.stop();
    });
    let outcome = run(&plan, 0, &control).expect("done");
    watcher.join().expect("no panic");
    assert_eq!(outcome.ended, Ended::Interrupted);
    assert!(outcome.tally.responses > 0 && outcome.elapsed < Duration::from_secs(60));
}
