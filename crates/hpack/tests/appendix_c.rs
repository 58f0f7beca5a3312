//! The examples of RFC 7541 Appendix C, byte for byte, both ways.
#![allow(clippy::unwrap_used)] // a failed test reports the line

use hayami_hpack::{Decoder, Encoder, Fault, Field, Indexing};

type Lines<'a> = &'a [(&'a str, &'a str)];

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<(String, String)>, Fault> {
    let mut lines = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    decoder.decode(block, usize::MAX, &mut |field: Field<'_>| {
        assert!(field.well_formed);
        lines.push((text(field.name), text(field.value)));
    })?;
    Ok(lines)
}

fn owned(lines: Lines<'_>) -> Vec<(String, String)> {
    lines.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn single_representations_decode() {
    let cases: &[(&str, (&str, &str))] = &[
        // §C.2.1 to §C.2.4
        ("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", ("custom-key", "custom-header")),
        ("040c 2f73 616d 706c 652f 7061 7468", (":path", "/sample/path")),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", ("password", "secret")),
        ("82", (":method", "GET")),
    ];
    for (hex, line) in cases {
        assert_eq!(decoded(&mut Decoder::new(4096), &bytes(hex)), Ok(owned(&[*line])));
    }
}

#[test]
fn what_is_never_indexed_says_so_and_is_written_so() {
    let block = bytes("1008 7061 7373 776f 7264 0673 6563 7265 74"); // §C.2.3
    let mut seen = false;
    let sink = &mut |field: Field<'_>| seen = field.never_indexed;
    Decoder::new(4096).decode(&block, 1000, sink).unwrap();
    assert!(seen);
    let mut out = Vec::new();
    Encoder::new().field(b"password", b"secret", Indexing::Never, &mut out);
    assert_eq!(out[0], 0x10);
}

const FIRST: Lines<'_> =
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
const SECOND: Lines<'_> = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
    ("cache-control", "no-cache"),
];
const THIRD: Lines<'_> = &[
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
];

const FOUND: Lines<'_> = &[
    (":status", "302"),
    ("cache-control", "private"),
    ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
    ("location", "https://www.example.com"),
];
const NOT_MODIFIED: Lines<'_> = &[
    (":status", "307"),
    ("cache-control", "private"),
    ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
    ("location", "https://www.example.com"),
];
const WITH_COOKIE: Lines<'_> = &[
    (":status", "200"),
    ("cache-control", "private"),
    ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
    ("location", "https://www.example.com"),
    ("content-encoding", "gzip"),
    ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
];

/// §C.3: requests without Huffman code.
const PLAIN_REQUESTS: &[(&str, Lines<'_>)] = &[
    ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", FIRST),
    ("8286 84be 5808 6e6f 2d63 6163 6865", SECOND),
    ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", THIRD),
];

/// §C.4: the same with it.
const REQUESTS: &[(&str, Lines<'_>)] = &[
    ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", FIRST),
    ("8286 84be 5886 a8eb 1064 9cbf", SECOND),
    ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", THIRD),
];

/// §C.5: responses without Huffman code, in a table of 256 bytes.
const PLAIN_RESPONSES: &[(&str, Lines<'_>)] = &[
    (
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 \
         3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        FOUND,
    ),
    ("4803 3330 37c1 c0bf", NOT_MODIFIED),
    (
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a \
         6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d \
         6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        WITH_COOKIE,
    ),
];

/// §C.6: the same with it.
const RESPONSES: &[(&str, Lines<'_>)] = &[
    (
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d \
         29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        FOUND,
    ),
    ("4883 640e ffc1 c0bf", NOT_MODIFIED),
    (
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d \
         d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 \
         3d50 07",
        WITH_COOKIE,
    ),
];

/// A decoder whose peer has a table of 256 bytes, and the bytes with which the peer says so.
fn small_decoder() -> Decoder {
    let mut decoder = Decoder::new(256);
    decoder.set_limit(256);
    assert_eq!(decoded(&mut decoder, &[0x3f, 0xe1, 0x01]), Ok(vec![]));
    decoder
}

#[test]
fn requests_decode() {
    for requests in [PLAIN_REQUESTS, REQUESTS] {
        let mut decoder = Decoder::new(4096);
        for (hex, lines) in requests {
            assert_eq!(decoded(&mut decoder, &bytes(hex)), Ok(owned(lines)));
        }
    }
}

#[test]
fn responses_decode_while_entries_are_evicted() {
    for responses in [PLAIN_RESPONSES, RESPONSES] {
        let mut decoder = small_decoder();
        for (hex, lines) in responses {
            assert_eq!(decoded(&mut decoder, &bytes(hex)), Ok(owned(lines)));
        }
    }
}

fn encoded(encoder: &mut Encoder, lines: Lines<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for (name, value) in lines {
        encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Add, &mut out);
    }
    out
}

#[test]
fn requests_encode() {
    let mut encoder = Encoder::new();
    for (hex, lines) in REQUESTS {
        assert_eq!(encoded(&mut encoder, lines), bytes(hex));
    }
}

#[test]
fn responses_encode_while_entries_are_evicted() {
    let mut encoder = Encoder::new();
    encoder.set_peer_limit(256);
    let mut out = Vec::new();
    encoder.begin(&mut out);
    assert_eq!(out, [0x3f, 0xe1, 0x01]);
    for (at, (hex, lines)) in RESPONSES.iter().enumerate() {
        // "307" isn't shorter with Huffman coding; the example uses it nevertheless.
        let want = if at == 1 { "4803 3330 37c1 c0bf" } else { hex };
        assert_eq!(encoded(&mut encoder, lines), bytes(want));
    }
}
