//! The target of the client engine: responses of any kind.

use crate::Decisions;
use hayami_h1::{Client, ClientEvent, Fault, Limits, RequestContent, ResponseContent};
use hayami_http::{FieldSection, ResponseHead, Status};

/// A client never panics or loops; it takes no more final responses than it has sent requests, and finds
/// the same whole, by byte and in any other split.
pub fn client_engine(bytes: &[u8]) {
    let (mut decisions, wire) = Decisions::and_rest(bytes);
    let limits = if decisions.next() % 2 == 0 { crate::SMALL } else { Limits::default() };
    let methods: Vec<u8> = (0..decisions.next() % 4).map(|_| decisions.next()).collect();
    let whole = responses(&limits, &methods, &[wire]);
    let pieces: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(responses(&limits, &methods, &pieces), whole);
    let pieces: Vec<&[u8]> = wire.chunks(usize::from(decisions.next() % 16) + 2).collect();
    assert_eq!(responses(&limits, &methods, &pieces), whole);
}

/// What a client finds.
#[derive(Debug, PartialEq, Default)]
struct Found {
    /// Status, content and number of fields and trailers of each response, interim ones too.
    responses: Vec<(Status, Vec<u8>, usize, usize)>,
    complete: usize,
    fault: Option<Fault>,
    outstanding: usize,
}

fn responses(limits: &Limits, methods: &[u8], pieces: &[&[u8]]) -> Found {
    let (mut client, mut found) = (Client::new(), Found::default());
    let mut finals = 0;
    for method in methods {
        let method = [&b"GET"[..], b"HEAD", b"CONNECT", b"POST"][usize::from(method % 4)];
        let none = FieldSection::default();
        let sent = client.send_head(method, b"a:1", &none, RequestContent::None, &mut Vec::new());
        assert!(sent.is_ok());
    }
    let mut input = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        if let Err(fault) = drain(limits, &mut client, &mut input, &mut found, &mut finals) {
            forget_content_of_unknown_length(&mut found, fault);
            return found;
        }
    }
    assert!(finals <= methods.len());
    found.outstanding = client.outstanding();
    found.fault = client.receive_eof().err();
    assert!(!client.can_send());
    found
}

/// Content up to a fault may or may not have been given before it, as the bytes were split.
fn forget_content_of_unknown_length(found: &mut Found, fault: Fault) {
    found.fault = Some(fault);
    if let (Fault::ContentTooLarge, Some(last)) = (fault, found.responses.last_mut()) {
        last.1.clear();
    }
}

fn drain(
    limits: &Limits,
    client: &mut Client,
    input: &mut Vec<u8>,
    found: &mut Found,
    finals: &mut usize,
) -> Result<(), Fault> {
    let mut head = ResponseHead::new(Status::OK);
    loop {
        let received = client.receive(limits, input, &mut head)?;
        assert!(received.consumed <= input.len());
        match &received.event {
            ClientEvent::More => {}
            ClientEvent::Interim => found.begin(&head),
            ClientEvent::Response(content) => {
                *finals += 1;
                found.begin(&head);
                found.complete += usize::from(*content == ResponseContent::None);
            }
            ClientEvent::Content(range) => {
                let response = found.responses.last_mut().expect("content comes after a head");
                response.1.extend_from_slice(&input[range.clone()]);
                assert!(!range.is_empty() && range.end <= received.consumed);
            }
            ClientEvent::End => {
                found.complete += 1;
                let response = found.responses.last_mut().expect("an end comes after a head");
                response.3 = client.take_trailers().map_or(0, |trailers| trailers.len());
            }
        }
        input.drain(..received.consumed);
        if received.event == ClientEvent::More {
            return Ok(());
        }
    }
}

impl Found {
    fn begin(&mut self, head: &ResponseHead) {
        self.responses.push((head.status(), Vec::new(), head.iter().count(), 0));
    }
}
