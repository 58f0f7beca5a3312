//! Responses: heads, content and the end, written to the caller's buffer.

use super::Server;
use crate::encode::{self, Response};
use crate::event::{Body, Key};
use crate::frame::Header;
use crate::stream::Flags;
use hayami_http::{FieldSection, ResponseHead, Status};

impl<T: Default> Server<T> {
    /// Writes an interim response: 100 or 103 (RFC 9110 §15.2). Does nothing once the final head was sent.
    pub fn send_interim(&mut self, key: Key, status: Status, fields: &FieldSection, out: &mut Vec<u8>) {
        let Some(slot) = self.core.sending_slot(key) else { return };
        // RFC 9113 §8.6: 101 is not allowed here.
        let allowed = status.is_informational() && status != Status::SWITCHING_PROTOCOLS;
        if self.core.streams[slot].flags.answered || !allowed {
            return;
        }
        let start = out.len();
        out.extend_from_slice(&[0; Header::LEN]);
        encode::interim(&mut self.core.encoder, status, fields, out);
        self.core.frame_block(start, key.id, false, out);
    }

    /// Writes a response head: the status, `common` (`server`, `date`; `common_version` changes with it),
    /// Content-Length, and the head's fields without those of HTTP/1.1's framing.
    ///
    /// `length` is the number of bytes of the content, for HEAD that of GET's content; `None` if it is
    /// unknown. With [`Body::Complete`] the response is complete, and the stream with it if the request is.
    /// If the stream no longer exists or was answered, it does nothing and returns so.
    #[inline]
    pub fn send_head(
        &mut self,
        key: Key,
        head: &ResponseHead,
        length: Option<u64>,
        common: &FieldSection,
        common_version: u64,
        out: &mut Vec<u8>,
    ) -> Body {
        let Some(slot) = self.core.sending_slot(key) else { return Body::Complete };
        let flags = &mut self.core.streams[slot].flags;
        if flags.answered || head.status().is_informational() {
            return Body::Complete;
        }
        flags.answered = true;
        let (body, length) = framing(*flags, head.status(), length);
        let start = out.len();
        out.extend_from_slice(&[0; Header::LEN]);
        let response = Response { head, length, common, common_version };
        self.memo.response(&mut self.core.encoder, response, out);
        let complete = body == Body::Complete;
        self.core.frame_block(start, key.id, complete, out);
        if complete {
            self.core.end_sent(slot, out);
        }
        body
    }

    /// Writes content, in as many frames as the peer's largest frame asks for; `bytes.len()` is at most
    /// [`room`](Self::room). With `end` the response is complete.
    #[inline]
    pub fn send_data(&mut self, key: Key, bytes: &[u8], end: bool, out: &mut Vec<u8>) {
        self.core.send_data(key, bytes, end, out);
    }

    /// Writes the nine bytes before `len` bytes of content, which the caller appends; `len` is at most
    /// [`room`](Self::room) and [`max_data`](Self::max_data). With `end` the response is complete.
    pub fn begin_data(&mut self, key: Key, len: usize, end: bool, out: &mut Vec<u8>) {
        self.core.begin_data(key, len, end, out);
    }

    /// Ends a response with trailers.
    pub fn send_trailers(&mut self, key: Key, trailers: &FieldSection, out: &mut Vec<u8>) {
        self.core.send_trailers(key, trailers, out);
    }
}

/// The framing of a response: its body and its Content-Length.
#[inline]
fn framing(flags: Flags, status: Status, length: Option<u64>) -> (Body, Option<u64>) {
    match length {
        // RFC 9110 §8.6: none in 204; in 304 it would have to be that of the 200 response, which is unknown
        // here.
        _ if status.forbids_content() => (Body::Complete, None),
        // RFC 9113 §8.5: a tunnel follows.
        _ if flags.is_connect && (200..300).contains(&status.code()) => (Body::Tunnel, None),
        _ if flags.is_head => (Body::Complete, length),
        Some(0) => (Body::Complete, length),
        _ => (Body::Content, length),
    }
}
