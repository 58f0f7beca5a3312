//! HTTP/2 on a connection: a stream for each request; field blocks are copied while the table is unchanged.

use super::why::{self, Broken, Why};
use super::{Cx, Failure, InFlight, TlsName};
use crate::worker::job::Template;
use hayami_h2::{
    Client, ClientEvent, ErrorCode, Fault, Key, Request, RequestContent, RequestMemo, ResponseContent,
};
use std::collections::VecDeque;

/// Number of requests whose field blocks a connection keeps.
const REMEMBERED: usize = 16;

pub(super) struct Http2 {
    client: Client<InFlight>,
    memos: Vec<RequestMemo>,
    /// When each request was sent, the oldest first; answered ones are removed once they are the oldest.
    asked: VecDeque<(u64, Key)>,
    unanswered: u64,
    /// The server accepts no more requests.
    goes: bool,
    /// The code of its GOAWAY.
    goodbye: Option<ErrorCode>,
}

impl Http2 {
    pub(super) fn new(cx: &Cx<'_>) -> Self {
        let memos = match cx.job.templates.len() {
            count @ ..=REMEMBERED => vec![RequestMemo::default(); count],
            _ => Vec::new(),
        };
        let client = Client::new(&cx.job.h2);
        Self { client, memos, asked: VecDeque::new(), unanswered: 0, goes: false, goodbye: None }
    }

    pub(super) fn renew(&mut self, cx: &Cx<'_>) {
        self.client = Client::new(&cx.job.h2);
        self.memos.fill(RequestMemo::default());
        self.forget();
        (self.goes, self.goodbye) = (false, None);
    }

    pub(super) fn start(&mut self, cx: &mut Cx<'_>) {
        self.client.start(&cx.job.h2, &mut cx.out);
    }

    pub(super) fn say_goodbye(&mut self, cx: &mut Cx<'_>) {
        self.client.go_away(&mut cx.out);
    }

    pub(super) fn fill(&mut self, cx: &mut Cx<'_>, left: &mut u64) {
        let room = self.client.capacity(&cx.job.h2);
        for _ in 0..room {
            if *left == 0 {
                break;
            }
            let Some(due) = cx.pace.take(cx.now) else { break };
            if !self.ask(cx, due) {
                cx.pace.put_back(1);
                break;
            }
            *left -= 1;
        }
        self.send_bodies(cx);
    }

    #[inline]
    fn ask(&mut self, cx: &mut Cx<'_>, due: u64) -> bool {
        let index = cx.job.choose(&mut cx.random);
        let template = &cx.job.templates[index];
        let (config, request) = (&cx.job.h2, request(template, cx.job.connector.is_some()));
        let sent = match self.memos.get_mut(index) {
            Some(memo) => {
                self.client.send_request_again(config, memo, &request, &template.fields, &mut cx.out)
            }
            None => self.client.send_request(config, &request, &template.fields, &mut cx.out),
        };
        let Ok(key) = sent else { return false };
        let body_left = template.body.as_ref().map_or(0, |body| body.len() as u32);
        if let Some(data) = self.client.get(key) {
            let template = index as u32;
            *data = InFlight { due, sent: cx.now, body_left, template, ..InFlight::default() };
        }
        if body_left > 0 {
            self.client.set_ready(key, true);
        }
        self.asked.push_back((cx.now, key));
        self.unanswered += 1;
        cx.count.tally.requests += 1;
        true
    }

    /// Sends request content within the server's windows (RFC 9113 §5.2).
    fn send_bodies(&mut self, cx: &mut Cx<'_>) {
        while let Some((key, room)) = self.client.next() {
            let Some(data) = self.client.get(key) else { return };
            let template = &cx.job.templates[data.template as usize];
            let Some(body) = &template.body else { return };
            let start = body.len() - data.body_left as usize;
            let piece = &body[start..body.len().min(start + room)];
            data.body_left -= piece.len() as u32;
            let end = data.body_left == 0;
            self.client.send_data(key, piece, end, &mut cx.out);
        }
    }

