//! What a client makes of frames, fed whole and byte by byte.

mod support;

use hayami_h2::{Client, Config, ErrorCode, Fault, Request, RequestContent};
use hayami_http::FieldSection;
use support::*;

fn head(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, WHOLE | flags, stream, &block(fields))
}

/// Streams 1 and 3 are GETs, 5 is a HEAD.
fn told(frames: &[Vec<u8>]) -> Vec<String> {
    let wire = [settings(&[]), frames.concat()].concat();
    let whole = client(&Config::default(), 2, &wire, wire.len());
    assert_eq!(client(&Config::default(), 2, &wire, 1), whole);
    whole[1..].to_vec()
}

const OK: &[(&str, &str)] = &[(":status", "200")];

#[test]
fn responses_come_to_their_requests() {
    let cases: Vec<(Vec<Vec<u8>>, &[&str])> = vec![
        (
            vec![head(3, 0, OK), head(1, END, OK), frame(DATA, END, 3, b"hi")],
            &["> 3 response 200 Unknown", "> 1 response 200 None", "> 3 content 2 end"],
        ),
        (
            vec![head(1, 0, &[(":status", "103"), ("link", "l")]), head(1, END, &[(":status", "404")])],
            &["> 1 interim 103", "> 1 response 404 None"],
        ),
        (
            vec![
                head(1, 0, &[(":status", "200"), ("content-length", "2")]),
                frame(DATA, 0, 1, b"hi"),
                head(1, END, &[("digest", "d")]),
            ],
            &["> 1 response 200 Length(2)", "> 1 content 2", "> 1 end, 1 trailers"],
        ),
        (vec![head(5, END, &[(":status", "200"), ("content-length", "9")])], &["> 5 response 200 None"]),
        (vec![head(1, END, &[(":status", "304"), ("content-length", "9")])], &["> 1 response 304 None"]),
        (
            vec![head(5, 0, OK), frame(DATA, END, 5, b"")],
            &["> 5 response 200 Length(0)", "> 5 end, 0 trailers"],
        ),
        (vec![rst_stream(1, 7)], &["> 1 reset 7 None"]),
        (vec![frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])], &["> goes away 1 0"]),
    ];
    for (frames, want) in cases {
        assert_eq!(told(&frames), want);
    }
}

#[test]
fn responses_that_break_a_rule_reset_their_stream() {
    let cases: Vec<(Vec<Vec<u8>>, Fault)> = vec![
        (vec![frame(DATA, END, 1, b"hi")], Fault::MissingResponse),
        (vec![head(1, END, &[("x", "y")])], Fault::PseudoMissing),
        (vec![head(1, END, &[(":status", "100")])], Fault::InterimEnds),
        (vec![head(1, 0, OK), head(1, 0, OK)], Fault::PseudoInTrailers),
        (vec![head(5, 0, OK), frame(DATA, END, 5, b"x")], Fault::ContentLengthDiffers),
        (vec![head(1, END, &[(":status", "200"), ("content-length", "9")])], Fault::ContentLengthDiffers),
        (vec![head(1, 0, &[(":status", "102")]); 33], Fault::InterimFlood),
    ];
    for (frames, fault) in cases {
        let lines = told(&frames);
        let last = lines.last().expect("a line");
        assert!(last.ends_with(&format!("reset {} Some({fault:?})", fault.code().0)), "{lines:?}");
    }
}

#[test]
fn the_connection_ends_for_faults_that_concern_it() {
    let cases: Vec<(Vec<u8>, Fault)> = vec![
        (head(7, END, OK), Fault::StreamIdParity),
        (head(2, END, OK), Fault::StreamIdParity),
        (frame(PUSH_PROMISE, WHOLE, 1, &[0; 8]), Fault::PushPromise),
        (settings(&[(2, 1)]), Fault::SettingsEnablePush),
        (frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=1"), Fault::PriorityUpdateStream),
        (window_update(7, 1), Fault::IdleStream),
    ];
    for (frames, fault) in cases {
        let lines = told(&[frames]);
        assert!(failed_with(&lines, fault), "{fault:?}: {lines:?}");
    }
}

#[test]
fn what_comes_on_a_stream_that_was_closed_is_dropped() {
    let late = [head(1, END, OK), head(1, END, OK), frame(DATA, END, 1, b"late"), window_update(1, 9)];
    assert_eq!(told(&late), ["> 1 response 200 None"]);
}

#[test]
fn what_an_authority_says_no_host_field_repeats() {
    let fields = |authority: &[u8]| {
        let (config, mut section, mut out) = (Config::default(), FieldSection::default(), Vec::new());
        section.append(b"Host", b"a");
        section.append(b"connection", b"close");
        section.append(b"X-A", b"1");
        let mut client = Client::<()>::new(&config);
        let (method, path, content) = (&b"GET"[..], &b"/"[..], RequestContent::None);
        let request = Request { method, scheme: b"http", authority, path, protocol: None, content };
        client.send_request(&config, &request, &section, &mut out).expect("room");
        let mut names = Vec::new();
        let mut decoder = hayami_hpack::Decoder::new(4096);
        decoder.decode(&out[9..], 1000, &mut Names(&mut names)).expect("a field block");
        names
    };
    assert_eq!(fields(b"a"), [":method", ":scheme", ":authority", ":path", "x-a"]);
    assert_eq!(fields(b""), [":method", ":scheme", ":path", "host", "x-a"]);
}

struct Names<'a>(&'a mut Vec<String>);

impl hayami_hpack::Sink for Names<'_> {
    fn field(&mut self, field: hayami_hpack::Field<'_>) {
        self.0.push(String::from_utf8_lossy(field.name).into_owned());
    }
}

#[test]
fn a_client_asks_for_a_sign_of_life_and_knows_its_streams() {
    let (config, mut out) = (Config::default(), Vec::new());
    let mut client = Client::<()>::new(&config);
    assert_eq!(client.allowed_streams(), None, "the server has said nothing yet");
    let (method, path, content) = (&b"GET"[..], &b"/"[..], RequestContent::None);
    let request = Request { method, scheme: b"http", authority: b"a", path, protocol: None, content };
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(client.send_request(&config, &request, &FieldSection::default(), &mut out).expect("room"));
    }
    client.reset(keys[1], ErrorCode::CANCEL, &mut out);
    assert_eq!(client.keys().collect::<Vec<_>>(), [keys[0], keys[2]]);
    out.clear();
    client.ping(&mut out);
    assert_eq!(out[..9], [0, 0, 8, PING, 0, 0, 0, 0, 0]);
    let mut head = hayami_http::ResponseHead::new(hayami_http::Status::OK);
    let wire = settings(&[(3, 7)]);
    client.receive(&config, 0, &wire, &mut head, &mut out).expect("no fault");
    assert_eq!(client.allowed_streams(), Some(7));
}
