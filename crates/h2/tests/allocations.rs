//! In steady state neither role allocates, however many streams come and go; and an idle connection owns next
//! to no memory.

#[path = "../../server/tests/counting/mod.rs"]
mod counting;
mod support;

use counting::{Counting, allocations};
use hayami_h2::{Body, Client, ClientEvent, Config, Event, Key, Request, RequestContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use std::sync::Arc;
use support::beginning;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Both {
    config: Config,
    client: Client<u64>,
    server: Server<u64>,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    request: RequestHead,
    response: ResponseHead,
    answer: ResponseHead,
    common: FieldSection,
    fields: FieldSection,
    waiting: Vec<Key>,
    answered: usize,
}

impl Both {
    fn new() -> Self {
        let config = Config { max_concurrent_streams: 200, ..Config::default() };
        let mut shared = FieldSection::default();
        shared.append(b"content-type", b"text/html");
        let (mut common, mut fields) = (FieldSection::default(), FieldSection::default());
        common.append(b"server", b"hayami");
        fields.append(b"user-agent", b"test");
        let mut this = Self {
            config,
            client: Client::new(&config),
            server: Server::new(&config),
            to_server: Vec::new(),
            to_client: Vec::new(),
            request: RequestHead::default(),
            response: ResponseHead::new(Status::OK),
            answer: ResponseHead::with_shared(Status::OK, Arc::new(shared)),
            common,
            fields,
            waiting: Vec::new(),
            answered: 0,
        };
        this.client.start(&config, &mut this.to_server);
        this.server.start(&config, &mut this.to_client);
        this.serve();
        this.take();
        this
    }

    /// `count` requests at once: every third has content, and its answer is sent in pieces by turns.
    fn round(&mut self, count: usize) {
        for number in 0..count {
            let posts = number % 3 == 0;
            let request = Request {
                method: if posts { b"POST" } else { b"GET" },
                scheme: b"http",
                authority: b"127.0.0.1:8080",
                path: b"/index.html",
                protocol: None,
                content: if posts { RequestContent::Length(300) } else { RequestContent::None },
            };
            let sent = self.client.send_request(&self.config, &request, &self.fields, &mut self.to_server);
            if posts {
                self.client.send_data(sent.expect("capacity"), &[b'x'; 300], true, &mut self.to_server);
            }
        }
        while !self.to_server.is_empty() || !self.to_client.is_empty() {
            self.serve();
            self.take();
        }
    }

    fn serve(&mut self) {
        let mut at = 0;
        loop {
            let input = &self.to_server[at..];
            let received =
                self.server.receive(&self.config, 0, input, &mut self.request, &mut self.to_client);
            let received = received.expect("no fault");
            at += received.consumed;
            match received.event {
                Event::More => break,
                Event::Request { key, content: RequestContent::None } => {
                    self.send_head(key);
                    self.server.send_data(key, &[b'y'; 600], true, &mut self.to_client);
                }
                Event::Content { key, len, end: true, .. } => {
                    self.server.consumed(&self.config, key, len, &mut self.to_client);
                    self.waiting.push(key);
                }
                _ => {}
            }
        }
        self.to_server.drain(..at);
        for at in 0..self.waiting.len() {
            self.send_head(self.waiting[at]);
            self.server.set_ready(self.waiting[at], true);
        }
        self.waiting.clear();
        while let Some((key, _)) = self.server.next() {
            *self.server.get(key).expect("open") += 300;
            let end = *self.server.get(key).expect("open") == 600;
            self.server.send_data(key, &[b'y'; 300], end, &mut self.to_client);
        }
    }

    fn send_head(&mut self, key: Key) {
        let body = self.server.send_head(key, &self.answer, Some(600), &self.common, 1, &mut self.to_client);
        assert_eq!(body, Body::Content);
    }

    fn take(&mut self) {
        let mut at = 0;
        loop {
            let input = &self.to_client[at..];
            let received =
                self.client.receive(&self.config, 0, input, &mut self.response, &mut self.to_server);
            let received = received.expect("no fault");
            at += received.consumed;
            match received.event {
                ClientEvent::More => break,
                ClientEvent::Content { key, len, end, .. } => {
                    self.client.consumed(&self.config, key, len, &mut self.to_server);
                    self.answered += usize::from(end);
                }
                _ => {}
            }
        }
        self.to_client.drain(..at);
    }
}

#[test]
fn requests_and_responses_allocate_nothing_once_buffers_have_grown() {
    let mut both = Both::new();
    (0..20).for_each(|_| both.round(150));
    let before = allocations();
    (0..100).for_each(|_| both.round(150));
    assert_eq!(allocations() - before, 0);
    assert_eq!(both.answered, 120 * 150);
}

#[test]
fn a_connection_owns_no_memory_before_its_first_stream() {
    let config = Config::default();
    let (mut head, mut out) = (RequestHead::default(), Vec::with_capacity(1000));
    let beginning = beginning();
    let mut rest = &beginning[..];
    let before = allocations();
    let mut server: Server<u64> = Server::new(&config);
    server.start(&config, &mut out);
    while !rest.is_empty() {
        let received = server.receive(&config, 0, rest, &mut head, &mut out).expect("no fault");
        rest = &rest[received.consumed..];
    }
    assert_eq!(allocations() - before, 0);
    assert!(size_of_val(&server) <= 800, "{}", size_of_val(&server));
}
