//! Time of a request through the engine, and of its response: `cargo run --release -p hayami-h2 --example
//! request_speed [PART OF A NAME]`.

use hayami_h2::{Body, Config, Event, PREFACE, Server};
use hayami_hpack::{Encoder, indexing_of};
use hayami_http::{FieldSection, Known, RequestHead, ResponseHead, Status};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

type Fields = &'static [(&'static str, &'static str)];

/// As h2load sends it.
const H2LOAD: Fields = &[
    (":method", "GET"),
    (":path", "/"),
    (":scheme", "http"),
    (":authority", "127.0.0.1:8080"),
    ("user-agent", "h2load nghttp2/1.52.0"),
];

/// As a browser sends it.
const BROWSER: Fields = &[
    (":method", "GET"),
    (":authority", "www.example.org"),
    (":scheme", "https"),
    (":path", "/static/img/photo-of-a-river.jpg?width=1280&quality=80"),
    ("sec-ch-ua-platform", "\"Linux\""),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    ),
    ("sec-ch-ua", "\"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\""),
    ("sec-ch-ua-mobile", "?0"),
    ("accept", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "no-cors"),
    ("sec-fetch-dest", "image"),
    ("referer", "https://www.example.org/rivers"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "en-GB,en;q=0.9,ja;q=0.8"),
    ("cookie", "session=0123456789abcdef0123456789abcdef"),
    ("cookie", "theme=dark"),
    ("priority", "u=2, i"),
];

const ROUNDS: u32 = 2_000;

fn main() {
    for (name, fields) in [("h2load", H2LOAD), ("browser", BROWSER)] {
        report(&format!("{name}: request and 204"), fields, &ResponseHead::new(Status::NO_CONTENT), None);
        report(&format!("{name}: request and cached file of 612 bytes"), fields, &cached(), Some(612));
        let mut own = cached();
        own.append(b"x-one", b"two");
        report(&format!("{name}: the same, with a field of its own"), fields, &own, Some(612));
    }
}

fn cached() -> ResponseHead {
    let mut fields = FieldSection::default();
    fields.append(b"content-type", b"text/html");
    fields.append(b"last-modified", b"Sat, 21 Nov 2026 12:00:00 GMT");
    fields.append(b"etag", b"\"6740d1c0-264\"");
    fields.append(b"accept-ranges", b"bytes");
    ResponseHead::with_shared(Status::OK, Arc::new(fields))
}

/// Best of many short runs, because other programs share the machine.
fn report(name: &str, fields: Fields, response: &ResponseHead, length: Option<u64>) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let best = (0..500).map(|_| run(fields, response, length)).min().unwrap_or_default();
    println!("{name}: {:.1} ns", best as f64 / f64::from(ROUNDS));
}

fn run(fields: Fields, response: &ResponseHead, length: Option<u64>) -> u64 {
    let config = Config::default();
    let mut connection = Connection::new(&config);
    // The first ones fill the tables.
    let (mut wire, mut encoder) = (Vec::new(), Encoder::new());
    for id in 0..4 {
        let request = request(&mut encoder, fields, id * 2 + 1);
        connection.answer(&config, &request, response, length);
    }
    let from = |round: u32| (round + 4) * 2 + 1;
    (0..ROUNDS).for_each(|round| wire.extend(request(&mut encoder, fields, from(round))));
    let mut rest = &wire[..];
    let start = Instant::now();
    while !rest.is_empty() {
        connection.out.clear();
        rest = &rest[connection.answer(&config, rest, response, length)..];
    }
    let nanoseconds = start.elapsed().as_nanos() as u64;
    assert_eq!(connection.server.streams(), 0);
    nanoseconds
}

/// A HEADERS frame that ends its stream.
fn request(encoder: &mut Encoder, fields: Fields, id: u32) -> Vec<u8> {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (name, value) in fields {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        encoder.field(name, value, indexing_of(Known::of(name), name, value), &mut block);
    }
    let mut frame = vec![0, 0, block.len() as u8, 1, 5];
    frame[1] = (block.len() >> 8) as u8;
    frame.extend(id.to_be_bytes());
    frame.extend(block);
    frame
}

struct Connection {
    server: Server<u64>,
    head: RequestHead,
    out: Vec<u8>,
    common: FieldSection,
    content: [u8; 612],
}

impl Connection {
    fn new(config: &Config) -> Self {
        let mut common = FieldSection::default();
        common.append(b"server", b"hayami");
        common.append(b"date", b"Sat, 21 Nov 2026 12:00:00 GMT");
        let (server, head) = (Server::new(config), RequestHead::default());
        let mut this = Self { server, head, out: Vec::new(), common, content: [b'x'; 612] };
        this.server.start(config, &mut this.out);
        // A preface, and SETTINGS with the largest window; then the connection's.
        let settings = b"\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff";
        let window = b"\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0";
        for frame in [&PREFACE[..], settings, window] {
            let received = this.server.receive(config, 0, frame, &mut this.head, &mut this.out);
            assert!(matches!(received.map(|r| r.event), Ok(Event::Handled)));
        }
        this
    }

    /// Answers the request at the front of the input; returns its length.
    #[inline(never)] // so that a profile can be of it alone
    fn answer(
        &mut self,
        config: &Config,
        input: &[u8],
        response: &ResponseHead,
        length: Option<u64>,
    ) -> usize {
        let received = self.server.receive(config, 0, black_box(input), &mut self.head, &mut self.out);
        let Ok(received) = received else { panic!("a request") };
        let Event::Request { key, .. } = received.event else { panic!("a request") };
        black_box(&self.head);
        let body = self.server.send_head(key, response, length, &self.common, 1, &mut self.out);
        if body == Body::Content && self.server.room(key) >= self.content.len() {
            self.server.send_data(key, &self.content, true, &mut self.out);
        }
        black_box(&self.out);
        received.consumed
    }
}
