//! Random sections, and bytes that no encoder produced.
#![allow(clippy::unwrap_used)] // a failed test reports the line

use hayami_hpack::{Decoded, Decoder, Encoder, Fault, Field, Indexing};
use proptest::collection::vec;
use proptest::prelude::*;

mod model;

type Line = (Vec<u8>, Vec<u8>);

fn decode(decoder: &mut Decoder, block: &[u8], most: usize) -> Result<(Vec<Line>, Decoded), Fault> {
    let mut lines = Vec::new();
    let sink = &mut |field: Field<'_>| lines.push((field.name.to_vec(), field.value.to_vec()));
    let decoded = decoder.decode(block, most, sink)?;
    Ok((lines, decoded))
}

fn names() -> impl Strategy<Value = Vec<u8>> {
    let common = [
        ":path",
        ":status",
        "Date",
        "etag",
        "ETag",
        "x-a",
        "accept-encoding",
        "set-cookie",
        "x-longer-than-others",
    ];
    prop_oneof![
        4 => prop::sample::select(common.to_vec()).prop_map(|name| name.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..60),
    ]
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    let common = ["", "/", "200", "gzip, deflate", "Sat, 21 Nov 2026 12:00:00 GMT", "no-cache"];
    prop_oneof![
        4 => prop::sample::select(common.to_vec()).prop_map(|value| value.as_bytes().to_vec()),
        2 => vec(any::<u8>(), 0..200),
        1 => vec(b'0'..b'z', 0..5000),
    ]
}

fn indexings() -> impl Strategy<Value = Indexing> {
    prop_oneof![4 => Just(Indexing::Add), 1 => Just(Indexing::No), 1 => Just(Indexing::Never)]
}

type Block = (Vec<u32>, Vec<(Vec<u8>, Vec<u8>, Indexing)>);

/// Settings before a block, and the block's fields.
fn blocks() -> impl Strategy<Value = Vec<Block>> {
    vec((vec(0..6000u32, 0..3), vec((names(), values(), indexings()), 0..12)), 1..12)
}

/// Pieces that soon reach every representation, with small numbers.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        vec(0x20..0x7fu8, 0..9).prop_map(|text| [&[text.len() as u8][..], &text].concat()),
        vec(any::<u8>(), 0..4).prop_map(|text| [&[text.len() as u8 | 0x80][..], &text].concat()),
    ];
    let named = (prop_oneof![Just(0x40), Just(0), Just(0x10)], text.clone(), text.clone());
    let indexed_name = (prop_oneof![0x41..0x7fu8, 1..0x1fu8], text);
    prop_oneof![
        4 => (0x80..=0xffu8).prop_map(|byte| vec![byte]),
        4 => named.prop_map(|(first, name, value)| [&[first][..], &name, &value].concat()),
        4 => indexed_name.prop_map(|(first, value)| [&[first][..], &value].concat()),
        1 => vec(any::<u8>(), 0..6),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_was_encoded_decodes_to_itself(blocks in blocks()) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        for (settings, fields) in blocks {
            for size in settings {
                encoder.set_peer_limit(size);
                decoder.set_limit(size);
            }
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value, indexing) in &fields {
                encoder.field(name, value, *indexing, &mut block);
            }
            let want: Vec<Line> = fields.into_iter().map(|(n, v, _)| (n.to_ascii_lowercase(), v)).collect();
            let (lines, decoded) = decode(&mut decoder, &block, usize::MAX).unwrap();
            let size = want.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
            prop_assert_eq!(&lines, &want);
            prop_assert_eq!(decoded, Decoded { size, too_large: false });
        }
    }

    #[test]
    fn a_head_of_the_same_generation_has_the_same_bytes(blocks in blocks()) {
        let mut encoder = Encoder::new();
        for (settings, fields) in blocks {
            settings.into_iter().for_each(|size| encoder.set_peer_limit(size));
            encoder.begin(&mut Vec::new());
            let mut once = |out: &mut Vec<u8>| {
                let before = encoder.generation();
                fields.iter().for_each(|(n, v, indexing)| encoder.field(n, v, *indexing, out));
                encoder.generation() == before
            };
            let (mut first, mut second) = (Vec::new(), Vec::new());
            if once(&mut first) {
                prop_assert!(once(&mut second));
                prop_assert_eq!(first, second);
            }
        }
    }

    #[test]
    fn any_bytes_decode_as_the_model_says(
        blocks in vec(prop_oneof![vec(pieces(), 0..12).prop_map(|pieces| pieces.concat()), vec(any::<u8>(), 0..60)], 1..8),
        sizes in vec(0..300u32, 0..8),
    ) {
        let (mut decoder, mut model) = (Decoder::new(4096), model::Model::new());
        for (at, block) in blocks.iter().enumerate() {
            let mut block = block.clone();
            if let Some(size) = sizes.get(at) {
                decoder.set_limit(*size);
                model.set_limit(*size);
                let bytes = if *size < 31 { vec![0x20 | *size as u8] } else { long_size(*size) };
                block.splice(0..0, bytes);
            }
            let want = model.decode(&block);
            let got = decode(&mut decoder, &block, usize::MAX).map(|(lines, _)| lines);
            prop_assert_eq!(got.as_ref().ok(), want.as_ref());
            if want.is_none() {
                break;
            }
        }
    }

    #[test]
    fn a_section_too_large_is_cut_but_the_tables_stay_in_step(fields in vec((names(), values()), 1..30), most in 0..3000usize) {
        let (mut encoder, mut decoder, mut block) = (Encoder::new(), Decoder::new(4096), Vec::new());
        fields.iter().for_each(|(name, value)| encoder.field(name, value, Indexing::Add, &mut block));
        let (lines, decoded) = decode(&mut decoder, &block, most).unwrap();
        let given: usize = lines.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
        prop_assert!(given <= most && decoded.too_large == (decoded.size > most));
        prop_assert_eq!(decoded.too_large, lines.len() < fields.len());
        block.clear();
        fields.iter().for_each(|(name, value)| encoder.field(name, value, Indexing::Add, &mut block));
        prop_assert_eq!(decode(&mut decoder, &block, usize::MAX).unwrap().0.len(), fields.len());
    }
}

