//! HTTP/1 on a connection: sends prepared requests, several at a time if pipelined, and reads responses in
//! order.

use super::why::{self, Broken};
use super::{Cx, Failure, InFlight, TlsName, Wrong};
use hayami_h1::{Client, ClientEvent, Fault, Limits, ResponseContent};
use hayami_http::Status;
use std::collections::VecDeque;

/// Content of any length is counted, not kept; heads have the limits of a client.
const LIMITS: Limits = Limits {
    request_line: 8192,
    head: 65536,
    fields: 1000,
    content: u64::MAX,
    chunk_line: 256,
    chunk_extensions: u32::MAX,
    trailer: 65536,
    interim: 1000,
};

#[derive(Default)]
pub(super) struct Http1 {
    client: Client,
    /// Requests that were sent and not wholly answered.
    asked: VecDeque<InFlight>,
    /// The last request of the connection was sent.
    said_last: bool,
}

impl Http1 {
    pub(super) fn renew(&mut self) {
        self.client = Client::new();
        self.asked.clear();
        self.said_last = false;
    }

    pub(super) fn fill(&mut self, cx: &mut Cx<'_>, left: &mut u64) {
        while self.has_room(cx) && *left > 0 {
            let Some(due) = cx.pace.take(cx.now) else { return };
            let index = cx.job.choose(&mut cx.random);
            let template = &cx.job.templates[index];
            let last = *left == 1;
            if self.client.sent_ready_made(&template.method, last).is_err() {
                return cx.pace.put_back(1);
            }
            cx.out.extend_from_slice(if last { &template.last_wire } else { &template.wire });
            cx.count.tally.requests += 1;
            (*left, self.said_last) = (*left - 1, last);
            self.asked.push_back(InFlight { due, sent: cx.now, ..InFlight::default() });
        }
    }

    #[inline]
    pub(super) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        input: &[u8],
        tls: TlsName<'_>,
    ) -> Result<usize, Broken> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let received = self.client.receive_repeated(&LIMITS, rest, &mut cx.last_head).map_err(broken)?;
            at += received.consumed;
            match received.event {
                ClientEvent::More => return Ok(at),
                ClientEvent::Interim => cx.count.tally.bytes_head += received.consumed as u64,
                ClientEvent::Response(content) => {
                    cx.count.tally.bytes_head += received.consumed as u64;
                    self.begin(cx, &rest[..received.consumed], tls);
                    match content {
                        ResponseContent::None | ResponseContent::Tunnel => self.end(cx),
                        _ => {}
                    }
                }
                ClientEvent::Content(range) => {
                    if let Some(request) = self.asked.front_mut() {
                        request.content(cx, &rest[range]);
                    }
                }
                ClientEvent::End => self.end(cx),
            }
        }
    }

    fn begin(&mut self, cx: &mut Cx<'_>, head: &[u8], tls: TlsName<'_>) {
        let Some(request) = self.asked.front_mut() else { return };
        request.head(cx, cx.last_head.head().status());
        if cx.count.tally.sample.is_none() {
            request.is_sample = true;
            // A head begins with its version (RFC 9112 §4), which need not be the request's.
            let version = String::from_utf8_lossy(&head[..head.len().min("HTTP/1.1".len())]);
            cx.count.keep_sample(&version, tls(), cx.last_head.head());
        }
    }

    #[inline]
    fn end(&mut self, cx: &mut Cx<'_>) {
        if let Some(mut request) = self.asked.pop_front() {
            request.end(cx);
        }
    }

    /// RFC 9112 §8: without a length the end of the connection is the end of the content.
    pub(super) fn eof(&mut self, cx: &mut Cx<'_>) -> Option<Broken> {
        let begun = self.has_begun();
        match self.client.receive_eof() {
            Ok(event) => {
                if event == ClientEvent::End {
                    self.end(cx);
                }
                // Requests after a response with `close` are not answered, and not lost either.
                cx.pace.put_back(self.unanswered());
                self.asked.clear();
                None
            }
            Err(_) if begun => Some(Broken { failure: Failure::Short, why: why::CLOSED_SHORT.into() }),
            Err(_) => Some(Broken { failure: Failure::Reset, why: why::CLOSED_UNANSWERED.into() }),
        }
    }

    pub(super) fn unanswered(&self) -> u64 {
        self.asked.len() as u64
    }

    pub(super) fn forget(&mut self) {
        self.asked.clear();
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.asked.front().map(|request| request.sent)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.asked.front().is_some_and(|request| request.first != 0)
    }

    #[inline]
    pub(super) fn has_room(&self, cx: &Cx<'_>) -> bool {
        self.asked.len() < cx.job.pipeline && self.client.can_send()
    }

    /// Whether the last request was answered, or the server accepts no more.
    pub(super) fn is_done(&self, left: u64) -> bool {
        if self.asked.is_empty() {
            return left == 0 || !self.client.can_send();
        }
        let is_full = self.client.outstanding() >= 64;
        !self.has_begun() && !self.said_last && !is_full && !self.client.can_send()
    }
}

/// `len` bytes of the expected content from `start` on, which is beyond every memory of 32 bits for long responses.
fn part(body: &[u8], start: u64, len: usize) -> Option<&[u8]> {
    body.get(usize::try_from(start).ok()?..)?.get(..len)
}

#[cold]
fn broken(fault: Fault) -> Broken {
    Broken { failure: Failure::Protocol, why: format!("malformed response: {fault}").into() }
}

impl InFlight {
    /// The response begins.
    #[inline]
    pub(super) fn head(&mut self, cx: &Cx<'_>, status: Status) {
        self.first = cx.now;
        self.status = status.code();
        if !cx.job.expect.allows(self.status) {
            self.wrong = Wrong::Status;
        }
    }

    /// A piece of its content.
    #[inline]
    pub(super) fn content(&mut self, cx: &Cx<'_>, bytes: &[u8]) {
        let start = self.content;
        self.content += bytes.len() as u64;
        if let Some(body) = &cx.job.expect.body
            && self.wrong == Wrong::No
            && part(body, start, bytes.len()) != Some(bytes)
        {
            self.wrong = Wrong::Content;
        }
    }

    /// It is complete.
    #[inline]
    pub(super) fn end(&mut self, cx: &mut Cx<'_>) {
        let expect = &cx.job.expect;
        let length = expect.body.as_ref().map(|body| body.len() as u64).or(expect.length);
        if self.wrong == Wrong::No && length.is_some_and(|length| length != self.content) {
            self.wrong = Wrong::Length;
        }
        cx.pace.done(1);
        cx.count.answered(self, cx.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_an_expected_content_stands_beyond_its_end() {
        for (start, len, want) in [
            (0, 3, Some(&b"abc"[..])),
            (1, 2, Some(b"bc")),
            (3, 0, Some(b"")),
            (1, 3, None),
            (4, 0, None),
            (1 << 32, 1, None),
            ((1 << 32) + 1, 2, None),
            (u64::MAX, 1, None),
        ] {
            assert_eq!(part(b"abc", start, len), want, "{len} from {start}");
        }
        assert_eq!(part(b"abc", 1, usize::MAX), None);
    }
}
