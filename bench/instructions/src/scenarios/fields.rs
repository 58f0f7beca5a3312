//! What a browser sends and what it gets, field by field.

use hayami_http::{FieldSection, ResponseHead, Status};
use std::sync::Arc;

pub(super) const BROWSER: &[(&str, &str)] = &[
    ("sec-ch-ua", "\"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\""),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", "\"Linux\""),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    ),
    ("accept", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "no-cors"),
    ("referer", "https://www.example.org/rivers"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "en-GB,en;q=0.9,ja;q=0.8"),
    ("cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"),
];

pub(super) const PSEUDO: &[(&str, &str)] = &[
    (":method", "GET"),
    (":authority", "www.example.org"),
    (":scheme", "https"),
    (":path", "/static/img/photo-of-a-river.jpg?width=1280&quality=80"),
];

pub(super) const COMMON: &[(&str, &str)] = &[("server", "hayami"), ("date", "Sat, 21 Nov 2026 12:00:00 GMT")];

pub(super) const PAGE: &[(&str, &str)] = &[
    ("content-type", "text/html"),
    ("last-modified", "Sat, 21 Nov 2026 12:00:00 GMT"),
    ("etag", "\"6740d1c0-264\""),
    ("accept-ranges", "bytes"),
];

pub(super) fn section(fields: &[(&str, &str)]) -> FieldSection {
    let mut section = FieldSection::default();
    fields.iter().for_each(|(name, value)| section.append(name.as_bytes(), value.as_bytes()));
    section
}

pub(super) fn page() -> ResponseHead {
    ResponseHead::with_shared(Status::OK, Arc::new(section(PAGE)))
}
