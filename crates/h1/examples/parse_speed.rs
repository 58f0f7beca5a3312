//! Time of a request through the engine, and of its response: `cargo run --release -p hayami-h1 --example
//! parse_speed [PART OF A NAME]`. httparse, which only finds names and values, is run for comparison.

use hayami_h1::{Event, Limits, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// As wrk sends it.
const SHORT: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

/// As a browser sends it.
const BROWSER: &[u8] = b"GET /static/img/photo-of-a-river.jpg?width=1280&quality=80 HTTP/1.1\r\n\
Host: www.example.org\r\n\
Connection: keep-alive\r\n\
sec-ch-ua: \"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\n\
sec-ch-ua-mobile: ?0\r\n\
sec-ch-ua-platform: \"Linux\"\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n\
Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8\r\n\
Sec-Fetch-Site: same-origin\r\n\
Sec-Fetch-Mode: no-cors\r\n\
Referer: https://www.example.org/rivers\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Accept-Language: en-GB,en;q=0.9,ja;q=0.8\r\n\
If-None-Match: \"5f3c-61a2b\"\r\n\
Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n";

fn main() {
    for (name, request) in [("short", SHORT), ("browser", BROWSER)] {
        report(&format!("{name}: hayami, request alone"), || alone(request));
        report(&format!("{name}: hayami, request and 204"), || exchange(request));
        report(&format!("{name}: hayami, request and cached file"), || cached(request));
        report(&format!("{name}: httparse, request alone"), || httparse_alone(request));
    }
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

fn alone(request: &[u8]) -> u64 {
    let limits = Limits::default();
    let mut head = RequestHead::default();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let mut server = Server::new();
        let received = server.receive(&limits, black_box(request), &mut head);
        assert!(matches!(received.map(|r| r.event), Ok(Event::Request(_))));
        black_box(&head);
    }
    start.elapsed().as_nanos() as u64
}

fn exchange(request: &[u8]) -> u64 {
    timed_exchange(request, &ResponseHead::new(Status::NO_CONTENT), b"")
}

fn cached(request: &[u8]) -> u64 {
    let mut fields = FieldSection::default();
    fields.append(b"content-type", b"text/html");
    fields.append(b"last-modified", b"Sat, 21 Nov 2026 12:00:00 GMT");
    fields.append(b"etag", b"\"6740d1c0-264\"");
    fields.append(b"accept-ranges", b"bytes");
    let head = ResponseHead::with_shared(Status::OK, Arc::new(fields));
    timed_exchange(request, &head, b"server: hayami\r\ndate: Sat, 21 Nov 2026 12:00:00 GMT\r\n")
}

fn timed_exchange(request: &[u8], response: &ResponseHead, common: &[u8]) -> u64 {
    let limits = Limits::default();
    let (mut server, mut head, mut out) = (Server::new(), RequestHead::default(), Vec::new());
    let content = [b'x'; 612];
    let start = Instant::now();
    for _ in 0..ROUNDS {
        out.clear();
        let received = server.receive(&limits, black_box(request), &mut head);
        assert!(matches!(received.map(|r| r.event), Ok(Event::Request(_))));
        server.send_head(response, Some(612), common, &mut out);
        server.send_content(&content, &mut out);
        black_box((&head, &out));
    }
    start.elapsed().as_nanos() as u64
}

fn httparse_alone(request: &[u8]) -> u64 {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let mut fields = [httparse::EMPTY_HEADER; 32];
        let mut parsed = httparse::Request::new(&mut fields);
        assert!(parsed.parse(black_box(request)).is_ok_and(|status| status.is_complete()));
        black_box(&parsed);
    }
    start.elapsed().as_nanos() as u64
}
