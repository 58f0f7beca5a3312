//! Requests: heads, content and the end, written to the caller's buffer.

use super::Client;
use super::outstanding::RequestKind;
use crate::bytes::{is_token, target_end};
use crate::encode;
use crate::outgoing::{Outgoing, content_methods};
use crate::server::{CutShort, RequestContent};
use crate::state::Reading;
use hayami_http::{FieldSection, Known};
use std::fmt;

/// A request cannot be sent now: another one's content is not complete, 64 are unanswered, or the
/// connection is to close. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTurn;

impl fmt::Display for OutOfTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this connection takes no request now")
    }
}

impl std::error::Error for OutOfTurn {}

impl Client {
    /// Whether a request may be sent now, after those that are unanswered if there are any.
    pub fn can_send(&self) -> bool {
        let open = matches!(self.reading, Reading::Head | Reading::Content);
        open && self.persists
            && !self.stopping
            && !self.outstanding.is_full()
            // What is sent before the answer could be taken for bytes of the tunnel.
            && !self.outstanding.may_switch()
            && self.outgoing == Outgoing::Nothing
    }

    /// Writes a request head: the request line, `fields` without those of framing and connection, and
    /// these as needed. The Host field is left to the caller (RFC 9112 §3.2).
    ///
    /// `method` is a token, `target` consists of visible ASCII.
    ///
    /// # Errors
    /// [`can_send`](Self::can_send) is false.
    pub fn send_head(
        &mut self,
        method: &[u8],
        target: &[u8],
        fields: &FieldSection,
        content: RequestContent,
        out: &mut Vec<u8>,
    ) -> Result<(), OutOfTurn> {
        debug_assert!(is_token(method) && target_end(target, 0) == target.len());
        if !self.can_send() {
            return Err(OutOfTurn);
        }
        request_line(method, target, out);
        encode::fields(fields, |_| true, out);
        self.begin_request_content(method, content, out);
        self.outstanding.push(kind_of(method));
        Ok(())
    }

    /// Like [`send_head`](Self::send_head), without content; the request asks the server to switch to one of
    /// `protocols`, the value of an Upgrade field (RFC 9110 §7.8). Only such a request may be answered with
    /// 101: [`ResponseContent::Tunnel`](super::ResponseContent::Tunnel). Until it is answered no other one
    /// can be sent.
    ///
    /// `method` is neither HEAD nor CONNECT, whose responses are framed differently; `fields` have no
    /// Upgrade.
    ///
    /// # Errors
    /// [`can_send`](Self::can_send) is false.
    pub fn send_upgrade_head(
        &mut self,
        method: &[u8],
        target: &[u8],
        fields: &FieldSection,
        protocols: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), OutOfTurn> {
        debug_assert!(kind_of(method) == RequestKind::Other && fields.get(Known::Upgrade).is_none());
        if !self.can_send() {
            return Err(OutOfTurn);
        }
        request_line(method, target, out);
        encode::fields(fields, |_| true, out);
        out.extend_from_slice(b"connection: upgrade\r\n");
        encode::field_line(b"upgrade", protocols, out);
        self.begin_request_content(method, RequestContent::None, out);
        self.outstanding.push(RequestKind::Upgrade);
        Ok(())
    }

    /// Like [`send_head`](Self::send_head); the request says that it is the connection's last one
    /// (RFC 9112 §9.6).
    ///
    /// # Errors
    /// [`can_send`](Self::can_send) is false.
    pub fn send_last_head(
        &mut self,
        method: &[u8],
        target: &[u8],
        fields: &FieldSection,
        content: RequestContent,
        out: &mut Vec<u8>,
    ) -> Result<(), OutOfTurn> {
        let start = out.len();
        self.send_head(method, target, fields, content, out)?;
        debug_assert!(out[start..].ends_with(b"\r\n\r\n"));
        out.truncate(out.len() - 2);
        out.extend_from_slice(b"connection: close\r\n\r\n");
        self.stopping = true;
        Ok(())
    }

    /// Records that a whole request, content included, is sent as bytes prepared beforehand: for clients that
    /// repeat the same request. With `last` it says `connection: close`.
    ///
    /// # Errors
    /// [`can_send`](Self::can_send) is false; the request may not be sent.
    pub fn sent_ready_made(&mut self, method: &[u8], last: bool) -> Result<(), OutOfTurn> {
        if !self.can_send() {
            return Err(OutOfTurn);
        }
        self.outstanding.push(kind_of(method));
        self.stopping = last;
        Ok(())
    }

    fn begin_request_content(&mut self, method: &[u8], content: RequestContent, out: &mut Vec<u8>) {
        self.outgoing = match content {
            RequestContent::None | RequestContent::Length(0) => Outgoing::Nothing,
            RequestContent::Length(length) => Outgoing::Length(length),
            RequestContent::Chunked => Outgoing::Chunked,
        };
        match content {
            RequestContent::Length(length) => encode::content_length(length, out),
            RequestContent::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
            // RFC 9110 §8.6: methods that anticipate content say that there is none.
            RequestContent::None if matches!(method, b"POST" | b"PUT" | b"PATCH") => {
                encode::content_length(0, out);
            }
            RequestContent::None => {}
        }
        out.extend_from_slice(b"\r\n");
    }

    content_methods!();

    /// A request of known length is complete with its last byte.
    fn end_if_sent(&mut self) {
        if self.outgoing == Outgoing::Length(0) {
            self.outgoing = Outgoing::Nothing;
        }
    }

    /// Ends the request: writes the last chunk and the trailers, if it is chunked. Does nothing if the
    /// request is complete already.
    ///
    /// # Errors
    /// Bytes of the announced length are missing; the connection must close (RFC 9112 §8).
    pub fn send_end(&mut self, trailers: Option<&FieldSection>, out: &mut Vec<u8>) -> Result<(), CutShort> {
        match self.outgoing.finish(trailers, out) {
            0 => Ok(()),
            missing => {
                self.stopping = true;
                Err(CutShort { missing })
            }
        }
    }
}

fn request_line(method: &[u8], target: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(method);
    out.push(b' ');
    out.extend_from_slice(target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
}

fn kind_of(method: &[u8]) -> RequestKind {
    match method {
        b"HEAD" => RequestKind::Head,
        b"CONNECT" => RequestKind::Connect,
        _ => RequestKind::Other,
    }
}
