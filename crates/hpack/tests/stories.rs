//! Blocks of other encoders decode to their original fields (fixtures/hpack/README.md), and so do the blocks
//! that this encoder makes of the same fields.
#![allow(clippy::unwrap_used)] // a failed test reports the line

use hayami_hpack::{Decoder, Encoder, Field, Indexing};
use serde_json::Value;
use std::path::PathBuf;

type Lines = Vec<(Vec<u8>, Vec<u8>)>;

struct Case {
    settings: Vec<u32>,
    wire: Vec<u8>,
    lines: Lines,
}

fn stories() -> Vec<(String, Vec<Case>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hpack");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    files.map(|path| (path.display().to_string(), story(&std::fs::read(&path).unwrap()))).collect()
}

fn story(json: &[u8]) -> Vec<Case> {
    let story: Value = serde_json::from_slice(json).unwrap();
    story["cases"].as_array().unwrap().iter().map(case).collect()
}

fn case(case: &Value) -> Case {
    let settings = case["settings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines = case["headers"].as_array().unwrap().iter().flat_map(|line| line.as_object().unwrap());
    Case {
        settings: settings.iter().map(|size| size.as_u64().unwrap() as u32).collect(),
        wire: bytes(case["wire"].as_str().unwrap()),
        lines: lines.map(|(name, value)| (name.clone().into(), value.as_str().unwrap().into())).collect(),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Lines {
    let mut lines = Vec::new();
    let sink = &mut |field: Field<'_>| {
        assert!(field.well_formed);
        lines.push((field.name.to_vec(), field.value.to_vec()));
    };
    decoder.decode(block, usize::MAX, sink).unwrap();
    lines
}

#[test]
fn blocks_of_other_encoders_decode() {
    let stories = stories();
    assert!(stories.len() > 20);
    for (name, cases) in stories {
        let mut decoder = Decoder::new(4096);
        for Case { settings, wire, lines } in cases {
            settings.iter().for_each(|size| decoder.set_limit(*size));
            assert_eq!(decode(&mut decoder, &wire), lines, "{name}");
        }
    }
}

#[test]
fn our_blocks_of_the_same_fields_decode() {
    for (name, cases) in stories() {
        let (mut encoder, mut decoder, mut block) = (Encoder::new(), Decoder::new(4096), Vec::new());
        for Case { settings, lines, .. } in cases {
            for size in settings {
                encoder.set_peer_limit(size);
                decoder.set_limit(size);
            }
            block.clear();
            encoder.begin(&mut block);
            lines.iter().for_each(|(name, value)| encoder.field(name, value, Indexing::Add, &mut block));
            assert_eq!(decode(&mut decoder, &block), lines, "{name}");
        }
    }
}