    pub(super) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        input: &[u8],
        tls: TlsName<'_>,
    ) -> Result<usize, Broken> {
        let (config, now) = (&cx.job.h2, (cx.now / 1_000_000) as u32);
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let received = self.client.receive(config, now, rest, &mut cx.head, &mut cx.out);
            let received = received.map_err(broken)?;
            at += received.consumed;
            match received.event {
                ClientEvent::More => return Ok(at),
                ClientEvent::Handled | ClientEvent::Settings => {}
                ClientEvent::Interim { .. } => cx.count.tally.bytes_head += received.consumed as u64,
                ClientEvent::Response { key, content } => {
                    cx.count.tally.bytes_head += received.consumed as u64;
                    self.begin(cx, key, tls);
                    if content == ResponseContent::None {
                        self.end(cx, key);
                    }
                }
                ClientEvent::Content { key, start, len, end } => {
                    if let Some(request) = self.client.get(key) {
                        request.content(cx, &rest[start..start + len]);
                    }
                    self.client.consumed(config, key, len, &mut cx.out);
                    if end {
                        self.end(cx, key);
                    }
                }
                ClientEvent::End { key, .. } => self.end(cx, key),
                ClientEvent::Reset { data, code, fault, .. } => {
                    self.reset(cx, &data, code, fault);
                }
                ClientEvent::GoAway { code, .. } => self.go(cx, code),
            }
        }
    }

    fn begin(&mut self, cx: &mut Cx<'_>, key: Key, tls: TlsName<'_>) {
        let Some(request) = self.client.get(key) else { return };
        request.head(cx, cx.head.status());
        if cx.count.tally.sample.is_none() {
            request.is_sample = true;
            cx.count.keep_sample("HTTP/2", tls(), &cx.head);
        }
    }

    #[inline]
    fn end(&mut self, cx: &mut Cx<'_>, key: Key) {
        if let Some(request) = self.client.get(key) {
            let early = request.body_left > 0;
            request.end(cx);
            self.unanswered -= 1;
            if early {
                // RFC 9113 §8.1: an answer may come before the request is complete.
                self.client.reset(key, ErrorCode::CANCEL, &mut cx.out);
            }
        }
    }

    /// One request has failed, the connection has not.
    #[cold]
    fn reset(&mut self, cx: &mut Cx<'_>, request: &InFlight, code: ErrorCode, fault: Option<Fault>) {
        self.unanswered = self.unanswered.saturating_sub(1);
        // RFC 9113 §8.7: it was not processed, so it is sent again.
        if code == ErrorCode::REFUSED_STREAM && fault.is_none() {
            return cx.pace.put_back(1);
        }
        cx.pace.done(1);
        let (failure, why) = match (fault, request.first) {
            (Some(fault), _) => (Failure::Protocol, broken(fault).why),
            (None, 0) => (Failure::Reset, format!("the server reset the stream: {code}").into()),
            (None, _) => (
                Failure::Short,
                format!("the server reset the stream in the middle of a response: {code}").into(),
            ),
        };
        cx.count.failed(failure, &why, 1, cx.now);
    }

    /// RFC 9113 §6.8: requests that the server did not process are sent again elsewhere.
    #[cold]
    fn go(&mut self, cx: &mut Cx<'_>, code: ErrorCode) {
        (self.goes, self.goodbye) = (true, Some(code));
        while self.client.next_unanswered().is_some() {
            self.unanswered = self.unanswered.saturating_sub(1);
            cx.pace.put_back(1);
        }
    }

    pub(super) fn eof(&mut self, _cx: &mut Cx<'_>) -> Option<Broken> {
        let (failure, closed) = match (self.unanswered, self.has_begun()) {
            (0, _) => return None,
            (_, true) => (Failure::Short, why::CLOSED_SHORT),
            (_, false) => (Failure::Reset, why::CLOSED_UNANSWERED),
        };
        let why: Why = match self.goodbye {
            Some(code) if code != ErrorCode::NO_ERROR => {
                format!("the server closed the connection with GOAWAY: {code}").into()
            }
            _ => closed.into(),
        };
        Some(Broken { failure, why })
    }

    pub(super) fn unanswered(&self) -> u64 {
        self.unanswered
    }

    pub(super) fn forget(&mut self) {
        self.asked.clear();
        self.unanswered = 0;
    }

    pub(super) fn oldest(&mut self) -> Option<u64> {
        while let Some((sent, key)) = self.asked.front() {
            if self.client.get(*key).is_some_and(|request| request.sent == *sent) {
                return Some(*sent);
            }
            self.asked.pop_front();
        }
        None
    }

    pub(super) fn has_begun(&mut self) -> bool {
        self.oldest();
        let first = self.asked.front().and_then(|(_, key)| self.client.get(*key));
        first.is_some_and(|request| request.first != 0)
    }

    #[inline]
    pub(super) fn has_room(&self, cx: &Cx<'_>) -> bool {
        self.client.capacity(&cx.job.h2) > 0
    }

    pub(super) fn is_done(&self, left: u64) -> bool {
        self.unanswered == 0 && (left == 0 || self.goes || self.client.is_over())
    }
}

#[cold]
fn broken(fault: Fault) -> Broken {
    Broken { failure: Failure::Protocol, why: format!("HTTP/2 protocol error: {fault}").into() }
}

fn request(template: &Template, secure: bool) -> Request<'_> {
    Request {
        method: &template.method,
        scheme: if secure { b"https" } else { b"http" },
        authority: &template.authority,
        path: &template.target,
        protocol: None,
        content: match &template.body {
            Some(body) if !body.is_empty() => RequestContent::Length(body.len() as u64),
            _ => RequestContent::None,
        },
    }
}
