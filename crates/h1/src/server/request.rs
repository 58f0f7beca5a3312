//! Parses and checks request heads, and decides what follows them.

use super::{Event, Received, Request, RequestContent, Server, more};
use crate::bytes::{is_plain_host, list};
use crate::fault::{Fault, Stop};
use crate::field_line::{self, Seen};
use crate::framing::{self, Declared};
use crate::head::{Progress, judge_start, too_long};
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::request_line;
use crate::state::Move;
use hayami_http::{Known, Method, RequestHead, Version, split_authority};

/// Empty lines before a request line are skipped, because old clients sent one after POST content
/// (RFC 9112 §2.2); more than these are not an old client's mistake.
const EMPTY_LINES: u8 = 8;

impl Server {
    pub(super) fn receive_head(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut RequestHead,
    ) -> Result<Received, Fault> {
        let skipped = self.skip_empty_lines(input)?;
        let bytes = &input[skipped..];
        match self.parse_head(limits, bytes, head) {
            Ok((len, seen)) => {
                let content = self.accept(limits, head, seen)?;
                Ok(Received { consumed: skipped + len, event: Event::Request(content) })
            }
            Err(Stop::Incomplete) => Ok(more(skipped)),
            Err(Stop::Fault(fault)) => {
                keep_request_line(bytes, head);
                Err(fault)
            }
        }
    }

    fn skip_empty_lines(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let mut at = 0;
        while self.progress.is_nothing() {
            at += match &input[at..] {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => break,
            };
            self.empty_lines += 1;
            if self.empty_lines > EMPTY_LINES {
                return Err(Fault::TooManyEmptyLines);
            }
        }
        Ok(at)
    }

    fn parse_head(
        &mut self,
        limits: &Limits,
        bytes: &[u8],
        head: &mut RequestHead,
    ) -> Result<(usize, Seen), Stop> {
        if !self.progress.is_nothing() {
            self.progress.resume(limits, bytes, |line| request_line::parse(line).map(drop))?;
        }
        let parsed = parse(limits, bytes, head);
        // A CR alone may be half of an empty line.
        if parsed == Err(Stop::Incomplete) && bytes != b"\r" {
            self.progress.remember(bytes);
        }
        parsed
    }

    /// Checks the head as a whole and decides what follows it.
    fn accept(&mut self, limits: &Limits, head: &RequestHead, seen: Seen) -> Result<RequestContent, Fault> {
        self.progress = Progress::default();
        self.empty_lines = 0;
        check_host(head, seen)?;
        let fields = head.fields();
        self.request = Request {
            is_http10: head.version() < Version::Http11,
            is_head: head.method() == Method::Head,
            is_connect: head.method() == Method::Connect,
            // Not after a call out of turn. What follows a CONNECT may be meant for the refused tunnel: it is
            // not a request.
            persists: self.request.persists
                && head.method() != Method::Connect
                && framing::persists(fields, seen, head.version()),
            expects_continue: false,
            asks_upgrade: false,
        };
        let content = match framing::declared(fields, seen, head.version())? {
            // RFC 9112 §6.3: a request without either field has no content.
            Declared::Nothing | Declared::Length(0) => RequestContent::None,
            Declared::Length(length) if length > limits.content => return Err(Fault::ContentTooLarge),
            Declared::Length(length) => RequestContent::Length(length),
            Declared::Chunked => RequestContent::Chunked,
        };
        let expects = seen.has(Known::Expect) && expects_continue(head)?;
        self.request.expects_continue = expects && content != RequestContent::None;
        self.request.asks_upgrade =
            seen.has(Known::Upgrade) && content == RequestContent::None && asks_upgrade(head);
        self.begin_content(content);
        Ok(content)
    }

    fn begin_content(&mut self, content: RequestContent) {
        self.incoming = match content {
            RequestContent::None => Incoming::Nothing,
            RequestContent::Length(length) => Incoming::Length(length),
            RequestContent::Chunked => Incoming::Chunked(Default::default()),
        };
        let whole = content == RequestContent::None;
        self.step(if whole { Move::WholeRequest } else { Move::RequestHead });
    }
}

/// RFC 9110 §7.8: HTTP/1.0 clients cannot upgrade, and the field counts only if Connection names it.
/// Responses to HEAD and CONNECT are distinguished from a tunnel by other rules.
#[cold]
fn asks_upgrade(head: &RequestHead) -> bool {
    let mut options = head.fields().get_all(Known::Connection).flat_map(list);
    head.version() == Version::Http11
        && !matches!(head.method(), Method::Head | Method::Connect)
        && options.any(|option| option.eq_ignore_ascii_case(b"upgrade"))
}

/// Parses a whole head. Returns its length and the names in it.
fn parse(limits: &Limits, bytes: &[u8], head: &mut RequestHead) -> Result<(usize, Seen), Stop> {
    let (line, at) = match request_line::parse(bytes) {
        Ok(parsed) => parsed,
        Err(stop) => return Err(judge_start(bytes, limits, stop)),
    };
    if let Some(fault) = too_long(at, limits) {
        return Err(fault.into());
    }
    let fields = head.fields_mut();
    fields.clear();
    let (len, seen) = field_line::section(bytes, at, limits, fields)?;
    fields.set_bytes(&bytes[..len]);
    head.set_line(line);
    Ok((len, seen))
}

/// Leaves in `head` what a log can say about a request whose head broke a rule.
#[cold]
fn keep_request_line(bytes: &[u8], head: &mut RequestHead) {
    match request_line::parse(bytes) {
        Ok((line, at)) => {
            head.reset_to(&bytes[..at]);
            head.set_line(line);
        }
        Err(_) => head.reset_to(b""),
    }
}

/// RFC 9112 §3.2: one valid Host field, whatever the target; only HTTP/1.0 clients may leave it out.
fn check_host(head: &RequestHead, seen: Seen) -> Result<(), Fault> {
    match head.get(Known::Host) {
        None if head.version() < Version::Http11 => Ok(()),
        None => Err(Fault::MissingHost),
        Some(_) if seen.repeats(Known::Host) => Err(Fault::RepeatedHost),
        Some(host) if is_plain_host(host) => Ok(()),
        // Empty if the target has no authority (RFC 9112 §3.2).
        Some(host) if host.is_empty() || split_authority(host).is_some() => Ok(()),
        Some(_) => Err(Fault::InvalidHost),
    }
}

/// RFC 9110 §10.1.1: HTTP/1.0 clients cannot wait for 100; unknown expectations get 417.
fn expects_continue(head: &RequestHead) -> Result<bool, Fault> {
    if head.version() < Version::Http11 {
        return Ok(false);
    }
    let mut expectations = head.fields().get_all(Known::Expect).flat_map(list);
    match expectations.all(|expectation| expectation.eq_ignore_ascii_case(b"100-continue")) {
        true => Ok(true),
        false => Err(Fault::UnknownExpectation),
    }
}
