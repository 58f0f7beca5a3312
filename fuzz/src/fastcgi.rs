//! The target of the FastCGI engine: answers of any kind.

use crate::Decisions;
use hayami_fcgi::{Client, Event, Fault, Limits, RequestOptions};
use hayami_http::{FieldSection, ResponseHead, Status};

/// A client never panics or loops, returns no more content than was announced and no head that could split a
/// response, and finds the same for the whole input, byte by byte and in any other split.
pub fn fastcgi(bytes: &[u8]) {
    let (mut decisions, wire) = Decisions::and_rest(bytes);
    let small = Limits { head: 40, fields: 4, content: 40, overhead: 300 };
    let limits = if decisions.next() % 2 == 0 { small } else { Limits::default() };
    let head_only = decisions.next() % 2 == 0;
    let whole = answer(&limits, head_only, &[wire]);
    let pieces: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(answer(&limits, head_only, &pieces), whole);
    let pieces: Vec<&[u8]> = wire.chunks(usize::from(decisions.next() % 16) + 2).collect();
    assert_eq!(answer(&limits, head_only, &pieces), whole);
}

/// What a client finds.
#[derive(Debug, PartialEq, Default)]
struct Found {
    responses: Vec<(Status, usize)>,
    content: Vec<u8>,
    errors: Vec<u8>,
    ended: bool,
    fault: Option<Fault>,
}

fn answer(limits: &Limits, head_only: bool, pieces: &[&[u8]]) -> Found {
    let (mut client, mut found) = (Client::new(), Found::default());
    let options = RequestOptions { head_only, keep: true, ..RequestOptions::default() };
    assert!(client.send_head(&FieldSection::default(), options, &mut Vec::new()).is_ok());
    let (mut input, mut head) = (Vec::new(), ResponseHead::new(Status::OK));
    for piece in pieces {
        input.extend_from_slice(piece);
        if let Err(fault) = drain(limits, &mut client, &mut input, &mut head, &mut found) {
            found.fault = Some(fault);
            return found;
        }
    }
    found.fault = client.receive_eof().err();
    assert!(!client.can_send());
    found
}

fn drain(
    limits: &Limits,
    client: &mut Client,
    input: &mut Vec<u8>,
    head: &mut ResponseHead,
    found: &mut Found,
) -> Result<(), Fault> {
    loop {
        let received = client.receive(limits, input, head)?;
        assert!(received.consumed <= input.len());
        match &received.event {
            Event::More => {}
            Event::Response(_) => found.begin(head),
            Event::Content(range) => {
                assert!(!range.is_empty() && range.end == received.consumed && !found.ended);
                found.content.extend_from_slice(&input[range.clone()]);
                assert!(found.content.len() as u64 <= limits.content);
            }
            Event::Errors(range) => found.errors.extend_from_slice(&input[range.clone()]),
            Event::End => found.ended = true,
        }
        input.drain(..received.consumed);
        if received.event == Event::More {
            return Ok(());
        }
    }
}

impl Found {
    fn begin(&mut self, head: &ResponseHead) {
        assert!(self.responses.is_empty() && !head.status().is_informational());
        for (name, value) in head.iter() {
            assert!(hayami_http::field::is_token(name));
            assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
        }
        self.responses.push((head.status(), head.iter().count()));
    }
}
