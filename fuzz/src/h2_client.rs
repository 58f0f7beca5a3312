//! The target of HTTP/2's other role: sequences of a server's frames and a client's calls.

use crate::Decisions;
use crate::h2::SMALL;
use crate::h2_windows::{Windows, frame, frames};
use hayami_h2::{
    Client, ClientEvent, Config, ErrorCode, Key, PREFACE, Request, RequestContent, ResponseContent,
};
use hayami_http::{FieldSection, ResponseHead, Status};
use std::collections::BTreeMap;

/// A client never panics and never sends beyond a window, whatever frames come between whatever calls. It never grants
/// more than its largest windows. Each request has at most one response, content follows its head, has the
/// announced length, and ends once.
pub fn h2_client(bytes: &[u8]) {
    let mut program = Decisions::of(bytes);
    let config = if program.next().is_multiple_of(2) { SMALL } else { Config::default() };
    let mut user = User::new(&config);
    while !program.is_empty() && user.step(&config, &mut program) {
        user.check(&config);
    }
}

/// A request, and what has come for it.
struct Asked {
    key: Key,
    /// What was to follow the response's head, once that is there.
    content: Option<ResponseContent>,
    is_complete: bool,
    received: u64,
    /// Content that was not consumed, and content that was set aside.
    waiting: usize,
    aside: usize,
}

/// A client, what its server has granted, and what the client has granted.
struct User {
    client: Client<Vec<u8>>,
    head: ResponseHead,
    out: Vec<u8>,
    requests: Vec<Asked>,
    windows: Windows,
    /// What the server may send on the connection and on streams, beside their initial window.
    connection: i64,
    credit: BTreeMap<u32, i64>,
    now: u32,
}

impl User {
    fn new(config: &Config) -> Self {
        let (mut client, mut out) = (Client::new(config), Vec::new());
        client.start(config, &mut out);
        out.drain(..PREFACE.len());
        let (head, requests, windows) = (ResponseHead::new(Status::OK), Vec::new(), Windows::new());
        Self { client, head, out, requests, windows, connection: 65_535, credit: BTreeMap::new(), now: 0 }
    }

    /// A frame or a call. `false` when the connection is over.
    fn step(&mut self, config: &Config, program: &mut Decisions<'_>) -> bool {
        let (what, which) = (program.next() % 26, program.next());
        let at = usize::from(which) % self.requests.len().max(1);
        match (what, self.requests.get_mut(at)) {
            (0..14, _) => return self.frame(config, what, which, program),
            (14 | 15, _) => self.request(config, which),
            (_, None) => {}
            (16, Some(own)) => {
                let len = self.client.room(own.key).min(usize::from(program.next()));
                self.client.send_data(own.key, &[b'x'; 255][..len], which > 127, &mut self.out);
            }
            (17, Some(own)) => self.client.set_ready(own.key, which < 128),
            (18, Some(_)) => self.send_next(),
            (19, Some(own)) => {
                let bytes = own.waiting.min(program.next().into());
                own.waiting -= bytes;
                self.client.consumed(config, own.key, bytes, &mut self.out);
            }
            (20, Some(own)) => {
                let bytes = own.waiting.min(program.next().into());
                (own.waiting, own.aside) = (own.waiting - bytes, own.aside + bytes);
                self.client.release_connection_window(config, own.key, bytes, &mut self.out);
            }
            (21, Some(own)) => {
                let bytes = own.aside.min(program.next().into());
                own.aside -= bytes;
                self.client.release_stream_window(config, own.key, bytes, &mut self.out);
            }
            (22, Some(own)) => {
                let key = own.key;
                self.client.reset(key, ErrorCode::CANCEL, &mut self.out);
                self.requests.remove(at);
            }
            (23, Some(own)) => self.client.send_trailers(own.key, &FieldSection::default(), &mut self.out),
            (24, Some(_)) => self.forget_unanswered(),
            (_, Some(_)) => return self.whole(which),
        }
        true
    }

    /// A call that concerns the connection.
    fn whole(&mut self, which: u8) -> bool {
        self.now += 250;
        match which % 8 {
            0 => self.client.ping(&mut self.out),
            1 => self.client.release(),
            2 if which > 200 => self.client.go_away(&mut self.out),
            3 if which > 200 => {
                self.client.abort(ErrorCode::NO_ERROR, &mut self.out);
                return false;
            }
            _ => assert!(self.client.keys().count() == self.client.streams()),
        }
        true
    }

    fn request(&mut self, config: &Config, which: u8) {
        let capacity = self.client.capacity(config);
        let is_connect = which % 8 == 7;
        let content = [RequestContent::None, RequestContent::Length(300), RequestContent::Unknown];
        let request = Request {
            method: [&b"GET"[..], b"POST", b"POST", b"HEAD", b"GET", b"PUT", b"HEAD", b"CONNECT"]
                [usize::from(which % 8)],
            scheme: if is_connect { b"" } else { b"http" },
            authority: b"a",
            path: if is_connect { b"" } else { b"/" },
            protocol: None,
            content: if is_connect { RequestContent::Unknown } else { content[usize::from(which % 4) % 3] },
        };
        let sent = self.client.send_request(config, &request, &FieldSection::default(), &mut self.out);
        assert_eq!(sent.is_ok(), capacity > 0);
        if let Ok(key) = sent {
            let (content, is_complete) = Default::default();
            self.requests.push(Asked { key, content, is_complete, received: 0, waiting: 0, aside: 0 });
        }
    }

