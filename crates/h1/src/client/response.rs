//! Parses and checks response heads, and decides what follows them.

use super::outstanding::RequestKind;
use super::{Client, ClientEvent, ClientReceived, ResponseContent, more};
use crate::bytes::list;
use crate::chunked::Chunked;
use crate::fault::{Fault, Stop};
use crate::field_line::{self, Seen};
use crate::framing::{self, Declared};
use crate::head::{Progress, judge_start, too_long};
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::outgoing::Outgoing;
use crate::state::ReadingMove;
use crate::status_line;
use hayami_http::{Known, ResponseHead, Status, Version};

impl Client {
    pub(super) fn receive_head(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut ResponseHead,
    ) -> Result<ClientReceived, Fault> {
        if input.is_empty() {
            return Ok(more(0));
        }
        // Unsolicited bytes would be taken for the response to the next request (RFC 9112 §11.2).
        let kind = self.outstanding.first().ok_or(Fault::UnsolicitedResponse)?;
        match self.parse_head(limits, input, head) {
            Ok((consumed, seen, version)) => {
                self.progress = Progress::default();
                let event = self.accept(limits, head, seen, version, kind)?;
                Ok(ClientReceived { consumed, event })
            }
            Err(Stop::Incomplete) => Ok(more(0)),
            Err(Stop::Fault(Fault::RequestLineTooLong)) => Err(Fault::StatusLineTooLong),
            Err(Stop::Fault(fault)) => Err(fault),
        }
    }

    fn parse_head(
        &mut self,
        limits: &Limits,
        bytes: &[u8],
        head: &mut ResponseHead,
    ) -> Result<(usize, Seen, Version), Stop> {
        if !self.progress.is_nothing() {
            self.progress.resume(limits, bytes, |line| status_line::parse(line).map(drop))?;
        }
        let parsed = parse(limits, bytes, head);
        if parsed == Err(Stop::Incomplete) {
            self.progress.remember(bytes);
        }
        parsed
    }

    fn accept(
        &mut self,
        limits: &Limits,
        head: &mut ResponseHead,
        seen: Seen,
        version: Version,
        kind: RequestKind,
    ) -> Result<ClientEvent, Fault> {
        if head.status() == Status::SWITCHING_PROTOCOLS {
            return self.switch(head, version, kind);
        }
        if head.status().is_informational() {
            if self.interim >= limits.interim {
                return Err(Fault::TooManyInterim);
            }
            self.interim += 1;
            self.step(ReadingMove::Interim);
            return Ok(ClientEvent::Interim);
        }
        let content = content_of(limits, head, seen, version, kind)?;
        let last = matches!(content, ResponseContent::UntilClose | ResponseContent::Tunnel);
        let persists = framing::persists(head.own_all(), seen, version) && !last;
        self.begin_response(content, persists);
        Ok(ClientEvent::Response(content))
    }

    /// The server switches protocols: legal only if the request asked for it and the response names the
    /// protocol (RFC 9110 §7.8). The caller knows which ones it offered.
    #[cold]
    fn switch(
        &mut self,
        head: &mut ResponseHead,
        version: Version,
        kind: RequestKind,
    ) -> Result<ClientEvent, Fault> {
        let fields = head.own_all();
        let mut options = fields.get_all(Known::Connection).flat_map(list);
        let says_so = options.any(|option| option.eq_ignore_ascii_case(b"upgrade"));
        let named = fields.get(Known::Upgrade).is_some();
        if kind != RequestKind::Upgrade || version != Version::Http11 || !says_so || !named {
            return Err(Fault::UnexpectedSwitch);
        }
        self.begin_response(ResponseContent::Tunnel, false);
        Ok(ClientEvent::Response(ResponseContent::Tunnel))
    }

    /// A final response begins.
    #[inline]
    pub(super) fn begin_response(&mut self, content: ResponseContent, persists: bool) {
        self.interim = 0;
        self.persists = persists;
        self.outstanding.pop();
        self.begin_content(content);
    }

    fn begin_content(&mut self, content: ResponseContent) {
        let (incoming, step) = match content {
            ResponseContent::None => (Incoming::Nothing, ReadingMove::Whole),
            ResponseContent::Length(length) => (Incoming::Length(length), ReadingMove::Content),
            ResponseContent::Chunked => (Incoming::Chunked(Chunked::default()), ReadingMove::Content),
            ResponseContent::UntilClose => (Incoming::UntilClose(0), ReadingMove::Content),
            ResponseContent::Tunnel => {
                self.outgoing = Outgoing::UntilClose;
                (Incoming::Nothing, ReadingMove::Tunnel)
            }
        };
        self.incoming = incoming;
        self.step(step);
        if content == ResponseContent::None {
            self.finish_response();
        }
    }

    /// RFC 9112 §9.6: nothing after a response with `connection: close` is a response.
    pub(super) fn finish_response(&mut self) {
        if !self.persists {
            self.step(ReadingMove::Close);
        }
    }
}

/// Parses a whole head.
fn parse(limits: &Limits, bytes: &[u8], head: &mut ResponseHead) -> Result<(usize, Seen, Version), Stop> {
    let (version, status, at) = status_line::parse(bytes).map_err(|stop| judge_start(bytes, limits, stop))?;
    if let Some(fault) = too_long(at, limits) {
        return Err(fault.into());
    }
    head.set_status(status);
    let fields = head.own_all();
    fields.clear();
    let (len, seen) = field_line::section(bytes, at, limits, fields)?;
    fields.set_bytes(&bytes[..len]);
    Ok((len, seen, version))
}

/// What follows the head: the rules of RFC 9112 §6.3 in their order.
fn content_of(
    limits: &Limits,
    head: &mut ResponseHead,
    seen: Seen,
    version: Version,
    kind: RequestKind,
) -> Result<ResponseContent, Fault> {
    let status = head.status();
    if kind == RequestKind::Head || status.forbids_content() {
        return Ok(ResponseContent::None);
    }
    if kind == RequestKind::Connect && (200..300).contains(&status.code()) {
        return Ok(ResponseContent::Tunnel);
    }
    match framing::declared(head.own_all(), seen, version)? {
        Declared::Nothing => Ok(ResponseContent::UntilClose),
        Declared::Chunked => Ok(ResponseContent::Chunked),
        Declared::Length(0) => Ok(ResponseContent::None),
        Declared::Length(length) if length > limits.content => Err(Fault::ContentTooLarge),
        Declared::Length(length) => Ok(ResponseContent::Length(length)),
    }
}
