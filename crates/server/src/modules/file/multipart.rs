//! `multipart/byteranges` (RFC 9110 §14.6): several ranges of a representation in one response.

use super::entry::Representation;
use hayami_http::{Content, Known, range};
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

thread_local! {
    /// Unpredictable, so that no file can contain the boundary on purpose (RFC 2046 §5.1.1), and different for every
    /// response.
    static BOUNDARY: Cell<u64> = Cell::new(RandomState::new().hash_one(std::process::id()));
}

fn next_boundary() -> String {
    let number = BOUNDARY.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    BOUNDARY.set(number);
    format!("hayami-{number:016x}")
}

/// Content-Type and content of a 206 response with these parts of `whole`, which is `len` bytes long.
pub(super) fn byteranges(whole: &Representation, ranges: &[Range<u64>], len: u64) -> (Vec<u8>, Content) {
    let boundary = next_boundary();
    let media_type = whole.fields.get(Known::ContentType).unwrap_or(b"application/octet-stream");
    let mut parts = Vec::with_capacity(ranges.len() * 2 + 1);
    for (nth, range) in ranges.iter().enumerate() {
        let line_break = if nth == 0 { "" } else { "\r\n" };
        let mut heading = format!("{line_break}--{boundary}\r\ncontent-type: ").into_bytes();
        heading.extend_from_slice(media_type);
        heading.extend_from_slice(b"\r\ncontent-range: ");
        range::write_content_range(range, len, &mut heading);
        heading.extend_from_slice(b"\r\n\r\n");
        parts.push(Content::from(heading));
        parts.push(whole.part(range));
    }
    parts.push(Content::from(format!("\r\n--{boundary}--\r\n").into_bytes()));
    (format!("multipart/byteranges; boundary={boundary}").into_bytes(), Content::Parts(parts))
}
