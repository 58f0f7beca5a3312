//! Scripted servers, and plans for them.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

use hayami_load::plan::{
    Address, Expect, KeepAlive, Plan, Protocol, RequestTemplate, Target, TlsOptions, Until, Weighted,
};
use hayami_load::{Control, Outcome, run};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A server that passes every connection to `serve`, each on a separate thread, with its number.
pub fn serve(serve: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (Ok(stream), serve) = (stream, serve.clone()) else { return };
            thread::spawn(move || serve(stream, number));
        }
    });
    address
}

/// Reads requests and writes `answer` for each, until the client closes.
pub fn answer_each(mut stream: TcpStream, answer: &[u8]) {
    let mut left = Vec::new();
    while read_request(&mut stream, &mut left) {
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}

/// Reads a request without content. False: there are no more requests.
pub fn read_request(stream: &mut TcpStream, left: &mut Vec<u8>) -> bool {
    loop {
        if let Some(at) = left.windows(4).position(|four| four == b"\r\n\r\n") {
            left.drain(..at + 4);
            return true;
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return false,
            Ok(bytes) => left.extend_from_slice(&piece[..bytes]),
        }
    }
}

/// Waits until the client closes.
pub fn wait_for_end(mut stream: TcpStream) {
    while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {}
}

/// An answer with content.
pub fn ok(content: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{content}", content.len()).into()
}

/// `requests` GETs over 4 connections of 2 threads.
pub fn plan(address: SocketAddr, requests: u64) -> Plan {
    let request = RequestTemplate {
        method: "GET".into(),
        target: "/".into(),
        authority: "a.example".into(),
        fields: Vec::new(),
        body: None,
    };
    let target = Target {
        name: "it".into(),
        address: Address::Tcp(address),
        secure: false,
        host: "localhost".into(),
        requests: vec![Weighted { weight: 1.0, request }],
    };
    Plan {
        targets: vec![target],
        connections: 4,
        threads: 2,
        streams: 1,
        pipeline: 1,
        until: Until::Requests(requests),
        warm_up: Duration::ZERO,
        ramp_up: Duration::ZERO,
        rate: None,
        protocol: Protocol::Auto,
        keep_alive: KeepAlive::On,
        expect: Expect::default(),
        distance: None,
        tls: TlsOptions { verify: false, ..TlsOptions::default() },
        sources: Vec::new(),
        timeout: Duration::from_millis(300),
        rounds: 1,
    }
}

/// Runs the plan.
pub fn outcome(plan: &Plan) -> Outcome {
    run(plan, 0, &Control::new(None)).expect("a plan that can be done")
}
