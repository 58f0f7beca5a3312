//! Responses: heads, content and the end, written to the caller's buffer.

use super::{Request, Server};
use crate::encode;
use crate::outgoing::{Outgoing, content_methods};
use crate::state::{Move, Receiving, Sending};
use hayami_http::{FieldSection, ResponseHead, Status};
use std::fmt;

/// What follows a response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Nothing: the response is complete (HEAD, 204, 304, length 0).
    Complete,
    /// This many bytes. The response is complete when they were sent.
    Length(u64),
    /// Chunks, until [`Server::send_end`].
    Chunked,
    /// Bytes until [`Server::send_end`] and the end of the connection: the client speaks HTTP/1.0.
    UntilClose,
    /// Bytes that are not HTTP, until [`Server::send_end`]; those of the client are [`Event::Content`], until
    /// [`Server::receive_eof`]. Each direction ends independently.
    ///
    /// [`Event::Content`]: super::Event::Content
    Tunnel,
}

/// A response ended before all its bytes were sent. The connection must close, so that the client sees
/// that the response is incomplete (RFC 9112 §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// Bytes that were announced and not sent.
    pub missing: u64,
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the response ended {} bytes before its announced length", self.missing)
    }
}

impl std::error::Error for CutShort {}

impl Server {
    /// Writes a response head: the status line, `common` (ready field lines, each with its CRLF), the
    /// fields of framing and connection, the head's fields without those, and the empty line.
    ///
    /// `length` is the number of bytes of the content, for HEAD that of GET's content; `None` if it is
    /// unknown. Interim responses are sent by [`send_interim`](Self::send_interim), except 101: if the
    /// request [asks for it](Self::asks_upgrade), the connection becomes a tunnel; a 2xx to CONNECT does the
    /// same. The Upgrade field is left to the caller.
    pub fn send_head(
        &mut self,
        response: &ResponseHead,
        length: Option<u64>,
        common: &[u8],
        out: &mut Vec<u8>,
    ) -> Framing {
        let switches = self.is_switch(response.status());
        if self.state.sending != Sending::Head || response.status().is_informational() && !switches {
            self.request.persists = false;
            return Framing::Complete;
        }
        let framing =
            if switches { Framing::Tunnel } else { self.request.framing(response.status(), length) };
        self.decide_persistence(response.status(), framing);
        encode::status_line(response.status(), out);
        out.extend_from_slice(common);
        self.framing_field(response.status(), framing, length, out);
        out.extend_from_slice(match framing {
            Framing::Tunnel => switch_field(response.status()),
            _ => self.connection_field(),
        });
        encode::head_fields(response, out);
        out.extend_from_slice(b"\r\n");
        self.begin_response(framing);
        framing
    }

    fn decide_persistence(&mut self, status: Status, framing: Framing) {
        // RFC 9110 §10.1.1: the client may now send the content or not, and its first bytes could not be
        // distinguished from a request.
        let unsure = self.request.expects_continue && self.state.receiving == Receiving::Content;
        let last = matches!(framing, Framing::UntilClose | Framing::Tunnel);
        self.request.persists &= !unsure && !last && !self.request.is_connected(status);
    }

    fn framing_field(&self, status: Status, framing: Framing, length: Option<u64>, out: &mut Vec<u8>) {
        match (framing, length) {
            // RFC 9110 §8.6, RFC 9112 §6.1: none in 204 and in 2xx to CONNECT; in 304 it would have to be
            // that of the 200 response, which is not known here.
            _ if status.forbids_content() || self.request.is_connected(status) => {}
            (Framing::Chunked, _) => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
            (_, Some(length)) => encode::content_length(length, out),
            (_, None) => {}
        }
    }

