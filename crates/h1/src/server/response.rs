//! Responses: heads, content and the end, written to the caller's buffer.

use super::{Request, Server};
use crate::encode;
use crate::outgoing::Outgoing;
use crate::state::{Move, Receiving, Sending};
use hayami_http::{FieldSection, ResponseHead, Status};
use std::fmt;

/// What follows a response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Nothing: the response is complete (HEAD, 204, 304, length 0).
    Complete,
    /// So many octets. The response is complete when they were sent.
    Length(u64),
    /// Chunks, until [`Server::send_end`].
    Chunked,
    /// Octets until [`Server::send_end`] and the end of the connection: the client speaks HTTP/1.0.
    UntilClose,
}

/// A response ended before all its octets were sent. The connection must close, so that the client sees
/// that something is missing (RFC 9112 §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// Octets that were announced and not sent.
    pub missing: u64,
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the response ended {} octets before its announced length", self.missing)
    }
}

impl std::error::Error for CutShort {}

impl Server {
    /// Writes a response head: the status line, `common` (ready field lines, each with its CRLF), the
    /// fields of framing and connection, the head's fields without those, and the empty line.
    ///
    /// `length` is the number of octets of the content, for HEAD that of GET's content; `None` if it is
    /// unknown. Interim responses go by [`send_interim`](Self::send_interim).
    pub fn send_head(
        &mut self,
        response: &ResponseHead,
        length: Option<u64>,
        common: &[u8],
        out: &mut Vec<u8>,
    ) -> Framing {
        if self.state.sending != Sending::Head || response.status().is_informational() {
            self.request.persists = false;
            return Framing::Complete;
        }
        let framing = self.request.framing(response.status(), length);
        self.decide_persistence(response.status(), framing);
        encode::status_line(response.status(), out);
        out.extend_from_slice(common);
        self.framing_field(response.status(), framing, length, out);
        out.extend_from_slice(self.connection_field());
        encode::head_fields(response, out);
        out.extend_from_slice(b"\r\n");
        self.begin_response(framing);
        framing
    }

    fn decide_persistence(&mut self, status: Status, framing: Framing) {
        // RFC 9110 §10.1.1: whether the content still comes is the client's choice now, and its first
        // octets could not be told from a request.
        let unsure = self.request.expects_continue && self.state.receiving == Receiving::Content;
        let tunnel = self.request.is_tunnel(status);
        self.request.persists &= !unsure && !tunnel && framing != Framing::UntilClose;
    }

    fn framing_field(&self, status: Status, framing: Framing, length: Option<u64>, out: &mut Vec<u8>) {
        match (framing, length) {
            // RFC 9110 §8.6, RFC 9112 §6.1: none in 204 and in 2xx to CONNECT; in 304 it would have to be
            // that of the 200 response, which is not known here.
            _ if status.forbids_content() || self.request.is_tunnel(status) => {}
            (Framing::Chunked, _) => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
            (_, Some(length)) => encode::content_length(length, out),
            (_, None) => {}
        }
    }

    /// RFC 9112 §9.6: the last response says so. HTTP/1.0 clients are told when it is not (§9.3).
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
            Framing::UntilClose => Outgoing::UntilClose,
        };
        let whole = framing == Framing::Complete;
        self.step(if whole { Move::WholeResponse } else { Move::ResponseHead });
    }

    /// Writes an interim response, 100 or 103 (RFC 9110 §15.2). HTTP/1.0 clients do not know them and get
    /// nothing.
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

    /// Writes content, in chunks if need be. What exceeds the announced length, and all content of
    /// responses that have none, is dropped.
    pub fn send_content(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        self.outgoing.content(octets, out);
        self.end_if_sent();
    }

    /// Tells that octets of a [`Framing::Length`] response left on another way, by `sendfile` or from a
    /// shared buffer.
    pub fn content_sent(&mut self, octets: u64) {
        self.outgoing.count(octets);
        self.end_if_sent();
    }

    /// Starts a piece of content that its producer then appends to `out`;
    /// [`end_chunk`](Self::end_chunk) gets the mark. In chunked framing room for the chunk size is left.
    pub fn begin_chunk(&self, out: &mut Vec<u8>) -> usize {
        self.outgoing.begin(out)
    }

    /// Ends the piece begun at `mark`, whatever the framing: fills in the chunk size, or counts the octets
    /// of a [`Framing::Length`] response. A piece without octets leaves no trace.
    pub fn end_chunk(&mut self, mark: usize, out: &mut Vec<u8>) {
        self.outgoing.end(mark, out);
        self.end_if_sent();
    }

    /// A response of known length is complete with its last octet.
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
    /// Octets of the announced length are missing; the connection closes.
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

    /// Gives up a response whose content failed: it must not look complete, so nothing more is written
    /// and [`next`](Self::next) says close (RFC 9112 §8).
    pub fn cut_short(&mut self) {
        self.outgoing = Outgoing::Nothing;
        self.request.persists = false;
    }
}

impl Request {
    fn framing(self, status: Status, length: Option<u64>) -> Framing {
        match length {
            _ if self.is_head || status.forbids_content() || self.is_tunnel(status) => Framing::Complete,
            Some(0) => Framing::Complete,
            Some(length) => Framing::Length(length),
            // RFC 9112 §6.1: no transfer coding for HTTP/1.0 clients.
            None if self.is_http10 => Framing::UntilClose,
            None => Framing::Chunked,
        }
    }

    /// Whether the octets behind the response would be no longer HTTP (RFC 9110 §9.3.6). No tunnel is
    /// built yet: [`Next::Close`](super::Next::Close) follows; this is where one would begin.
    fn is_tunnel(self, status: Status) -> bool {
        self.is_connect && (200..300).contains(&status.code())
    }
}
