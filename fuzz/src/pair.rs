//! The target of both engines together.

use crate::Decisions;
use hayami_h1::{Client, ClientEvent, Event, Framing, Limits, Next, RequestContent, ResponseContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};

/// A server finds a client's requests, pipelined and in any pieces, and the client finds the responses:
/// heads, content and trailers; then both agree on whether the connection stays open.
pub fn exchanges(bytes: &[u8]) {
    let mut program = Decisions::of(bytes);
    let exchanges: Vec<_> = (0..program.next() % 5).map(|_| Exchange::read(&mut program)).collect();
    let stays = program.next() % 2 == 1;
    let mut client = Client::new();
    let asked = ask(&mut client, &exchanges, stays);
    let (server, answers) = answer(&exchanges, &asked, &mut program);
    check(&mut client, &exchanges, &answers, &mut program);
    let stays = stays || exchanges.is_empty();
    assert_eq!(client.is_idle(), stays);
    assert_eq!(server.next() == Next::KeepAlive, stays);
    assert_eq!(client.receive_eof(), Ok(ClientEvent::More));
}

struct Exchange {
    method: &'static [u8],
    request: Body,
    interim: bool,
    status: Status,
    response: Body,
}

/// Content in pieces.
struct Body {
    pieces: Vec<Vec<u8>>,
    chunked: bool,
    trailers: Option<FieldSection>,
}

impl Exchange {
    fn read(program: &mut Decisions<'_>) -> Self {
        let statuses = [Status::OK, Status::NO_CONTENT, Status::NOT_FOUND, Status::NOT_MODIFIED];
        let choice = program.next();
        Self {
            method: [&b"GET"[..], b"HEAD", b"POST", b"PURGE"][usize::from(choice % 4)],
            status: statuses[usize::from(choice / 4 % 4)],
            interim: choice / 16 % 2 == 1,
            request: Body::read(program),
            response: Body::read(program),
        }
    }

    fn has_content(&self) -> bool {
        self.method != b"HEAD" && !self.status.forbids_content()
    }
}

impl Body {
    fn read(program: &mut Decisions<'_>) -> Self {
        let choice = program.next();
        let chunked = choice % 2 == 1;
        let mut piece = || vec![program.next(); usize::from(program.next()) * 3];
        let pieces = (0..choice / 2 % 4).map(|_| piece()).collect();
        let trailers = (chunked && choice / 8 % 2 == 1).then(|| {
            let mut section = FieldSection::default();
            section.append(b"digest", b"d");
            section
        });
        Self { pieces, chunked, trailers }
    }

    fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    fn length(&self) -> Option<u64> {
        (!self.chunked).then(|| self.bytes().len() as u64)
    }
}

fn ask(client: &mut Client, exchanges: &[Exchange], stays: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut fields = FieldSection::default();
    fields.append(b"host", b"a");
    for (at, exchange) in exchanges.iter().enumerate() {
        let target = format!("/{at}");
        let content = match exchange.request.length() {
            None => RequestContent::Chunked,
            Some(0) => RequestContent::None,
            Some(length) => RequestContent::Length(length),
        };
        let last = at + 1 == exchanges.len() && !stays;
        let send = if last { Client::send_last_head } else { Client::send_head };
        let sent = send(client, exchange.method, target.as_bytes(), &fields, content, &mut out);
        assert_eq!(sent, Ok(()));
        exchange.request.pieces.iter().for_each(|piece| client.send_content(piece, &mut out));
        assert_eq!(client.send_end(exchange.request.trailers.as_ref(), &mut out), Ok(()));
    }
    out
}

/// The bytes that arrive next: some of those that are left.
fn arrive<'a>(left: &mut &'a [u8], program: &mut Decisions<'_>) -> &'a [u8] {
    let (piece, rest) = left.split_at(left.len().min(usize::from(program.next()) + 1));
    *left = rest;
    piece
}

fn answer(exchanges: &[Exchange], mut asked: &[u8], program: &mut Decisions<'_>) -> (Server, Vec<u8>) {
    let (mut server, mut head, mut out) = (Server::new(), RequestHead::default(), Vec::new());
    let (mut input, mut content, mut answered) = (Vec::new(), Vec::new(), 0);
    while !asked.is_empty() {
        input.extend_from_slice(arrive(&mut asked, program));
        loop {
            let received = server.receive(&Limits::default(), &input, &mut head).expect("a client's bytes");
            match &received.event {
                Event::Content(range) => content.extend_from_slice(&input[range.clone()]),
                Event::Request(RequestContent::None) | Event::End => {
                    let exchange = &exchanges[answered];
                    assert_eq!(head.target(), format!("/{answered}").as_bytes());
                    assert_eq!(head.method_name(), exchange.method);
                    assert_eq!(std::mem::take(&mut content), exchange.request.bytes());
                    assert_eq!(server.take_trailers().is_some(), exchange.request.trailers.is_some());
                    respond(&mut server, exchange, &mut out);
                    answered += 1;
                }
                Event::Request(_) | Event::More => {}
            }
            input.drain(..received.consumed);
            if received.event == Event::More {
                break;
            }
        }
    }
    assert!(input.is_empty() && answered == exchanges.len());
    (server, out)
}

fn respond(server: &mut Server, exchange: &Exchange, out: &mut Vec<u8>) {
    let response = &exchange.response;
    if exchange.interim {
        server.send_interim(&ResponseHead::new(Status::EARLY_HINTS), out);
    }
    let framing = server.send_head(&ResponseHead::new(exchange.status), response.length(), b"", out);
    assert_eq!(framing == Framing::Chunked, response.chunked && exchange.has_content());
    for piece in &response.pieces {
        let mark = server.begin_chunk(out);
        out.extend_from_slice(piece);
        server.end_chunk(mark, out);
    }
    assert_eq!(server.send_end(response.trailers.as_ref(), out), Ok(()));
    assert!(server.is_complete());
}

fn check(client: &mut Client, exchanges: &[Exchange], mut answers: &[u8], program: &mut Decisions<'_>) {
    let (mut input, mut head) = (Vec::new(), ResponseHead::new(Status::OK));
    let (mut content, mut interim, mut found) = (Vec::new(), false, 0);
    while !answers.is_empty() {
        input.extend_from_slice(arrive(&mut answers, program));
        loop {
            let received = client.receive(&Limits::default(), &input, &mut head).expect("a server's bytes");
            match &received.event {
                ClientEvent::Content(range) => content.extend_from_slice(&input[range.clone()]),
                ClientEvent::Interim => interim = true,
                ClientEvent::Response(ResponseContent::None) | ClientEvent::End => {
                    let exchange = &exchanges[found];
                    assert_eq!(head.status(), exchange.status);
                    assert_eq!(std::mem::take(&mut interim), exchange.interim);
                    let sent = if exchange.has_content() { exchange.response.bytes() } else { Vec::new() };
                    assert_eq!(std::mem::take(&mut content), sent);
                    let trailers = exchange.has_content() && exchange.response.trailers.is_some();
                    assert_eq!(client.take_trailers().is_some(), trailers);
                    found += 1;
                }
                ClientEvent::Response(_) | ClientEvent::More => {}
            }
            input.drain(..received.consumed);
            if received.event == ClientEvent::More {
                break;
            }
        }
    }
    assert!(input.is_empty() && found == exchanges.len());
}