    /// RFC 9112 §9.6: the last response says so. For HTTP/1.0 clients, the others do (§9.3).
    fn connection_field(&self) -> &'static [u8] {
        match self.request {
            Request { persists: false, .. } => b"connection: close\r\n",
            _ if self.stopping => b"connection: close\r\n",
            Request { is_http10: true, .. } => b"connection: keep-alive\r\n",
            _ => b"",
        }
    }

    fn begin_response(&mut self, framing: Framing) {
        self.outgoing = match framing {
            Framing::Complete => Outgoing::Nothing,
            Framing::Length(length) => Outgoing::Length(length),
            Framing::Chunked => Outgoing::Chunked,
            Framing::UntilClose | Framing::Tunnel => Outgoing::UntilClose,
        };
        self.step(match framing {
            Framing::Complete => Move::WholeResponse,
            Framing::Tunnel => Move::Switch,
            _ => Move::ResponseHead,
        });
    }

    /// Whether the bytes after a response of this status are no longer HTTP. The request's content has to be
    /// complete first: what follows 101 belongs to the new protocol (RFC 9110 §7.8).
    fn is_switch(&self, status: Status) -> bool {
        let asked = match status {
            Status::SWITCHING_PROTOCOLS => self.request.asks_upgrade,
            _ => self.request.is_connected(status),
        };
        asked && self.state.receiving == Receiving::Complete
    }

    /// Writes an interim response, 100 or 103 (RFC 9110 §15.2). HTTP/1.0 does not have them, so its clients
    /// get nothing.
    #[inline(never)] // so that the encoder is inlined where final heads are written
    pub fn send_interim(&mut self, head: &ResponseHead, out: &mut Vec<u8>) {
        self.step(Move::Interim);
        let due = self.state.sending == Sending::Head;
        if !due || self.request.is_http10 || !head.status().is_informational() {
            return;
        }
        if head.status() == Status::CONTINUE {
            self.request.expects_continue = false;
        }
        encode::status_line(head.status(), out);
        encode::head_fields(head, out);
        out.extend_from_slice(b"\r\n");
    }

    content_methods!();

    /// A response of known length is complete with its last byte.
    fn end_if_sent(&mut self) {
        if self.outgoing == Outgoing::Length(0) {
            self.outgoing = Outgoing::Nothing;
            self.step(Move::ResponseEnd);
        }
    }

    /// Ends the response: writes the last chunk and the trailers, if it is chunked. Does nothing if the
    /// response is complete already.
    ///
    /// # Errors
    /// Bytes of the announced length are missing; the connection closes.
    pub fn send_end(&mut self, trailers: Option<&FieldSection>, out: &mut Vec<u8>) -> Result<(), CutShort> {
        if self.state.sending == Sending::Complete {
            return Ok(());
        }
        match self.outgoing.finish(trailers, out) {
            0 => {
                self.step(Move::ResponseEnd);
                Ok(())
            }
            missing => {
                self.cut_short();
                Err(CutShort { missing })
            }
        }
    }

    /// Aborts a response whose content failed: it must not look complete, so nothing more is written and
    /// [`next`](Self::next) returns close (RFC 9112 §8).
    pub fn cut_short(&mut self) {
        self.outgoing = Outgoing::Nothing;
        self.request.persists = false;
    }
}

impl Request {
    fn framing(self, status: Status, length: Option<u64>) -> Framing {
        match length {
            _ if self.is_head || status.forbids_content() || self.is_connected(status) => Framing::Complete,
            Some(0) => Framing::Complete,
            Some(length) => Framing::Length(length),
            // RFC 9112 §6.1: no transfer coding for HTTP/1.0 clients.
            None if self.is_http10 => Framing::UntilClose,
            None => Framing::Chunked,
        }
    }

    /// Whether the response says that CONNECT succeeded (RFC 9110 §9.3.6).
    fn is_connected(self, status: Status) -> bool {
        self.is_connect && (200..300).contains(&status.code())
    }
}

/// RFC 9110 §7.8: the sender of Upgrade also lists it in Connection.
fn switch_field(status: Status) -> &'static [u8] {
    if status == Status::SWITCHING_PROTOCOLS { b"connection: upgrade\r\n" } else { b"" }
}
