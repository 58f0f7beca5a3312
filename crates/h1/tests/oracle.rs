//! httparse as an oracle: it accepts what hayami accepts, and finds the same names and values.

use hayami_h1::{Client, ClientEvent, Event, Limits, RequestContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use proptest::prelude::*;

/// Bytes that look like heads more often than random ones.
fn like_a_head(start: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-zA-Z-]{1,9}: ?[ -~]{0,20}\r\n",
        1 => Just("Host: a\r\n".to_owned()),
        1 => Just("\n".to_owned()),
        1 => "[ -~\t]{0,8}(\r\n|\n|\r)",
        1 => "\\PC{0,4}\r\n",
    ];
    (Just(start), prop::collection::vec(piece, 0..6), any::<bool>()).prop_map(|(start, pieces, host)| {
        let host = if host { "hOSt: b\r\n" } else { "" };
        format!("{start}{}{host}\r\n", pieces.concat()).into_bytes()
    })
}

fn lines(section: &FieldSection) -> Vec<(&[u8], &[u8])> {
    section.iter().collect()
}

fn theirs<'a>(fields: &'a [httparse::Header<'_>]) -> Vec<(&'a [u8], &'a [u8])> {
    fields.iter().map(|f| (f.name.as_bytes(), f.value)).collect()
}

proptest! {
    #[test]
    fn requests_we_take_are_those_httparse_sees(wire in like_a_head("GET /a?b HTTP/1.1\r\n")) {
        let mut head = RequestHead::default();
        let Ok(received) = Server::new().receive(&Limits::default(), &wire, &mut head) else { return Ok(()) };
        prop_assume!(matches!(received.event, Event::Request(_)));
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Request::new(&mut fields);
        prop_assert_eq!(parsed.parse(&wire), Ok(httparse::Status::Complete(received.consumed)));
        prop_assert_eq!(parsed.path.map(str::as_bytes), Some(head.target()));
        prop_assert_eq!(theirs(parsed.headers), lines(head.fields()));
    }

    #[test]
    fn responses_we_take_are_those_httparse_sees(wire in like_a_head("HTTP/1.1 404 Not Found\r\n")) {
        let (mut client, mut head) = (Client::new(), ResponseHead::new(Status::OK));
        let none = FieldSection::default();
        client.send_head(b"HEAD", b"/", &none, RequestContent::None, &mut Vec::new()).expect("one of few requests");
        let Ok(received) = client.receive(&Limits::default(), &wire, &mut head) else { return Ok(()) };
        prop_assume!(matches!(received.event, ClientEvent::Response(_)));
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Response::new(&mut fields);
        prop_assert_eq!(parsed.parse(&wire), Ok(httparse::Status::Complete(received.consumed)));
        prop_assert_eq!(parsed.code, Some(head.status().code()));
        prop_assert_eq!(theirs(parsed.headers), head.iter().collect::<Vec<_>>());
    }
}
