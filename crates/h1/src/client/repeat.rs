//! Repeated response heads: a server answers the same request with the same bytes until its `date` changes.
//! Clients that send thousands of requests a second compare the bytes instead of parsing them.

use super::outstanding::RequestKind;
use super::{Client, ClientEvent, ClientReceived, ResponseContent};
use crate::fault::Fault;
use crate::limits::Limits;
use crate::state::Reading;
use hayami_http::{ResponseHead, Status};

/// The last response head that was read, for [`Client::receive_repeated`]. Connections to the same server may
/// share one.
#[derive(Clone, Debug)]
pub struct LastHead {
    head: ResponseHead,
    /// Empty: no head can be repeated.
    bytes: Vec<u8>,
    kind: RequestKind,
    content: ResponseContent,
    persists: bool,
}

impl Default for LastHead {
    fn default() -> Self {
        let (kind, content) = (RequestKind::Other, ResponseContent::None);
        Self { head: ResponseHead::new(Status::OK), bytes: Vec::new(), kind, content, persists: false }
    }
}

impl LastHead {
    /// The head of the response that [`Client::receive_repeated`] reported last, interim or final.
    pub fn head(&self) -> &ResponseHead {
        &self.head
    }
}

impl Client {
    /// As [`receive`](Self::receive), with the head in `last`; all calls have the same `limits`.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    #[inline]
    pub fn receive_repeated(
        &mut self,
        limits: &Limits,
        input: &[u8],
        last: &mut LastHead,
    ) -> Result<ClientReceived, Fault> {
        if self.reading != Reading::Head || input.is_empty() {
            return self.receive(limits, input, &mut last.head);
        }
        let kind = self.outstanding.first();
        let same = !last.bytes.is_empty() && input.starts_with(&last.bytes);
        if same && kind == Some(last.kind) && self.progress.is_nothing() {
            self.begin_response(last.content, last.persists);
            let event = ClientEvent::Response(last.content);
            return Ok(ClientReceived { consumed: last.bytes.len(), event });
        }
        self.receive_and_remember(limits, input, kind, last)
    }

    fn receive_and_remember(
        &mut self,
        limits: &Limits,
        input: &[u8],
        kind: Option<RequestKind>,
        last: &mut LastHead,
    ) -> Result<ClientReceived, Fault> {
        let received = self.receive(limits, input, &mut last.head)?;
        match received.event {
            ClientEvent::Response(content) => {
                last.bytes.clear();
                last.bytes.extend_from_slice(&input[..received.consumed]);
                (last.content, last.persists) = (content, self.persists);
                last.kind = kind.unwrap_or(RequestKind::Other);
            }
            _ => last.bytes.clear(), // the head may have been overwritten
        }
        Ok(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that happens on a connection, as reported by `receive` or by `receive_repeated`.
    fn story(methods: &[&[u8]], pieces: &[&[u8]], mut last: Option<&mut LastHead>) -> String {
        let (mut client, mut head, limits) =
            (Client::new(), ResponseHead::new(Status::OK), Limits::default());
        methods.iter().for_each(|method| client.sent_ready_made(method, false).expect("in turn"));
        let (mut input, mut story) = (Vec::new(), String::new());
        for piece in pieces {
            input.extend_from_slice(piece);
            loop {
                let received = match &mut last {
                    None => client.receive(&limits, &input, &mut head),
                    Some(last) => {
                        let received = client.receive_repeated(&limits, &input, last);
                        head = last.head.clone();
                        received
                    }
                };
                let Ok(received) = received else { return format!("{story}{received:?}") };
                if received.event == ClientEvent::More && received.consumed == 0 {
                    break;
                }
                let fields: Vec<_> = head.iter().collect();
                story.push_str(&format!("{:?} {} {fields:?}; ", received.event, head.status().code()));
                input.drain(..received.consumed);
            }
        }
        format!("{story}{} {:?}", client.outstanding(), client.receive_eof())
    }

    #[test]
    fn a_repeated_head_means_what_it_meant_when_it_was_parsed() {
        let ok = "HTTP/1.1 200 OK\r\na: b\r\nContent-Length: 1\r\n\r\nx";
        let none = "HTTP/1.1 204 x\r\n\r\n";
        let close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
        let early = "HTTP/1.1 103 x\r\nlink: y\r\n\r\n";
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let cases = [
            ("GET GET GET GET", ok.repeat(4)),
            ("GET GET GET GET GET GET", [none, ok, ok, none, none, chunked].concat()),
            ("GET GET GET", [chunked, chunked, early, chunked].concat()),
            ("GET GET GET", [ok, early, ok, early, ok].concat()),
            ("GET GET GET", close.repeat(3)),
            ("GET HEAD GET", empty.repeat(4)),
        ];
        for (methods, wire) in cases {
            let methods: Vec<&[u8]> = methods.split(' ').map(str::as_bytes).collect();
            let methods = methods.as_slice();
            let bytes: Vec<&[u8]> = wire.as_bytes().chunks(1).collect();
            let mut last = LastHead::default();
            for pieces in [vec![wire.as_bytes()], bytes, vec![wire.as_bytes()]] {
                let want = story(methods, &pieces, None);
                assert_eq!(story(methods, &pieces, Some(&mut last)), want, "{wire:?}");
            }
        }
    }
}
