//! Target of HPACK's decoder, and of its encoder by way of it.

use crate::Decisions;
use hayami_hpack::{Decoder, Encoder, Fault, Field, Indexing};

type Lines = Vec<(Vec<u8>, Vec<u8>)>;

/// Blocks of any bytes break a rule or give fields; those handed out stay within the limit, and are complete
/// if the section isn't too large. Encoded and decoded again they are the same.
pub fn hpack(bytes: &[u8]) {
    let mut rest = bytes;
    let (mut decoder, mut second) = (Decoder::new(4096), Decoder::new(4096));
    let (mut encoder, mut copy) = (Encoder::new(), Decoder::new(4096));
    while let [limit, len, after @ ..] = rest {
        let (block, after) = after.split_at(after.len().min(usize::from(*len)));
        rest = after;
        // 255 stands for no settings.
        if *limit < 255 {
            let limit = 8 * u32::from(*limit);
            [&mut decoder, &mut second, &mut copy].into_iter().for_each(|decoder| decoder.set_limit(limit));
            encoder.set_peer_limit(limit);
        }
        let whole = decode(&mut decoder, block, usize::MAX);
        let cut = decode(&mut second, block, 300);
        let Ok(lines) = whole else { return assert_eq!(cut, whole) };
        let given = cut.expect("the same block, cut");
        assert!(lines.starts_with(&given));
        check_again(&mut encoder, &mut copy, lines);
    }
}

fn decode(decoder: &mut Decoder, block: &[u8], most: usize) -> Result<Lines, Fault> {
    let (mut lines, mut given) = (Lines::new(), 0);
    let decoded = decoder.decode(block, most, &mut |field: Field<'_>| {
        given += field.name.len() + field.value.len() + 32;
        lines.push((field.name.to_vec(), field.value.to_vec()));
    })?;
    assert!(given <= most);
    assert_eq!(decoded.too_large, decoded.size > most);
    assert_eq!(decoded.too_large, decoded.size > given);
    Ok(lines)
}

fn check_again(encoder: &mut Encoder, decoder: &mut Decoder, mut lines: Lines) {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (name, value) in &mut lines {
        let indexing = [Indexing::Add, Indexing::No, Indexing::Never];
        let choice = Decisions::of(value).next();
        encoder.field(name, value, indexing[usize::from(choice) % 3], &mut block);
        name.make_ascii_lowercase();
    }
    assert_eq!(decode(decoder, &block, usize::MAX), Ok(lines));
}
