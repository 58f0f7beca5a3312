//! Time of a head through the decoder and the encoder: `cargo run --release -p hayami-hpack --example
//! hpack_speed [PART OF A NAME]`.

use hayami_hpack::{Decoder, Encoder, Field, Indexing};
use std::hint::black_box;
use std::time::Instant;

type Lines = &'static [(&'static [u8], &'static [u8])];

/// As h2load sends it.
const SHORT: Lines = &[
    (b":method", b"GET"),
    (b":scheme", b"http"),
    (b":path", b"/"),
    (b":authority", b"127.0.0.1:8080"),
    (b"user-agent", b"h2load nghttp2/1.52.0"),
    (b"accept", b"*/*"),
];

/// As a browser sends it.
const BROWSER: Lines = &[
    (b":method", b"GET"),
    (b":authority", b"www.example.org"),
    (b":scheme", b"https"),
    (b":path", b"/static/img/photo-of-a-river.jpg?width=1280&quality=80"),
    (b"sec-ch-ua", b"\"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\""),
    (b"sec-ch-ua-mobile", b"?0"),
    (b"sec-ch-ua-platform", b"\"Linux\""),
    (
        b"user-agent",
        b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    ),
    (b"accept", b"image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"),
    (b"sec-fetch-site", b"same-origin"),
    (b"sec-fetch-mode", b"no-cors"),
    (b"referer", b"https://www.example.org/rivers"),
    (b"accept-encoding", b"gzip, deflate, br, zstd"),
    (b"accept-language", b"en-GB,en;q=0.9,ja;q=0.8"),
    (b"cookie", b"session=0123456789abcdef0123456789abcdef; theme=dark"),
];

/// As hayami answers with a file.
const FILE: Lines = &[
    (b":status", b"200"),
    (b"server", b"hayami"),
    (b"date", b"Sat, 21 Nov 2026 12:00:00 GMT"),
    (b"content-type", b"text/html"),
    (b"content-length", b"612"),
    (b"last-modified", b"Sat, 21 Nov 2026 12:00:00 GMT"),
    (b"etag", b"\"6740d1c0-264\""),
    (b"accept-ranges", b"bytes"),
];

fn main() {
    for (name, lines) in [("short", SHORT), ("browser", BROWSER), ("file", FILE)] {
        report(&format!("{name}: decode, all indexed"), || decode(lines, Indexing::Add));
        report(&format!("{name}: decode, all literal"), || decode(lines, Indexing::No));
        report(&format!("{name}: encode, all indexed"), || encode(lines, Indexing::Add));
        report(&format!("{name}: encode, all literal"), || encode(lines, Indexing::No));
    }
    report("file: encode, the first of a connection", first);
}

const ROUNDS: u32 = 2_000;

/// Best of a thousand short runs, because other programs share the machine.
fn report(name: &str, mut run: impl FnMut() -> u64) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let best = (0..1000).map(|_| run()).min().unwrap_or_default();
    println!("{name}: {:.1} ns", best as f64 / f64::from(ROUNDS));
}

fn write(encoder: &mut Encoder, lines: Lines, indexing: Indexing, out: &mut Vec<u8>) {
    out.clear();
    encoder.begin(out);
    for (name, value) in lines {
        match *name {
            b":status" => encoder.status(200, out),
            _ => encoder.field(name, value, indexing, out),
        }
    }
}

fn decode(lines: Lines, indexing: Indexing) -> u64 {
    let (mut encoder, mut decoder, mut block) = (Encoder::new(), Decoder::new(4096), Vec::new());
    let mut sum = 0;
    let mut sink = |field: Field<'_>| sum += field.value.len() + usize::from(field.well_formed);
    for _ in 0..2 {
        write(&mut encoder, lines, indexing, &mut block);
        decoder.decode(&block, 65_536, &mut sink).expect("the encoder's block");
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        decoder.decode(black_box(&block), 65_536, &mut sink).expect("the encoder's block");
    }
    let time = start.elapsed().as_nanos() as u64;
    black_box(sum);
    time
}

fn encode(lines: Lines, indexing: Indexing) -> u64 {
    let (mut encoder, mut block) = (Encoder::new(), Vec::new());
    write(&mut encoder, lines, indexing, &mut block);
    let start = Instant::now();
    for _ in 0..ROUNDS {
        write(&mut encoder, black_box(lines), indexing, &mut block);
        black_box(&block);
    }
    start.elapsed().as_nanos() as u64
}

fn first() -> u64 {
    let mut block = Vec::new();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        write(&mut Encoder::new(), black_box(FILE), Indexing::Add, &mut block);
        black_box(&block);
    }
    start.elapsed().as_nanos() as u64
}