fn long_size(size: u32) -> Vec<u8> {
    let left = size - 31;
    if left < 128 { vec![0x3f, left as u8] } else { vec![0x3f, left as u8 | 0x80, (left >> 7) as u8] }
}

#[test]
fn a_bomb_hands_out_no_more_than_the_limit() {
    // An entry of nearly 4,000 bytes, and 16,000 references to it.
    let (mut encoder, mut decoder, mut block) = (Encoder::new(), Decoder::new(4096), Vec::new());
    encoder.field(b"x-bomb", &[b'x'; 4000], Indexing::Add, &mut block);
    block.resize(block.len() + 16_000, 0xbe);
    let (lines, decoded) = decode(&mut decoder, &block, 65_536).unwrap();
    assert_eq!((lines.len(), decoded.too_large), (16, true));
    assert_eq!(decoded.size, 16_001 * 4038);
}

#[test]
fn each_broken_rule_has_its_fault() {
    let cases: &[(&[u8], Fault)] = &[
        (&[0x80], Fault::IndexZero),
        (&[0xbe], Fault::IndexOutOfRange),
        (&[0x7f, 0x00, 0x00], Fault::IndexOutOfRange),
        (&[0xff, 0x80, 0x80, 0x80, 0x80, 0x01], Fault::IntegerTooLong),
        (&[0xff], Fault::Truncated),
        (&[0x40], Fault::Truncated),
        (&[0x40, 0x01], Fault::Truncated),
        (&[0x40, 0x01, b'a'], Fault::Truncated),
        (&[0x40, 0x01, b'a', 0x7f, 0xff, 0xff, 0xff, 0x7f], Fault::Truncated),
        (&[0x41, 0x81, 0xff], Fault::PaddingTooLong),
        (&[0x41, 0x81, 0x18], Fault::PaddingNotOnes),
        (&[0x41, 0x84, 0xff, 0xff, 0xff, 0xff], Fault::EndOfString),
        (&[0x3f, 0xe2, 0x1f], Fault::SizeAboveLimit),
        (&[0x82, 0x20], Fault::SizeNotFirst),
    ];
    for (block, want) in cases {
        assert_eq!(decode(&mut Decoder::new(4096), block, 1000), Err(*want), "{block:x?}");
    }
}

#[test]
fn a_lower_limit_has_to_be_answered() {
    for (limits, block, want) in [
        (&[100][..], &[0x82][..], Err(Fault::SizeMissing)),
        (&[100], &[], Err(Fault::SizeMissing)),
        (&[100], &[0x3f, 0x45, 0x82], Ok(())),
        (&[100], &[0x20, 0x82], Ok(())),
        (&[0, 4096], &[0x3f, 0xe1, 0x1f], Err(Fault::SizeMissing)),
        (&[0, 4096], &[0x20, 0x3f, 0xe1, 0x1f], Ok(())),
        (&[0, 4096], &[0x20], Ok(())),
        (&[8000], &[0x82], Ok(())),
    ] {
        let mut decoder = Decoder::new(4096);
        limits.iter().for_each(|limit| decoder.set_limit(*limit));
        assert_eq!(decode(&mut decoder, block, 1000).map(|_| ()), want, "{limits:?} {block:x?}");
    }
}

#[test]
fn a_repeated_head_of_a_file_costs_few_bytes() {
    let fields: &[(&[u8], &[u8])] = &[
        (b"server", b"hayami"),
        (b"date", b"Sat, 21 Nov 2026 12:00:00 GMT"),
        (b"content-type", b"text/html"),
        (b"content-length", b"612"),
        (b"etag", b"\"6740d1c0-264\""),
        (b"last-modified", b"Sat, 21 Nov 2026 12:00:00 GMT"),
        (b"accept-ranges", b"bytes"),
    ];
    let mut encoder = Encoder::new();
    let lens: Vec<usize> = (0..3)
        .map(|_| {
            let mut block = Vec::new();
            encoder.begin(&mut block);
            encoder.status(200, &mut block);
            for (name, value) in fields {
                let known = hayami_http::Known::of(name);
                encoder.field(name, value, hayami_hpack::indexing_of(known, name, value), &mut block);
            }
            block.len()
        })
        .collect();
    assert_eq!(lens[1..], [8, 8]);
}
