//! Hand-made frames, and the engine's reaction in words.
#![allow(dead_code, unreachable_pub)] // each test uses only part of it

use hayami_h2::{Client, ClientEvent, Config, Event, Fault, PREFACE, Server};
use hayami_hpack::{Decoder, Field};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const PRIORITY_UPDATE: u8 = 0x10;

pub const END: u8 = 1;
pub const ACK: u8 = 1;
pub const WHOLE: u8 = 4;
pub const PADDED: u8 = 8;
pub const WITH_PRIORITY: u8 = 0x20;

/// A frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    let head = [&len[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// A field block of literals, which leaves the tables alone (RFC 7541 §6.2.2).
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        string(name.as_bytes(), &mut bytes);
        string(value.as_bytes(), &mut bytes);
    }
    bytes
}

/// A string without Huffman coding (RFC 7541 §5.2).
fn string(text: &[u8], out: &mut Vec<u8>) {
    if text.len() < 127 {
        out.push(text.len() as u8);
    } else {
        out.push(127);
        let mut rest = text.len() - 127;
        while rest >= 128 {
            out.push(rest as u8 | 128);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    out.extend_from_slice(text);
}

pub const GET: &[(&str, &str)] =
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")];
pub const POST: &[(&str, &str)] =
    &[(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")];

/// A whole GET request.
pub fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END | WHOLE, stream, &block(GET))
}

/// The head of a POST request.
pub fn post(stream: u32) -> Vec<u8> {
    frame(HEADERS, WHOLE, stream, &block(POST))
}

/// A GET or POST with more fields.
pub fn with(base: &[(&str, &str)], more: &[(&str, &str)]) -> Vec<u8> {
    block(&[base, more].concat())
}

pub fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> =
        pairs.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
    frame(SETTINGS, 0, 0, &payload)
}

pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub fn rst_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// What a client sends first.
pub fn beginning() -> Vec<u8> {
    [&PREFACE[..], &settings(&[]), &frame(SETTINGS, ACK, 0, &[])].concat()
}

/// Frames in words, one a line.
pub struct Words {
    decoder: Decoder,
    pub lines: Vec<String>,
}

impl Default for Words {
    fn default() -> Self {
        Self { decoder: Decoder::new(4096), lines: Vec::new() }
    }
}

impl Words {
    /// Reads whole frames.
    pub fn read(&mut self, mut bytes: &[u8]) {
        bytes = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        while !bytes.is_empty() {
            let len = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
            let stream = u32::from_be_bytes(bytes[5..9].try_into().expect("four bytes"));
            let line = self.frame(bytes[3], bytes[4], stream, &bytes[9..9 + len]);
            self.lines.push(line);
            bytes = &bytes[9 + len..];
        }
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> String {
        let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("four bytes"));
        let end = if flags & END != 0 { " end" } else { "" };
        match kind {
            DATA => format!("< {stream} DATA {}{end}", payload.len()),
            HEADERS => format!("< {stream} HEADERS {}{end}", self.fields(payload)),
            RST_STREAM => format!("< {stream} RST_STREAM {}", number(0)),
            SETTINGS if flags & ACK != 0 => "< SETTINGS ack".into(),
            SETTINGS => "< SETTINGS".into(),
            PING => format!("< PING {flags} {}", String::from_utf8_lossy(payload)),
            GOAWAY => format!("< GOAWAY {} {}", number(0), number(4)),
            WINDOW_UPDATE => format!("< {stream} WINDOW_UPDATE {}", number(0)),
            _ => format!("< {stream} frame of type {kind}, {} bytes", payload.len()),
        }
    }

    fn fields(&mut self, block: &[u8]) -> String {
        let mut lines = Vec::new();
        let mut sink = |field: Field<'_>| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            lines.push(format!("{}={}", text(field.name), text(field.value)));
        };
        self.decoder.decode(block, usize::MAX, &mut sink).expect("a block that can be decoded");
        lines.join(" ")
    }
}

/// How a server's caller behaves.
#[derive(Clone, Copy, PartialEq)]
pub enum Caller {
    /// Answers each complete request with `hi`.
    Answers,
    /// Leaves requests open and content unconsumed.
    Waits,
}

/// What a server says and does, in words, when `wire` comes in pieces of `step` bytes.
pub fn server(config: &Config, wire: &[u8], step: usize, caller: Caller) -> Vec<String> {
    let mut server: Server<u32> = Server::new(config);
    let (mut words, mut head, mut out) = (Words::default(), RequestHead::default(), Vec::new());
    server.start(config, &mut out);
    out.clear();
    let (mut at, mut come) = (0, 0);
    while come < wire.len() {
        come = (come + step).min(wire.len());
        loop {
            let received = match server.receive(config, 0, &wire[at..come], &mut head, &mut out) {
                Ok(received) => received,
                Err(fault) => {
                    words.read(&out);
                    words.lines.push(format!("! {fault:?}"));
                    return words.lines;
                }
            };
            words.read(&out);
            out.clear();
            at += received.consumed;
            let more = matches!(received.event, Event::More);
            if let Some(key) = say(&mut words, &head, received.event)
                && caller == Caller::Answers
            {
                answer(&mut server, key, &mut out);
                words.read(&out);
                out.clear();
            }
            if more {
                break;
            }
        }
    }
    words.lines
}

