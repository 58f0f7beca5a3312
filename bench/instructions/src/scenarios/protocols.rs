//! HTTP/1.1, HTTP/2 and HPACK: bytes in, bytes out.

use super::fields::{BROWSER, COMMON, PAGE, PSEUDO, page, section};
use hayami_h1::{Event, Limits};
use hayami_h2::{Config, PREFACE};
use hayami_hpack::{Decoder, Encoder, Field, indexing_of};
use hayami_http::{Known, RequestHead};
use std::hint::black_box;

pub(super) fn h1(times: u32) {
    let lines: String = BROWSER.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!("GET {} HTTP/1.1\r\nHost: www.example.org\r\n{lines}\r\n", PSEUDO[3].1);
    let common = b"server: hayami\r\ndate: Sat, 21 Nov 2026 12:00:00 GMT\r\n";
    let (limits, response, content) = (Limits::default(), page(), [b'x'; 612]);
    let (mut server, mut head, mut out) = (hayami_h1::Server::new(), RequestHead::default(), Vec::new());
    for _ in 0..times {
        out.clear();
        let received = server.receive(&limits, black_box(request.as_bytes()), &mut head);
        assert!(received.is_ok_and(|received| matches!(received.event, Event::Request(_))));
        server.send_head(&response, Some(612), common, &mut out);
        server.send_content(&content, &mut out);
        black_box(&out);
    }
}

fn encode(encoder: &mut Encoder, fields: &[(&str, &str)], block: &mut Vec<u8>) {
    for (name, value) in fields {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        encoder.field(name, value, indexing_of(Known::of(name), name, value), block);
    }
}

/// The field block of the browser's request once its fields are in the table.
fn request_block(blocks: &mut impl FnMut(&[u8])) -> Vec<u8> {
    let (mut encoder, mut block) = (Encoder::with_seed(1), Vec::new());
    for _ in 0..4 {
        block.clear();
        encoder.begin(&mut block);
        encode(&mut encoder, &[PSEUDO, BROWSER].concat(), &mut block);
        blocks(&block);
    }
    block
}

pub(super) fn h2(times: u32) {
    let (config, response, common, content) = (Config::default(), page(), section(COMMON), [b'x'; 612]);
    let mut server: hayami_h2::Server<u64> = hayami_h2::Server::new(&config);
    let (mut head, mut out) = (RequestHead::default(), Vec::new());
    server.start(&config, &mut out);
    // A preface, and SETTINGS with the largest window; then the connection's.
    let settings = b"\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff";
    let window = b"\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0";
    for frame in [&PREFACE[..], settings, window] {
        server.receive(&config, 0, frame, &mut head, &mut out).expect("a good frame");
    }
    let mut id = 1_u32;
    let mut exchange = |block: &[u8], frame: &mut Vec<u8>| {
        frame.clear();
        frame.extend([0, (block.len() >> 8) as u8, block.len() as u8, 1, 5]);
        frame.extend(id.to_be_bytes());
        frame.extend(block);
        (id, out) = (id + 2, std::mem::take(&mut out));
        out.clear();
        let received = server.receive(&config, 0, black_box(frame), &mut head, &mut out).expect("a request");
        let hayami_h2::Event::Request { key, .. } = received.event else { panic!("a request") };
        server.send_head(key, &response, Some(612), &common, 1, &mut out);
        server.send_data(key, &content, true, &mut out);
        black_box(&out);
    };
    let mut frame = Vec::new();
    let block = request_block(&mut |block| exchange(block, &mut frame));
    (0..times).for_each(|_| exchange(&block, &mut frame));
}

pub(super) fn hpack_encode(times: u32) {
    let (mut encoder, mut block) = (Encoder::with_seed(1), Vec::new());
    for _ in 0..times {
        block.clear();
        encoder.begin(&mut block);
        encoder.status(200, &mut block);
        encode(&mut encoder, black_box(COMMON), &mut block);
        encode(&mut encoder, black_box(PAGE), &mut block);
        black_box(&block);
    }
}

pub(super) fn hpack_decode(times: u32) {
    let (mut decoder, mut sum) = (Decoder::new(4096), 0);
    let mut decode = |block: &[u8]| {
        let mut sink = |field: Field<'_>| sum += field.value.len() + usize::from(field.well_formed);
        decoder.decode(black_box(block), 65_536, &mut sink).expect("a good block");
    };
    let block = request_block(&mut decode);
    (0..times).for_each(|_| decode(&block));
    black_box(sum);
}
