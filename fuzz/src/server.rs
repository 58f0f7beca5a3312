//! The target of the server engine: sequences of calls.

use crate::Decisions;
use hayami_h1::{Event, Framing, Limits, Next, RequestContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};

/// A server never panics or loops, whatever the bytes, their split and the order of the calls; it never
/// consumes more than there is, makes progress with each event, begins one response for each request at
/// most, and every complete response is one that httparse reads.
pub fn server_engine(bytes: &[u8]) {
    let (mut decisions, wire) = Decisions::and_rest(bytes);
    let limits = if decisions.next() % 2 == 0 { crate::SMALL } else { Limits::default() };
    let mut connection = Connection::default();
    let mut left = wire;
    while !left.is_empty() && !connection.closed {
        let step = (usize::from(decisions.next() % 64) + 1).min(left.len());
        connection.input.extend_from_slice(&left[..step]);
        left = &left[step..];
        connection.turn(&limits, &mut decisions);
    }
    connection.check_output();
}

#[derive(Default)]
struct Connection {
    server: Server,
    head: RequestHead,
    input: Vec<u8>,
    out: Vec<u8>,
    /// Where the responses in `out` begin that were begun for requests.
    responses: Vec<usize>,
    requests: usize,
    closed: bool,
    refused: bool,
}

impl Connection {
    fn turn(&mut self, limits: &Limits, decisions: &mut Decisions<'_>) {
        loop {
            let Ok(received) = self.server.receive(limits, &self.input, &mut self.head) else {
                self.requests += 1;
                self.respond(decisions);
                assert_eq!(self.server.next(), Next::Close);
                self.closed = true;
                return;
            };
            assert!(received.consumed <= self.input.len());
            match &received.event {
                Event::More => {}
                Event::Request(_) => {
                    assert!(received.consumed > 0);
                    self.requests += 1;
                }
                Event::Content(range) => {
                    assert!(!range.is_empty() && range.end <= received.consumed);
                }
                Event::End => drop(self.server.take_trailers()),
            }
            let due = matches!(received.event, Event::Request(_) | Event::End);
            self.input.drain(..received.consumed);
            self.maybe_respond(decisions, received.event == Event::Request(RequestContent::None));
            if !due && received.event == Event::More {
                return;
            }
        }
    }

    fn maybe_respond(&mut self, decisions: &mut Decisions<'_>, whole: bool) {
        let choice = decisions.next();
        if whole || choice % 4 == 3 {
            self.respond(decisions);
        } else if choice % 4 == 2 {
            self.odd_call(choice / 4);
        }
    }

    /// Calls that may be out of turn: they must be harmless.
    fn odd_call(&mut self, which: u8) {
        match which % 8 {
            0 => {
                self.server.refuse();
                self.refused = true;
            }
            1 => self.server.close_after_response(),
            2 => self.server.cut_short(),
            3 => self.server.send_interim(&ResponseHead::new(Status::CONTINUE), &mut Vec::new()),
            4 => self.server.send_content(b"x", &mut Vec::new()),
            5 => self.server.content_sent(1),
            6 => drop(self.server.send_end(None, &mut Vec::new())),
            _ => {
                let mut out = Vec::new();
                let mark = self.server.begin_chunk(&mut out);
                self.server.end_chunk(mark, &mut out);
                assert!(out.is_empty());
            }
        }
    }

    /// A response of any kind, content and all.
    fn respond(&mut self, decisions: &mut Decisions<'_>) {
        let start = self.out.len();
        let choice = decisions.next();
        let status = [Status::OK, Status::NO_CONTENT, Status::NOT_FOUND, Status::NOT_MODIFIED];
        let mut head = ResponseHead::new(status[usize::from(choice % 4)]);
        head.append(b"x-a", b"b");
        let length = [None, Some(0), Some(5), Some(70000)][usize::from(choice / 4 % 4)];
        let framing = self.server.send_head(&head, length, b"server: s\r\n", &mut self.out);
        if self.out.len() == start {
            return; // out of turn
        }
        self.responses.push(start);
        let body_start = self.out.len();
        self.server.send_content(&[b'x'; 70000][..length.unwrap_or(9) as usize], &mut self.out);
        let ended = self.server.send_end(decisions.trailers().as_ref(), &mut self.out);
        assert_eq!(ended, Ok(()));
        check_body(framing, &self.out[body_start..]);
        self.closed |= self.server.next() == Next::Close;
    }

    fn check_output(&self) {
        // A server that refuses to wait for a request still answers it.
        assert!(self.responses.len() <= self.requests + usize::from(self.refused));
        for start in &self.responses {
            let mut fields = [httparse::EMPTY_HEADER; 8];
            let mut parsed = httparse::Response::new(&mut fields);
            let status = parsed.parse(&self.out[*start..]);
            assert!(status.is_ok_and(|status| status.is_complete()));
        }
    }
}

impl Decisions<'_> {
    fn trailers(&mut self) -> Option<FieldSection> {
        self.next().is_multiple_of(2).then(|| {
            let mut section = FieldSection::default();
            section.append(b"digest", b"d");
            section.append(b"host", b"dropped");
            section
        })
    }
}

fn check_body(framing: Framing, body: &[u8]) {
    match framing {
        Framing::Complete => assert!(body.is_empty()),
        Framing::Length(length) => assert_eq!(body.len() as u64, length),
        Framing::Chunked => assert!(body.ends_with(b"\r\n\r\n") && !body.ends_with(b"dropped\r\n\r\n")),
        Framing::UntilClose => assert!(!body.is_empty()),
        Framing::Tunnel => {}
    }
}
