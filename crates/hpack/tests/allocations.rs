//! Nothing is allocated by a connection that sees heads like those before, nor by one that sees none.

#[path = "../../server/tests/counting/mod.rs"]
mod counting;

use counting::{Counting, allocations};
use hayami_hpack::{Decoder, Encoder, Field, Indexing};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One head of many that differ in a field: its block.
fn encode(encoder: &mut Encoder, number: u32, out: &mut Vec<u8>) {
    let digits =
        [b'0' + (number / 100 % 10) as u8, b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8];
    out.clear();
    encoder.begin(out);
    encoder.status(200, out);
    encoder.field(b"date", b"Sat, 21 Nov 2026 12:00:00 GMT", Indexing::Add, out);
    encoder.field(b"content-type", b"text/html", Indexing::Add, out);
    encoder.field(b"Content-Length", &digits, Indexing::Add, out);
    encoder.field(b"x-request-id", &digits, Indexing::No, out);
    encoder.field(b"set-cookie", b"id=0123456789", Indexing::Never, out);
}

#[test]
fn heads_come_and_go_without_an_allocation() {
    let (mut encoder, mut decoder, mut out) = (Encoder::new(), Decoder::new(4096), Vec::new());
    let mut bytes = 0;
    let mut exchange = |number| {
        encode(&mut encoder, number, &mut out);
        decoder.decode(&out, 10_000, &mut |field: Field<'_>| bytes += field.value.len()).unwrap();
    };
    (0..1000).for_each(&mut exchange);
    let before = allocations();
    (0..10_000).for_each(&mut exchange);
    assert_eq!(allocations(), before);
    assert!(bytes > 0);
}

#[test]
fn an_idle_connection_owns_no_memory() {
    let _warm = Encoder::new();
    let before = allocations();
    let both = (Encoder::new(), Decoder::new(65_536));
    assert_eq!(allocations(), before);
    drop(both);
}