    fn send_next(&mut self) {
        if let Some((key, room)) = self.client.next() {
            assert!(room > 0 && room == self.client.room(key));
            let len = room.min(100);
            self.client.begin_data(key, len, false, &mut self.out);
            self.out.extend_from_slice(&[b'y'; 100][..len]);
        }
    }

    /// Requests that the server has not looked at are another connection's.
    fn forget_unanswered(&mut self) {
        while let Some((key, _)) = self.client.next_unanswered() {
            self.requests.retain(|own| own.key != key);
        }
    }

    fn frame(&mut self, config: &Config, what: u8, which: u8, program: &mut Decisions<'_>) -> bool {
        let stream = u32::from(which % 16) * 2 + 1;
        let flags = program.next();
        // In a field block: `:status: 200`, `content-length: 20`, `:status: 103`, `a: b` (RFC 7541 §6).
        let (kind, flags, stream, payload) = match what {
            0 => (1, flags & 5 | 4, stream, b"\x88".to_vec()),
            1 => (1, flags & 5 | 4, stream, b"\x88\x0f\x0d\x0220".to_vec()),
            2 => (1, flags & 4, stream, b"\x08\x03103".to_vec()),
            3 => (1, 5, stream, b"\x00\x01a\x01b".to_vec()),
            4 => (0, flags & 1, stream, vec![b'z'; usize::from(program.next()) % 21]),
            5 => (0, flags & 9, stream, program.piece().to_vec()),
            6 => (8, 0, stream, vec![0, 0, 0, program.next()]),
            7 => (8, 0, 0, vec![program.next() % 128, 0, 1, program.next()]),
            8 => (4, 0, 0, vec![0, 4, 0, 0, program.next() % 4, program.next()]),
            9 => (4, 0, 0, vec![0, flags % 10, 0, 0, program.next(), program.next()]),
            10 => (4, 1, 0, Vec::new()),
            11 => (3, 0, stream, vec![0, 0, 0, program.next()]),
            12 => (7, 0, 0, vec![0, 0, 0, program.next(), 0, 0, 0, flags]),
            _ => (flags % 20, program.next(), if which > 127 { stream } else { 0 }, program.piece().to_vec()),
        };
        let wire = frame(kind, flags, stream, &payload);
        self.windows.grant(kind, flags, stream, &payload);
        if kind == 0 {
            self.connection -= payload.len() as i64;
            *self.credit.entry(stream).or_default() -= payload.len() as i64;
        }
        let Ok(received) = self.client.receive(config, self.now, &wire, &mut self.head, &mut self.out) else {
            self.client.drain_data().for_each(drop);
            return false;
        };
        assert_eq!(received.consumed, wire.len());
        self.take(received.event, wire.len());
        true
    }

    fn take(&mut self, event: ClientEvent<Vec<u8>>, received: usize) {
        match event {
            ClientEvent::Interim { key } => assert!(self.request_of(key).content.is_none()),
            ClientEvent::Response { key, content } => {
                let own = self.request_of(key);
                assert!(own.content.replace(content).is_none(), "a second response");
                own.is_complete = content == ResponseContent::None;
            }
            ClientEvent::Content { key, start, len, end } => {
                assert!(len > 0 && start + len <= received);
                let own = self.request_of(key);
                own.waiting += len;
                own.take(len, end);
            }
            ClientEvent::End { key, .. } => self.request_of(key).take(0, true),
            ClientEvent::Reset { key, .. } => self.requests.retain(|own| own.key != key),
            ClientEvent::More => panic!("the frame was whole"),
            ClientEvent::Handled | ClientEvent::Settings | ClientEvent::GoAway { .. } => {}
        }
    }

    fn request_of(&mut self, key: Key) -> &mut Asked {
        self.requests.iter_mut().find(|own| own.key == key).expect("an event of a request")
    }

    /// What was written keeps to the windows, and grants no more than the server may have.
    fn check(&mut self, config: &Config) {
        self.windows.check(&self.out);
        for (kind, stream, payload) in frames(&self.out) {
            let (8, Ok(increment)) = (kind, <[u8; 4]>::try_from(payload)) else { continue };
            let increment = i64::from(u32::from_be_bytes(increment));
            match stream {
                0 => self.connection += increment,
                stream => *self.credit.entry(stream).or_default() += increment,
            }
        }
        self.out.clear();
        assert!(self.connection <= i64::from(config.max_connection_window.max(config.connection_window)));
        let most = i64::from(config.max_stream_window.max(config.initial_window));
        assert!(self.credit.values().all(|credit| i64::from(config.initial_window) + credit <= most));
    }
}

impl Asked {
    /// Content that follows the response's head.
    fn take(&mut self, bytes: usize, end: bool) {
        assert!(!self.is_complete, "content behind the end");
        (self.received, self.is_complete) = (self.received + bytes as u64, end);
        match self.content {
            None | Some(ResponseContent::None) => panic!("content without a head"),
            Some(ResponseContent::Length(length)) => {
                assert!(self.received <= length && (!end || self.received == length));
            }
            Some(ResponseContent::Unknown) => {}
        }
    }
}
