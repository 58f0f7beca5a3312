//! HTTP/2 load with prior knowledge, on a server made of the h2 engine.

mod support;

use hayami_h2::{Body, Budget, Budgets, Config, Event, Key, RequestContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use hayami_load::plan::{Expect, KeepAlive, Plan, Protocol, Weighted};
use hayami_load::{Errors, Tally};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use support::{outcome, plan, serve};

/// Answers `most` requests of a connection with "hello", then sends GOAWAY; the next one is never processed.
struct Answers {
    config: Config,
    most: u32,
}

impl Answers {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let (mut server, mut head) = (Server::<()>::new(&self.config), RequestHead::default());
        let (mut input, mut out, mut answered) = (Vec::new(), Vec::new(), 0);
        server.start(&self.config, &mut out);
        loop {
            let mut used = 0;
            loop {
                let received = server.receive(&self.config, 0, &input[used..], &mut head, &mut out);
                let Ok(received) = received else { return stream.write_all(&out) };
                used += received.consumed;
                match received.event {
                    Event::More => break,
                    Event::Request { key, content: RequestContent::None } | Event::End { key, .. } => {
                        answer(&mut server, key, &mut out);
                        answered += 1;
                    }
                    Event::Content { key, len, end, .. } => {
                        server.consumed(&self.config, key, len, &mut out);
                        if end {
                            answer(&mut server, key, &mut out);
                        }
                    }
                    _ => {}
                }
                if answered == self.most {
                    server.go_away(&mut out);
                    answered += 1;
                }
            }
            input.drain(..used);
            stream.write_all(&out)?;
            out.clear();
            if answered > self.most && server.streams() == 0 {
                return Ok(());
            }
            let mut piece = [0; 65536];
            match stream.read(&mut piece)? {
                0 => return Ok(()),
                bytes => input.extend_from_slice(&piece[..bytes]),
            }
        }
    }
}

fn answer(server: &mut Server<()>, key: Key, out: &mut Vec<u8>) {
    let (head, common) = (ResponseHead::new(Status::OK), FieldSection::default());
    if server.send_head(key, &head, Some(5), &common, 0, out) == Body::Content {
        server.send_data(key, b"hello", true, out);
    }
}

fn server(most: u32) -> SocketAddr {
    let budgets = Budgets { tiny_window: Budget::new(1 << 20, 1 << 20), ..Budgets::default() };
    let config = Config { budgets, ..Config::default() };
    serve(move |stream, _| {
        // Output left when the client has disconnected is discarded.
        let _ = Answers { config, most }.serve(stream);
    })
}

fn http2(address: SocketAddr, requests: u64, streams: usize) -> Plan {
    let expect = Expect { body: Some(b"hello".as_slice().into()), ..Expect::default() };
    Plan { protocol: Protocol::Http2, streams, expect, ..plan(address, requests) }
}

fn all_answered(plan: &Plan, requests: u64) -> Tally {
    let tally = outcome(plan).tally;
    assert_eq!(
        (tally.responses, tally.statuses.classes()[2], tally.errors),
        (requests, requests, Errors::default())
    );
    assert_eq!(tally.bytes_content, 5 * requests);
    tally
}

#[test]
fn every_request_is_answered_once_over_any_number_of_streams() {
    let address = server(u32::MAX);
    for streams in [1, 7, 100] {
        let tally = all_answered(&http2(address, 3001, streams), 3001);
        assert_eq!((tally.connections, tally.requests), (4, 3001));
        let sample = tally.sample.expect("an answer");
        assert_eq!((sample.protocol.as_str(), sample.status, sample.content), ("HTTP/2", 200, 5));
    }
}

#[test]
fn a_server_that_goes_away_loses_nothing() {
    let tally = all_answered(&http2(server(10), 200, 3), 200);
    assert!(tally.connections >= 10, "{}", tally.connections);
}

#[test]
fn connections_are_used_for_as_many_requests_as_the_plan_says() {
    for (keep_alive, connections) in [(KeepAlive::Off, 60), (KeepAlive::Requests(20), 3)] {
        let mut plan = Plan { keep_alive, connections: 1, threads: 1, ..http2(server(u32::MAX), 60, 5) };
        plan.timeout = std::time::Duration::from_secs(20);
        assert_eq!(all_answered(&plan, 60).connections, connections);
    }
}

#[test]
fn bodies_are_sent_as_the_windows_allow() {
    let mut plan = http2(server(u32::MAX), 30, 4);
    let mut post = plan.targets[0].requests[0].request.clone();
    (post.method, post.body) = ("POST".into(), Some(vec![b'x'; 300_000].into()));
    plan.targets[0].requests = vec![Weighted { weight: 1.0, request: post }];
    plan.timeout = std::time::Duration::from_secs(20);
    let tally = all_answered(&plan, 30);
    assert!(tally.bytes_out >= 30 * 300_000);
}

#[test]
fn a_schedule_works_over_streams() {
    let mut plan = http2(server(u32::MAX), 100, 10);
    plan.rate = Some(1000.0);
    let tally = all_answered(&plan, 100);
    assert_eq!(tally.uncorrected.map(|histogram| histogram.count()), Some(100));
}

#[test]
fn a_server_that_speaks_something_else_breaks_a_rule() {
    let address = serve(|stream, _| support::answer_each(stream, &support::ok("hello")));
    let tally = outcome(&http2(address, 8, 2)).tally;
    assert_eq!((tally.responses, tally.errors.total()), (0, 8), "{:?}", tally.errors);
}
