//! Arbitrary bytes: nothing panics, nothing loops, and splitting makes no difference.

use hayami_h1::{Client, ClientEvent, Event, Limits, RequestContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use proptest::prelude::*;

/// Pieces of messages in any order: they reach further than random bytes.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let parts: Vec<&'static [u8]> = vec![
        b"GET / HTTP/1.1\r\n",
        b"POST /a?b HTTP/1.1\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 C\r\n",
        b"Host: a\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Expect: 100-continue\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\r",
        b"\n\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"0\r\na: b\r\n\r\n",
        b"a",
        b": ",
        b" ",
        b"hello",
        b"5;x=y\r\n",
        b"ffffffffffffffff\r\n",
        b"\0",
        b"\xff",
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    let part = prop_oneof![
        9 => prop::sample::select(parts).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

/// Limits that bytes of this size can reach.
fn limits() -> impl Strategy<Value = Limits> {
    let small = Limits {
        request_line: 20,
        head: 70,
        fields: 2,
        content: 12,
        chunk_line: 6,
        chunk_extensions: 4,
        trailer: 8,
        interim: 1,
    };
    prop::sample::select(vec![Limits::default(), small])
}

/// Everything a server finds, content joined.
fn requests(limits: &Limits, pieces: &[&[u8]]) -> Vec<String> {
    let (mut server, mut head) = (Server::new(), RequestHead::default());
    let (mut input, mut notes, mut content) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        for step in 0.. {
            assert!(step < 1000, "receive gets nowhere");
            let received = match server.receive(limits, &input, &mut head) {
                Ok(received) => received,
                Err(fault) => {
                    notes.push(format!("{content:?} {fault:?}"));
                    return notes;
                }
            };
            match &received.event {
                Event::More => {}
                Event::Content(range) => content.extend_from_slice(&input[range.clone()]),
                event => notes
                    .push(format!("{content:?} {event:?} {:?}", head.fields().iter().collect::<Vec<_>>())),
            }
            if matches!(received.event, Event::End | Event::Request(RequestContent::None)) {
                server.send_head(&ResponseHead::new(Status::OK), Some(0), b"", &mut Vec::new());
                content.clear();
            }
            input.drain(..received.consumed);
            if received.event == Event::More {
                break;
            }
        }
    }
    notes.push(format!("{content:?}"));
    notes
}

/// Everything a client finds that has sent three requests.
fn responses(limits: &Limits, pieces: &[&[u8]]) -> Vec<String> {
    let (mut client, mut head) = (Client::new(), ResponseHead::new(Status::OK));
    for method in [&b"GET"[..], b"HEAD", b"POST"] {
        let none = FieldSection::default();
        client
            .send_head(method, b"/", &none, RequestContent::None, &mut Vec::new())
            .expect("one of few requests");
    }
    let (mut input, mut notes, mut content) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        for step in 0.. {
            assert!(step < 1000, "receive gets nowhere");
            let received = match client.receive(limits, &input, &mut head) {
                Ok(received) => received,
                // How much content comes before the fault depends on the pieces if only the end limits it.
                Err(fault) => {
                    notes.push(format!("{fault:?}"));
                    return notes;
                }
            };
            match &received.event {
                ClientEvent::More => {}
                ClientEvent::Content(range) => content.extend_from_slice(&input[range.clone()]),
                event => notes.push(format!("{content:?} {event:?} {:?}", head.iter().collect::<Vec<_>>())),
            }
            input.drain(..received.consumed);
            if received.event == ClientEvent::More {
                break;
            }
        }
    }
    notes.push(format!("{content:?} {:?}", client.receive_eof()));
    notes
}

fn split<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn a_server_finds_the_same_in_every_split(
        wire in wire(), limits in limits(), cuts in prop::collection::vec(any::<usize>(), 0..9),
    ) {
        let whole = requests(&limits, &[&wire]);
        prop_assert_eq!(&requests(&limits, &split(&wire, &cuts)), &whole);
        prop_assert_eq!(&requests(&limits, &wire.chunks(1).collect::<Vec<_>>()), &whole);
    }

    #[test]
    fn a_client_finds_the_same_in_every_split(
        wire in wire(), limits in limits(), cuts in prop::collection::vec(any::<usize>(), 0..9),
    ) {
        let whole = responses(&limits, &[&wire]);
        prop_assert_eq!(&responses(&limits, &split(&wire, &cuts)), &whole);
        prop_assert_eq!(&responses(&limits, &wire.chunks(1).collect::<Vec<_>>()), &whole);
    }
}
