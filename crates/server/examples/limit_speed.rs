//! What a limit adds to a request: `cargo run --release -p hayami-server --example limit_speed`.
//!
//! Requests of 100,000 clients in random order, answered by `return: 204`, without a limit and with limits that they do
//! not exceed.

use hayami_http::{RequestHead, Span, request::RequestLine};
use hayami_net::service::{Address, ConnectionInfo, Ended, Outcome, Request, Service};
use hayami_net::{Clock, Instant};
use hayami_server::Generation;
use hayami_server::features::load_text;
use hayami_server::service::{Site, objects};
use std::rc::Rc;
use std::sync::Arc;

const CLIENTS: usize = 100_000;
const ROUNDS: usize = 1_000_000;

const CONFIGURATION: &str = "
listen: 80
hosts:
  a:
    paths:
      /none: {return: 204}
      /requests: {return: 204, limit.requests: {rate: 1000/s, burst: 1000000}}
      /connections: {return: 204, limit.connections: {max: 100}}
      /both: {return: 204, limit.requests: {rate: 1000/s, burst: 1000000}, limit.connections: {max: 100}}
";

fn main() {
    let settings =
        load_text("limit_speed", CONFIGURATION).unwrap_or_else(|errors| panic!("{errors}")).settings;
    let generation = Arc::new(Generation::new(settings).expect("a generation"));
    let worker = objects::first(&generation, &Rc::new(Clock::default()), None, 1);
    let site = Site::new(&generation, worker);
    let connections: Vec<_> = (0..CLIENTS as u32).map(connection).collect();
    for round in 0..4 {
        for path in ["/none", "/requests", "/connections", "/both"] {
            let nanos = measure(&site, path, &connections);
            // The first round fills the tables.
            if round > 0 {
                println!("{path:<13} {nanos:6.1} ns");
            }
        }
    }
}

/// Nanoseconds for each request.
fn measure(site: &Site, path: &str, connections: &[Rc<ConnectionInfo>]) -> f64 {
    let mut head = head(path);
    let (began, mut random) = (Instant::now(), 1_usize);
    for _ in 0..ROUNDS {
        // Knuth's linear congruential generator; its upper bits are good enough.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ask(site, &mut head, &connections[(random >> 33) % CLIENTS], began);
    }
    Instant::now().saturating_duration_since(began).as_nanos() as f64 / ROUNDS as f64
}

fn ask(site: &Site, head: &mut RequestHead, connection: &Rc<ConnectionInfo>, now: Instant) {
    let mut request = Request {
        head,
        content_length: Some(0),
        connection,
        index: 0,
        stream: None,
        early: false,
        content: None,
        interim: None,
        upgrade: None,
        begun: now,
        received: now,
    };
    let Outcome::Ready(answer) = site.respond(&mut request) else { panic!("it takes no time") };
    assert_eq!(answer.response.head.status().code(), 204);
    if let Some(observer) = answer.observer {
        observer.ended(&Ended { content_bytes: 0, began: now, ended: now, aborted: None });
    }
}

fn connection(client: u32) -> Rc<ConnectionInfo> {
    Rc::new(ConnectionInfo {
        id: client.into(),
        listener: 0,
        peer: Address::Ip(((0x0a00_0000 + client).to_be_bytes(), 4000).into()),
        local: Address::Unix,
        accepted: Instant::now(),
        tls: None,
        ends: Default::default(),
        cancel_on_close: Default::default(),
        outdated: Default::default(),
    })
}

/// The head of `GET path` with a Host field.
fn head(path: &str) -> RequestHead {
    let bytes = format!("GET {path} hosta");
    let target = Span::new(4, 4 + path.len());
    let name = 5 + path.len();
    let mut head = RequestHead::default();
    head.reset_to(bytes.as_bytes());
    head.fields_mut().push_span(Span::new(name, name + 4), Span::new(name + 4, bytes.len()));
    head.set_line(RequestLine { method: Span::new(0, 3), target, path: target, ..RequestLine::default() });
    head
}
