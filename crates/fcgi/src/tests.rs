//! Requests and answers of a whole engine.

use crate::testing::{asking, notes, record, records};
use crate::{Client, Event, Limits, Records, RequestContent, RequestOptions, ResponseContent};
use hayami_http::{FieldSection, ResponseHead, Status};
use proptest::prelude::*;

const SMALL: Limits = Limits { head: 24, fields: 3, content: 8, overhead: 400 };

/// The notes about a response, however it is split.
fn answered(limits: &Limits, head_only: bool, wire: &[u8]) -> String {
    let whole = notes(&mut asking(head_only), limits, &[wire]);
    let bytes: Vec<_> = wire.chunks(1).collect();
    assert_eq!(notes(&mut asking(head_only), limits, &bytes), whole, "{} by byte", wire.escape_ascii());
    whole
}

#[test]
fn answers_are_understood_whole_and_byte_by_byte() {
    let cases: &[(&[&str], &str)] = &[
        (&["oa: b\n\nhello", "o", "x0"], "200[?]<hello>."),
        (&["oa: b\r\n\r\nhello", "x0"], "200[?]<hello>."),
        (&["oStatus: 404 No\n", "oa: b\n", "o\nhel", "olo", "x0"], "404[?]<hello>."),
        (&["o", "x0"], "!EndsBeforeHead"),
        (&["oa: b\n\n", "x0"], "200[?]."),
        (&["v", "eoops", "oa: b\n\n", "v", "epart", "eial", "ox", "x0"], "{oops}200[?]{partial}<x>."),
        (&["oContent-Length: 2\n\nab", "x0"], "200[2]<ab>."),
        (&["oContent-Length: 2\n\na", "x0"], "200[2]<a>!ShorterThanAnnounced"),
        (&["oContent-Length: 2\n\na", "obc", "x0"], "200[2]<ab>!LongerThanAnnounced"),
        (&["oContent-Length: 0\n\n", "x0"], "200[-]"),
        (&["oContent-Length: 0\n\n", "oa"], "!LongerThanAnnounced"),
        (&["oStatus: 304\n\n", "o", "x0"], "304[-]"),
        (&["oStatus: 204\n\n", "ojunk", "x0"], "204[-]"),
        (&["oa: b\n\nhello"], "200[?]<hello>?"),
        (&["oa: b\n"], "?"),
        (&["oa: b\n\n", "o", "ox"], "200[?]!OutputAfterEnd"),
        (&["oa: b\n\n", "x1"], "200[?]!CannotMultiplex"),
        (&["x2"], "!Overloaded"),
        (&["x3"], "!UnknownRole"),
        (&["x4"], "!ProtocolStatus"),
        (&["oa: b\n\n", "x0", "x0"], "200[?].!Unsolicited"),
        (&["onothing\n\n"], "!MissingColon"),
    ];
    for (words, want) in cases {
        assert_eq!(answered(&Limits::default(), false, &records(words)), *want, "{words:?}");
    }
}

#[test]
fn what_is_no_answer_of_ours_is_refused() {
    let other_id = [&record(6, b"a: b\n\n", 0)[..2], &[0, 2], &record(6, b"a: b\n\n", 0)[4..]].concat();
    let cases: &[(&[u8], &str)] = &[
        (b"HTTP/1.1 200 OK\r\n\r\n", "!Version"),
        (b"\x02", "!Version"),
        (&other_id, "!RequestId"),
        (&record(1, b"", 0), "!UnexpectedRecord"),
        (&record(5, b"x", 0), "!UnexpectedRecord"),
        (&record(77, b"x", 0), "!UnexpectedRecord"),
        (&record(3, b"1234567", 1), "!EndSize"),
    ];
    for (wire, want) in cases {
        assert_eq!(answered(&Limits::default(), false, wire), *want, "{}", wire.escape_ascii());
    }
    assert_eq!(notes(&mut Client::new(), &SMALL, &[&records(&["o"])]), "!Unsolicited");
}

#[test]
fn a_response_to_head_is_there_when_the_request_is_over_or_content_comes() {
    let cases: &[(&[&str], &str, bool)] = &[
        (&["oContent-Length: 9\n\n"], "?", false),
        (&["oContent-Length: 9\n\n", "eoops", "x0"], "{oops}200[-]", true),
        (&["oContent-Length: 9\n\n", "o", "x0"], "200[-]", true),
        (&["oContent-Length: 9\n\nabc", "x0"], "200[-]", false),
    ];
    for (words, want, idle) in cases {
        let mut client = asking(true);
        assert_eq!(notes(&mut client, &Limits::default(), &[&records(words)]), *want, "{words:?}");
        assert_eq!(client.is_idle(), *idle, "{words:?}");
        assert_eq!(answered(&Limits::default(), true, &records(words)), *want, "{words:?}");
    }
}

