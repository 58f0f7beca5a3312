//! For tests: makes records, feeds bytes to an engine in any pieces and records its output.

use crate::{Client, Event, Fault, Limits, RequestOptions, ResponseContent};
use hayami_http::{FieldSection, ResponseHead, Status};

/// A record.
pub(crate) fn record(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut bytes = vec![1, kind, 0, 1, high, low, padding, 0];
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len() + usize::from(padding), b'!');
    bytes
}

/// Records in a few words: `o` STDOUT, `e` STDERR, `x` END_REQUEST with the protocol status, `v` a management
/// record, each with what follows the letter as its content.
pub(crate) fn records(words: &[&str]) -> Vec<u8> {
    let record = |word: &&str| match word.split_at(1) {
        ("o", content) => record(6, content.as_bytes(), (content.len() % 5) as u8),
        ("e", content) => record(7, content.as_bytes(), 3),
        ("x", status) => record(3, &[0, 0, 1, 2, status.parse().unwrap_or(0), 0, 0, 0], 0),
        _ => [&[1, 10, 0, 0, 0, 1, 1, 0][..], b"!!"].concat(),
    };
    words.iter().flat_map(record).collect()
}

/// A client that has sent a request.
pub(crate) fn asking(head_only: bool) -> Client {
    let mut client = Client::new();
    let options = RequestOptions { head_only, keep: true, ..RequestOptions::default() };
    client.send_head(&FieldSection::default(), options, &mut Vec::new()).expect("its first request");
    client
}

/// The client's events: `200[`, the length, `]`, `<content>`, `{errors}`, `.` for the end, `?` if it waits
/// for more input, the fault.
pub(crate) fn notes(client: &mut Client, limits: &Limits, pieces: &[&[u8]]) -> String {
    let (mut notes, mut input) = (String::new(), Vec::new());
    let mut head = ResponseHead::new(Status::OK);
    for piece in pieces {
        input.extend_from_slice(piece);
        if let Err(fault) = drain(client, limits, &mut input, &mut head, &mut notes) {
            return format!("{notes}!{fault:?}");
        }
    }
    if client.is_waiting() { notes + "?" } else { notes }
}

fn drain(
    client: &mut Client,
    limits: &Limits,
    input: &mut Vec<u8>,
    head: &mut ResponseHead,
    notes: &mut String,
) -> Result<(), Fault> {
    loop {
        let received = client.receive(limits, input, head)?;
        match &received.event {
            Event::More => {
                input.drain(..received.consumed);
                return Ok(());
            }
            Event::Response(content) => {
                notes.push_str(&format!("{}[{}]", head.status().code(), shown(*content)));
            }
            Event::Content(range) => note(notes, '<', '>', &input[range.clone()]),
            Event::Errors(range) => note(notes, '{', '}', &input[range.clone()]),
            Event::End => notes.push('.'),
        }
        input.drain(..received.consumed);
    }
}

fn shown(content: ResponseContent) -> String {
    match content {
        ResponseContent::None => "-".to_owned(),
        ResponseContent::Length(bytes) => bytes.to_string(),
        ResponseContent::Unknown => "?".to_owned(),
    }
}

/// Joins pieces of one kind: `<ab` and then `c>` are noted as `<abc>`.
fn note(notes: &mut String, open: char, close: char, bytes: &[u8]) {
    if notes.ends_with(close) {
        notes.pop();
    } else {
        notes.push(open);
    }
    notes.push_str(&String::from_utf8_lossy(bytes));
    notes.push(close);
}
