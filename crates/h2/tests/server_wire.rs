//! What a server makes of frames, fed whole and byte by byte.

mod support;

use hayami_h2::{Config, Fault};
use support::*;

/// Frames after the preface and settings, and what the server says and does.
type Case = (&'static str, Vec<Vec<u8>>, &'static [&'static str]);

fn check(cases: Vec<Case>, caller: Caller) {
    let config = Config { max_concurrent_streams: 4, max_header_list: 400, ..Config::default() };
    for (name, frames, want) in cases {
        let wire = [beginning(), frames.concat()].concat();
        for step in [wire.len(), 1] {
            let mut got = server(&config, &wire, step, caller);
            assert_eq!(got.remove(0), "< SETTINGS ack", "{name}");
            assert_eq!(got, want, "{name}, {step} bytes at a time");
        }
    }
}

#[test]
fn requests_are_answered() {
    let padded = [&[3][..], &block(GET), &[0; 3]].concat();
    let depending = [&[0, 0, 0, 3, 16][..], &block(GET)].concat();
    let (one, two) = (block(GET)[..7].to_vec(), block(GET)[7..].to_vec());
    check(
        vec![
            (
                "GET",
                vec![get(1)],
                &["> 1 request / None", "< 1 HEADERS :status=200 content-length=2", "< 1 DATA 2 end"],
            ),
            (
                "padding and a dependency",
                vec![
                    frame(HEADERS, END | WHOLE | PADDED, 1, &padded),
                    frame(HEADERS, END | WHOLE | WITH_PRIORITY, 5, &depending),
                ],
                &[
                    "> 1 request / None",
                    "< 1 HEADERS :status=200 content-length=2",
                    "< 1 DATA 2 end",
                    "> 5 request / None",
                    "< 5 HEADERS :status=200 content-length=2",
                    "< 5 DATA 2 end",
                ],
            ),
            (
                "CONTINUATION",
                vec![frame(HEADERS, END, 1, &one), frame(CONTINUATION, WHOLE, 1, &two)],
                &["> 1 request / None", "< 1 HEADERS :status=200 content-length=2", "< 1 DATA 2 end"],
            ),
            (
                "content and trailers",
                vec![
                    frame(HEADERS, WHOLE, 1, &with(POST, &[("content-length", "5")])),
                    frame(DATA, PADDED, 1, b"\x02abc\0\0"),
                    frame(DATA, 0, 1, b"de"),
                    frame(HEADERS, END | WHOLE, 1, &block(&[("digest", "x")])),
                ],
                &[
                    "> 1 request / Length(5)",
                    "> 1 content 3",
                    "> 1 content 2",
                    "> 1 end, 1 trailers",
                    "< 1 HEADERS :status=200 content-length=2",
                    "< 1 DATA 2 end",
                ],
            ),
            (
                "an empty last frame",
                vec![post(1), frame(DATA, 0, 1, b"abc"), frame(DATA, END, 1, b"")],
                &[
                    "> 1 request / Unknown",
                    "> 1 content 3",
                    "> 1 end, 0 trailers",
                    "< 1 HEADERS :status=200 content-length=2",
                    "< 1 DATA 2 end",
                ],
            ),
        ],
        Caller::Answers,
    );
}

#[test]
fn frames_of_the_connection_are_dealt_with() {
    check(
        vec![
            ("PING", vec![frame(PING, 0, 0, b"abcdefgh")], &["< PING 1 abcdefgh"]),
            ("PING ack", vec![frame(PING, ACK, 0, b"abcdefgh")], &[]),
            ("SETTINGS", vec![settings(&[(4, 1), (0x99, 7)])], &["< SETTINGS ack"]),
            ("GOAWAY", vec![frame(GOAWAY, 0, 0, &[0; 12])], &["> goes away"]),
            ("unknown", vec![frame(0x42, 0xff, 7, b"what")], &[]),
            ("PRIORITY", vec![frame(PRIORITY, 0, 9, b"\0\0\0\x01\x05")], &[]),
            ("PRIORITY_UPDATE", vec![frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=1")], &[]),
            ("WINDOW_UPDATE", vec![window_update(0, 5000)], &[]),
        ],
        Caller::Answers,
    );
}

#[test]
fn streams_are_reset_for_faults_of_their_own() {
    let large = "x".repeat(500);
    let large: &'static str = large.leak();
    check(
        vec![
            ("canceled", vec![post(1), rst_stream(1, 8)], &["> 1 request / Unknown", "> 1 reset 8 None"]),
            (
                "zero increment",
                vec![post(1), window_update(1, 0), frame(DATA, 0, 1, b"late"), window_update(1, 5)],
                &["> 1 request / Unknown", "< 1 RST_STREAM 1", "> 1 reset 1 Some(ZeroIncrement)"],
            ),
            (
                "window overflow",
                vec![post(1), window_update(1, 0x7fff_ffff)],
                &["> 1 request / Unknown", "< 1 RST_STREAM 3", "> 1 reset 3 Some(WindowOverflow)"],
            ),
            (
                "content after the end",
                vec![get(1), frame(DATA, 0, 1, b"x")],
                &["> 1 request / None", "< 1 RST_STREAM 5", "> 1 reset 5 Some(StreamClosed)"],
            ),
            (
                "more content than announced",
                vec![
                    frame(HEADERS, WHOLE, 1, &with(POST, &[("content-length", "1")])),
                    frame(DATA, 0, 1, b"xy"),
                ],
                &["> 1 request / Length(1)", "< 1 RST_STREAM 1", "> 1 reset 1 Some(ContentLengthDiffers)"],
            ),
            (
                "less content than announced",
                vec![
                    frame(HEADERS, WHOLE, 1, &with(POST, &[("content-length", "3")])),
                    frame(DATA, END, 1, b"xy"),
                ],
                &["> 1 request / Length(3)", "< 1 RST_STREAM 1", "> 1 reset 1 Some(ContentLengthDiffers)"],
            ),
            (
                "no content though announced",
                vec![frame(HEADERS, WHOLE | END, 1, &with(POST, &[("content-length", "3")]))],
                &["< 1 RST_STREAM 1"],
            ),
            (
                "trailers that don't end",
                vec![post(1), frame(HEADERS, WHOLE, 1, &block(&[("a", "b")]))],
                &["> 1 request / Unknown", "< 1 RST_STREAM 1", "> 1 reset 1 Some(TrailersWithoutEnd)"],
            ),
            (
                "pseudo-header field in trailers",
                vec![post(1), frame(HEADERS, WHOLE | END, 1, &block(&[(":path", "/")]))],
                &["> 1 request / Unknown", "< 1 RST_STREAM 1", "> 1 reset 1 Some(PseudoInTrailers)"],
            ),
            (
                "depends on itself",
                vec![frame(
                    HEADERS,
                    END | WHOLE | WITH_PRIORITY,
                    1,
                    &[&[0, 0, 0, 1, 16][..], &block(GET)].concat(),
                )],
                &["< 1 RST_STREAM 1"],
            ),
            (
                "malformed, and the next one is fine",
                vec![frame(HEADERS, END | WHOLE, 1, &with(GET, &[("X-A", "b")])), get(3)],
                &["< 1 RST_STREAM 1", "> 3 request / None"],
            ),
            (
                "malformed value",
                vec![frame(HEADERS, END | WHOLE, 1, &with(GET, &[("x-a", "b\r\nc: d")]))],
                &["< 1 RST_STREAM 1"],
            ),
            (
                "one stream too many",
                vec![get(1), get(3), get(5), get(7), get(9), rst_stream(1, 8), get(11)],
                &[
                    "> 1 request / None",
                    "> 3 request / None",
                    "> 5 request / None",
                    "> 7 request / None",
                    "< 9 RST_STREAM 7",
                    "> 1 reset 8 None",
                    "> 11 request / None",
                ],
            ),
            (
                "fields beyond the limit",
                vec![frame(HEADERS, END | WHOLE, 1, &with(GET, &[("x-large", large)])), get(3)],
                &["> 1 too large 431", "> 3 request / None"],
            ),
        ],
        Caller::Waits,
    );
}

#[test]
fn the_connection_ends_for_faults_that_concern_it() {
    let headers = |stream| frame(HEADERS, END, stream, &block(GET));
    let late = [get(1), get(5)].concat();
    let cases: Vec<(Vec<u8>, Fault)> = vec![
        (frame(DATA, 0, 1, b"x"), Fault::IdleStream),
        (frame(DATA, 0, 2, b"x"), Fault::IdleStream),
        (window_update(1, 1), Fault::IdleStream),
        (rst_stream(1, 8), Fault::IdleStream),
        (get(2), Fault::StreamIdParity),
        ([late.clone(), get(3)].concat(), Fault::StreamIdOrder),
        ([late.clone(), get(5)].concat(), Fault::StreamClosed),
        ([late.clone(), frame(DATA, 0, 1, b"x")].concat(), Fault::StreamClosed),
        (get(0), Fault::OnStreamZero),
        (frame(DATA, 0, 0, b"x"), Fault::OnStreamZero),
        (rst_stream(0, 8), Fault::OnStreamZero),
        (frame(PRIORITY, 0, 0, &[0; 5]), Fault::OnStreamZero),
        (frame(SETTINGS, 0, 1, &[]), Fault::NotOnStreamZero),
        (frame(PING, 0, 1, &[0; 8]), Fault::NotOnStreamZero),
        (frame(GOAWAY, 0, 1, &[0; 8]), Fault::NotOnStreamZero),
        (frame(PRIORITY_UPDATE, 0, 1, b"\0\0\0\x01u=1"), Fault::NotOnStreamZero),
        (frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x02u=1"), Fault::PriorityUpdateStream),
        (frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\0"), Fault::PriorityUpdateStream),
        (frame(PRIORITY, 0, 1, &[0; 4]), Fault::FrameLength),
        (frame(PRIORITY, 0, 3, &[0, 0, 0, 3, 1]), Fault::SelfDependency),
        (frame(PING, 0, 0, &[0; 7]), Fault::FrameLength),
        (frame(GOAWAY, 0, 0, &[0; 7]), Fault::FrameLength),
        (frame(RST_STREAM, 0, 1, &[0; 3]), Fault::FrameLength),
        (frame(WINDOW_UPDATE, 0, 0, &[0; 5]), Fault::FrameLength),
        (frame(SETTINGS, 0, 0, &[0; 5]), Fault::FrameLength),
        (frame(SETTINGS, ACK, 0, &[0; 6]), Fault::SettingsAckLength),
        (settings(&[(2, 2)]), Fault::SettingsEnablePush),
        (settings(&[(4, 1 << 31)]), Fault::SettingsInitialWindow),
        (settings(&[(5, 16_383)]), Fault::SettingsMaxFrame),
        (settings(&[(5, 1 << 24)]), Fault::SettingsMaxFrame),
        (settings(&[(8, 1), (8, 0)]), Fault::SettingsConnectProtocol),
        (
            [post(1), window_update(1, 0x7fff_0000), settings(&[(4, 0x7fff_ffff)])].concat(),
            Fault::WindowOverflow,
        ),
        (window_update(0, 0), Fault::ZeroIncrement),
        (window_update(0, 0x7fff_ffff), Fault::WindowOverflow),
        (frame(HEADERS, END | WHOLE, 1, b"\x80"), Fault::Compression),
        (frame(HEADERS, END | WHOLE | PADDED, 1, b"\x05abc"), Fault::PaddingTooLong),
        (frame(DATA, 0, 1, &[0; 16_385]), Fault::FrameTooLong),
        (frame(PUSH_PROMISE, WHOLE, 1, &[0; 8]), Fault::PushPromise),
        (frame(CONTINUATION, WHOLE, 1, &block(GET)), Fault::UnexpectedContinuation),
        ([headers(1), get(3)].concat(), Fault::BlockInterrupted),
        ([headers(1), frame(PING, 0, 0, &[0; 8])].concat(), Fault::BlockInterrupted),
        ([headers(1), frame(CONTINUATION, WHOLE, 3, &[])].concat(), Fault::BlockInterrupted),
        ([get(1), frame(CONTINUATION, WHOLE, 1, &[])].concat(), Fault::UnexpectedContinuation),
    ];
    for (frames, fault) in cases {
        let wire = [beginning(), frames].concat();
        for step in [wire.len(), 1] {
            let lines = server(&Config::default(), &wire, step, Caller::Answers);
            assert!(failed_with(&lines, fault), "{fault:?}: {lines:?}");
        }
    }
}

#[test]
fn the_preface_comes_first_and_settings_second() {
    let settings_first = |wire: &[u8], fault| {
        for step in [wire.len(), 1] {
            let lines = server(&Config::default(), wire, step, Caller::Answers);
            assert!(failed_with(&lines, fault), "{fault:?}: {lines:?}");
        }
    };
    settings_first(b"GET / HTTP/1.1\r\n\r\n", Fault::Preface);
    settings_first(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r", Fault::Preface);
    settings_first(&[&hayami_h2::PREFACE[..], &get(1)].concat(), Fault::FirstNotSettings);
    let ack = frame(SETTINGS, ACK, 0, &[]);
    settings_first(&[&hayami_h2::PREFACE[..], &ack].concat(), Fault::FirstNotSettings);
}

#[test]
fn content_beyond_a_window_is_a_fault() {
    let config = Config { initial_window: 0, ..Config::default() };
    let content = |bytes: usize| frame(DATA, 0, 1, &vec![0; bytes]);
    let wire = [beginning(), post(1), content(1)].concat();
    let lines = server(&config, &wire, wire.len(), Caller::Waits);
    assert_eq!(lines.last().map(String::as_str), Some("> 1 reset 3 Some(WindowExceeded)"), "{lines:?}");
    let config = Config { connection_window: 65_535, ..Config::default() };
    let wire = [beginning(), post(1), content(16_384).repeat(3), post(3)].concat();
    let more = [content(16_383), frame(DATA, 0, 3, b"x")].concat();
    let lines = server(&config, &[wire, more].concat(), 1 << 20, Caller::Waits);
    assert!(failed_with(&lines, Fault::WindowExceeded), "{lines:?}");
}