#[test]
fn limits_hold_for_heads_content_and_all_that_is_neither() {
    let flood: Vec<_> = (0..60).map(|_| "v").collect();
    let errors: Vec<_> = (0..30).map(|_| "eabc").collect();
    let empty: Vec<_> = (0..60).map(|_| "o").collect();
    let cases: &[(&[&str], &str)] = &[
        (&["oa: 34567890123456789012", "o\n\n"], "!HeadTooLarge"),
        (&["oa: 345678901234567890\n\nxy", "x0"], "200[?]<xy>."),
        (&["oa: 3456789012345678901\n\n"], "200[?]?"),
        (&["oa: 34567890123456789012\n\n"], "!HeadTooLarge"),
        (&["oa: b\na: b\na: b\na: b\n\n"], "!TooManyFields"),
        (&["oContent-Length: 9\n\n"], "!ContentTooLarge"),
        (&["oa: b\n\n12345678", "x0"], "200[?]<12345678>."),
        (&["oa: b\n\n12345678", "o9"], "200[?]<12345678>!ContentTooLarge"),
        (&flood, "!TooMuchOverhead"),
        (&empty, "!TooMuchOverhead"),
    ];
    for (words, want) in cases {
        assert_eq!(answered(&SMALL, false, &records(words)), *want, "{words:?}");
    }
    assert!(answered(&SMALL, false, &records(&errors)).ends_with("}!TooMuchOverhead"));
}

#[test]
fn the_end_of_the_connection_ends_what_is_complete_and_nothing_else() {
    use crate::Fault::ClosedEarly;
    let cases: &[(&[&str], Result<Event, crate::Fault>)] = &[
        (&[], Err(ClosedEarly)),
        (&["oa: b\n"], Err(ClosedEarly)),
        (&["oa: b\n\nx"], Err(ClosedEarly)),
        (&["oa: b\n\nx", "o"], Ok(Event::End)),
        (&["oContent-Length: 1\n\nx"], Ok(Event::End)),
        (&["oContent-Length: 2\n\nx", "o"], Err(ClosedEarly)),
        (&["oa: b\n\nx", "x0"], Ok(Event::More)),
    ];
    for (words, want) in cases {
        let mut client = asking(false);
        notes(&mut client, &Limits::default(), &[&records(words)]);
        assert_eq!(client.receive_eof(), *want, "{words:?}");
        assert!(!client.can_send());
    }
}

/// The records that were written: their types and content.
fn written(out: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut records = Records::of(out);
    let found = records.by_ref().map(|(kind, range)| (kind, out[range].to_vec())).collect();
    assert_eq!(records.read(), out.len());
    found
}

#[test]
fn a_request_begins_tells_its_parameters_and_brings_its_content() {
    let begin = |keep| (1, vec![0, 1, keep, 0, 0, 0, 0, 0]);
    let params = [(4, b"\x01\x02Abc".to_vec()), (4, vec![])];
    let stdin = |content: &[u8]| (5, content.to_vec());
    let mut fields = FieldSection::default();
    fields.append(b"A", b"bc");
    let cases: [(RequestOptions, &[&[u8]], Vec<_>); 4] = [
        (RequestOptions::default(), &[], vec![stdin(b"")]),
        (
            RequestOptions { content: RequestContent::Length(0), ..RequestOptions::default() },
            &[],
            vec![stdin(b"")],
        ),
        (
            RequestOptions { content: RequestContent::Length(3), keep: true, ..RequestOptions::default() },
            &[b"ab", b"", b"cd"],
            vec![stdin(b"ab"), stdin(b"c"), stdin(b"")],
        ),
        (
            RequestOptions { content: RequestContent::Unknown, ..RequestOptions::default() },
            &[b"ab", b"c"],
            vec![stdin(b"ab"), stdin(b"c"), stdin(b"")],
        ),
    ];
    for (options, content, want) in cases {
        let (mut client, mut out) = (Client::new(), Vec::new());
        client.send_head(&fields, options, &mut out).unwrap();
        assert_eq!(client.send_head(&fields, options, &mut out), Err(crate::OutOfTurn));
        content.iter().for_each(|bytes| client.send_content(bytes, &mut out));
        client.send_end(&mut out).unwrap();
        client.send_end(&mut out).unwrap();
        let all = [vec![begin(options.keep.into())], params.to_vec(), want].concat();
        assert_eq!(written(&out), all, "{options:?}");
    }
}