fn answer(server: &mut Server<u32>, key: hayami_h2::Key, out: &mut Vec<u8>) {
    let nothing = FieldSection::default();
    server.send_head(key, &ResponseHead::new(Status::OK), Some(2), &nothing, 1, out);
    if server.room(key) >= 2 {
        server.send_data(key, b"hi", true, out);
    }
}

/// Puts an event in words; returns the key of a complete request.
fn say(words: &mut Words, head: &RequestHead, event: Event<u32>) -> Option<hayami_h2::Key> {
    let path = String::from_utf8_lossy(head.target()).into_owned();
    let (line, complete) = match event {
        Event::More | Event::Handled => return None,
        Event::Request { key, content } => {
            let complete = content == hayami_h2::RequestContent::None;
            (format!("> {} request {path} {content:?}", key.stream_id()), complete.then_some(key))
        }
        Event::TooLarge { key, status, .. } => {
            (format!("> {} too large {}", key.stream_id(), status.code()), None)
        }
        Event::Content { key, len, end, .. } => (
            format!("> {} content {len}{}", key.stream_id(), if end { " end" } else { "" }),
            end.then_some(key),
        ),
        Event::End { key, trailers } => {
            let count = trailers.map_or(0, |trailers| trailers.len());
            (format!("> {} end, {count} trailers", key.stream_id()), Some(key))
        }
        Event::Reset { key, code, fault, .. } => {
            (format!("> {} reset {} {fault:?}", key.stream_id(), code.0), None)
        }
        Event::PeerGoesAway => ("> goes away".into(), None),
    };
    words.lines.push(line);
    complete
}

/// What a client that has sent `requests` GETs and a HEAD says, in words, when `wire` comes in pieces of
/// `step` bytes.
pub fn client(config: &Config, requests: usize, wire: &[u8], step: usize) -> Vec<String> {
    let mut client: Client<u32> = Client::new(config);
    let (mut words, mut head, mut out) = (Words::default(), ResponseHead::new(Status::OK), Vec::new());
    client.start(config, &mut out);
    for at in 0..=requests {
        let request = hayami_h2::Request {
            method: if at < requests { b"GET" } else { b"HEAD" },
            scheme: b"http",
            authority: b"a",
            path: b"/",
            protocol: None,
            content: hayami_h2::RequestContent::None,
        };
        client.send_request(config, &request, &FieldSection::default(), &mut out).expect("room for it");
    }
    out.clear();
    let (mut at, mut come) = (0, 0);
    while come < wire.len() {
        come = (come + step).min(wire.len());
        loop {
            let received = match client.receive(config, 0, &wire[at..come], &mut head, &mut out) {
                Ok(received) => received,
                Err(fault) => {
                    words.read(&out);
                    words.lines.push(format!("! {fault:?}"));
                    return words.lines;
                }
            };
            words.read(&out);
            out.clear();
            at += received.consumed;
            if matches!(received.event, ClientEvent::More) {
                break;
            }
            say_client(&mut words, &head, received.event);
        }
    }
    words.lines
}

fn say_client(words: &mut Words, head: &ResponseHead, event: ClientEvent<u32>) {
    let status = head.status().code();
    words.lines.push(match event {
        ClientEvent::More | ClientEvent::Handled | ClientEvent::Settings => return,
        ClientEvent::Interim { key } => format!("> {} interim {status}", key.stream_id()),
        ClientEvent::Response { key, content } => {
            format!("> {} response {status} {content:?}", key.stream_id())
        }
        ClientEvent::Content { key, len, end, .. } => {
            format!("> {} content {len}{}", key.stream_id(), if end { " end" } else { "" })
        }
        ClientEvent::End { key, trailers } => {
            format!("> {} end, {} trailers", key.stream_id(), trailers.map_or(0, |trailers| trailers.len()))
        }
        ClientEvent::Reset { key, code, fault, .. } => {
            format!("> {} reset {} {fault:?}", key.stream_id(), code.0)
        }
        ClientEvent::GoAway { last_stream, code } => format!("> goes away {last_stream} {}", code.0),
    });
}

/// Whether an engine failed with this fault, and said so with its code.
pub fn failed_with(lines: &[String], fault: Fault) -> bool {
    let code = format!(" {}", fault.code().0);
    let said = lines.iter().any(|line| line.starts_with("< GOAWAY") && line.ends_with(&code));
    said && lines.last() == Some(&format!("! {fault:?}"))
}
