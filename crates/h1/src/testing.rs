//! For tests: feeds bytes to an engine in any pieces and records its output, so that different splits can be
//! compared.

use crate::{Client, ClientEvent, Event, Fault, Limits, Next, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};

/// Splits bytes into pieces of one.
pub(crate) fn by_byte(wire: &[u8]) -> Vec<&[u8]> {
    wire.chunks(1).collect()
}

/// What a server with default limits notes of requests that are answered with 204 when complete.
pub(crate) fn requests(pieces: &[&[u8]]) -> String {
    requests_within(&Limits::default(), pieces)
}

/// What a server notes: `GET /path`, `<content>`, `.` for the end, `{a=1}` for trailers, the fault, `close`.
pub(crate) fn requests_within(limits: &Limits, pieces: &[&[u8]]) -> String {
    let (mut server, mut head, mut notes) = (Server::new(), RequestHead::default(), String::new());
    let mut input = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        match drain_requests(limits, &mut server, &mut input, &mut head, &mut notes) {
            Ok(()) if server.is_complete() && server.next() == Next::Close => return notes + "close",
            Ok(()) => {}
            Err(fault) => return format!("{notes}!{fault:?}"),
        }
    }
    notes
}

fn drain_requests(
    limits: &Limits,
    server: &mut Server,
    input: &mut Vec<u8>,
    head: &mut RequestHead,
    notes: &mut String,
) -> Result<(), Fault> {
    loop {
        let received = server.receive(limits, input, head)?;
        match &received.event {
            Event::More => {
                input.drain(..received.consumed);
                return Ok(());
            }
            Event::Request(content) => {
                notes.push_str(&text(&[head.method_name(), b" ", head.target(), b" "].concat()));
                if *content == crate::RequestContent::None {
                    answer(server);
                }
            }
            Event::Content(range) => note_content(notes, &input[range.clone()]),
            Event::End => {
                note_end(notes, server.take_trailers());
                answer(server);
            }
        }
        input.drain(..received.consumed);
    }
}

fn answer(server: &mut Server) {
    server.send_head(&ResponseHead::new(Status::NO_CONTENT), None, b"", &mut Vec::new());
}

/// Joins pieces of one content: `<ab` and then `c>` are noted as `<abc>`.
fn note_content(notes: &mut String, bytes: &[u8]) {
    if notes.ends_with('>') {
        notes.pop();
    } else {
        notes.push('<');
    }
    notes.push_str(&text(bytes));
    notes.push('>');
}

fn note_end(notes: &mut String, trailers: Option<FieldSection>) {
    notes.push('.');
    if let Some(trailers) = trailers {
        let lines: Vec<_> = trailers.iter().map(|(n, v)| text(n) + "=" + &text(v)).collect();
        notes.push_str(&format!("{{{}}}", lines.join(",")));
    }
    notes.push(' ');
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// What a client notes that has asked with these methods: `200`, `103+` for an interim one, content and
/// end as [`requests`] does, `eof` for the end after the last piece, the fault.
pub(crate) fn responses(methods: &[&[u8]], pieces: &[&[u8]]) -> String {
    responses_within(&Limits::default(), methods, pieces)
}

/// The same within limits.
pub(crate) fn responses_within(limits: &Limits, methods: &[&[u8]], pieces: &[&[u8]]) -> String {
    let mut client = client_with_requests(methods);
    let (mut input, mut notes) = (Vec::new(), String::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        if let Err(fault) = drain_responses(limits, &mut client, &mut input, &mut notes) {
            return format!("{notes}!{fault:?}");
        }
    }
    let end = match client.receive_eof() {
        Ok(ClientEvent::End) => ".".into(),
        Ok(_) => String::new(),
        Err(fault) => format!("!{fault:?}"),
    };
    format!("{notes}eof{end}")
}

/// A client that has asked with these methods.
pub(crate) fn client_with_requests(methods: &[&[u8]]) -> Client {
    let mut client = Client::new();
    for method in methods {
        let target: &[u8] = if *method == b"CONNECT" { b"a:1" } else { b"/" };
        let fields = FieldSection::default();
        client
            .send_head(method, target, &fields, crate::RequestContent::None, &mut Vec::new())
            .expect("fewer than 64 requests");
    }
    client
}

fn drain_responses(
    limits: &Limits,
    client: &mut Client,
    input: &mut Vec<u8>,
    notes: &mut String,
) -> Result<(), Fault> {
    let mut head = ResponseHead::new(Status::OK);
    loop {
        let received = client.receive(limits, input, &mut head)?;
        match &received.event {
            ClientEvent::More => {
                input.drain(..received.consumed);
                return Ok(());
            }
            ClientEvent::Interim => notes.push_str(&format!("{}+ ", head.status().code())),
            ClientEvent::Response(_) => notes.push_str(&format!("{} ", head.status().code())),
            ClientEvent::Content(range) => note_content(notes, &input[range.clone()]),
            ClientEvent::End => note_end(notes, client.take_trailers()),
        }
        input.drain(..received.consumed);
    }
}