#[test]
fn content_that_is_missing_ends_the_connection() {
    let (mut client, mut out) = (Client::new(), Vec::new());
    let options =
        RequestOptions { content: RequestContent::Length(3), keep: true, ..RequestOptions::default() };
    client.send_head(&FieldSection::default(), options, &mut out).unwrap();
    client.send_content(b"a", &mut out);
    assert_eq!(client.send_end(&mut out), Err(crate::CutShort { missing: 2 }));
    assert_eq!(notes(&mut client, &SMALL, &[&records(&["oa: b\n\n", "x0"])]), "200[?].");
    assert!(!client.is_idle() && !client.persists());
}

#[test]
fn a_connection_serves_another_request_only_if_all_of_the_last_one_is_over() {
    let mut client = asking(false);
    let answer = records(&["oa: b\n\nx", "o", "x0"]);
    assert_eq!(notes(&mut client, &SMALL, &[&answer]), "200[?]<x>.");
    assert!(client.is_idle());
    assert_eq!(client.app_status(), 0x102);
    client.send_head(&FieldSection::default(), RequestOptions::default(), &mut Vec::new()).unwrap();
    assert_eq!(notes(&mut client, &SMALL, &[&answer]), "200[?]<x>.");
    assert!(!client.is_idle(), "the second request did not ask to keep the connection");

    // A response before the request is complete.
    let mut client = Client::new();
    let options =
        RequestOptions { content: RequestContent::Unknown, keep: true, ..RequestOptions::default() };
    client.send_head(&FieldSection::default(), options, &mut Vec::new()).unwrap();
    assert_eq!(notes(&mut client, &SMALL, &[&answer]), "200[?]<x>.");
    assert!(!client.is_idle());
    client.send_end(&mut Vec::new()).unwrap();
    assert!(client.is_idle());
}

#[test]
fn a_request_that_is_under_way_can_be_aborted_once_it_was_made() {
    let (mut client, mut out) = (Client::new(), Vec::new());
    client.send_abort(&mut out);
    assert!(out.is_empty());
    let mut client = asking(false);
    client.send_abort(&mut out);
    assert_eq!(written(&out), [(2, vec![])]);
    assert!(!client.is_idle() && !client.persists());
}

proptest! {
    #[test]
    fn an_answer_is_the_same_however_its_records_and_reads_are_cut(
        content in proptest::collection::vec(any::<u8>(), 1..300),
        cuts in proptest::collection::vec(1_usize..40, 1..20),
        reads in 1_usize..50,
    ) {
        let whole = [&b"Status: 201\r\nx-a: b\r\n\r\n"[..], &content].concat();
        let (mut wire, mut rest, mut cut) = (Vec::new(), &whole[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(*cut.next().unwrap()));
            wire.extend(record(6, piece, (piece.len() % 7) as u8));
            wire.extend(record(7, b"words", 0));
            rest = after;
        }
        wire.extend(records(&["o", "x0"]));
        let (mut client, mut head, mut input) = (asking(false), ResponseHead::new(Status::OK), Vec::new());
        let (mut came, mut ended) = (Vec::new(), false);
        for piece in wire.chunks(reads) {
            input.extend_from_slice(piece);
            loop {
                let received = client.receive(&Limits::default(), &input, &mut head).unwrap();
                match &received.event {
                    Event::Content(range) => came.extend_from_slice(&input[range.clone()]),
                    Event::Response(found) => prop_assert_eq!(*found, ResponseContent::Unknown),
                    Event::End => ended = true,
                    Event::Errors(_) | Event::More => {}
                }
                input.drain(..received.consumed);
                if received.event == Event::More {
                    break;
                }
            }
        }
        prop_assert!(ended && client.is_idle());
        prop_assert_eq!(head.status().code(), 201);
        prop_assert_eq!(head.get_named(b"x-a"), Some(&b"b"[..]));
        prop_assert_eq!(came, content);
    }

    #[test]
    fn no_bytes_make_the_engine_panic_or_loop(
        wire in proptest::collection::vec(prop_oneof![0_u8..8, any::<u8>()], 0..200),
        reads in 1_usize..20,
    ) {
        let pieces: Vec<_> = wire.chunks(reads).collect();
        notes(&mut asking(false), &SMALL, &pieces);
    }
}
