//! Request heads from field blocks (RFC 9113 §8.3.1).
//!
//! A head that breaks a rule is still decoded to its end, because the decoder has to stay in sync.

use crate::config::Config;
use crate::fault::Fault;
use crate::field_block::{HeadFields, append, check, content_length};
use crate::priority::Priority;
use hayami_hpack::{Field, Sink, Token};
use hayami_http::field::is_token;
use hayami_http::request::RequestLine;
use hayami_http::target::has_target_bytes;
use hayami_http::{
    Known, Method, RequestHead, Span, Status, TargetForm, Version, is_same_authority, split_authority,
};

/// The parts of a head other than its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) content_length: Option<u64>,
    pub(crate) priority: Option<Priority>,
    pub(crate) method: Method,
    /// The head exceeds a limit.
    pub(crate) refused: Option<Status>,
}

/// The connection's last well-formed authority: nearly all of its requests have the same.
#[derive(Debug)]
pub(crate) struct Checked {
    len: u8,
    bytes: [u8; 47],
}

impl Default for Checked {
    fn default() -> Self {
        Self { len: 0, bytes: [0; 47] }
    }
}

impl Checked {
    /// Whether it's an authority of HTTP (RFC 9113 §8.3.1: without userinfo).
    #[inline]
    fn is_authority(&mut self, authority: &[u8]) -> bool {
        let known = self.len > 0 && self.bytes[..usize::from(self.len)] == *authority;
        known || self.check(authority)
    }

    #[cold]
    fn check(&mut self, authority: &[u8]) -> bool {
        let good = split_authority(authority).is_some();
        if good && let Some(place) = self.bytes.get_mut(..authority.len()) {
            place.copy_from_slice(authority);
            self.len = authority.len() as u8;
        }
        good
    }
}

/// Fills a head from fields.
pub(crate) struct RequestFields<'a> {
    head: &'a mut RequestHead,
    checked: &'a mut Checked,
    config: &'a Config,
    line: RequestLine,
    method: Method,
    /// The pseudo-header fields seen, one bit each.
    seen: u8,
    /// A regular field was seen: no pseudo-header field may follow.
    regular: bool,
    scattered_cookies: bool,
    /// The scheme's default port, for an authority without one.
    default_port: Option<u16>,
    parsed: Parsed,
    fault: Option<Fault>,
}

const METHOD: u8 = 1;
const SCHEME: u8 = 2;
const PATH: u8 = 4;
const AUTHORITY: u8 = 8;
const PROTOCOL: u8 = 16;

impl Sink for RequestFields<'_> {
    #[inline]
    fn field(&mut self, field: Field<'_>) {
        self.take(&field);
    }
}

impl HeadFields for RequestFields<'_> {
    #[inline]
    fn fault(&mut self) -> &mut Option<Fault> {
        &mut self.fault
    }

    /// A pseudo-header field: once each, and before the others (RFC 9113 §8.3).
    #[inline]
    fn pseudo(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        if self.regular {
            return Err(Fault::PseudoLate);
        }
        let bit = match field.token {
            Token::Method => METHOD,
            Token::Scheme => SCHEME,
            Token::Path => PATH,
            Token::Authority => AUTHORITY,
            Token::Protocol => PROTOCOL,
            _ => return Err(Fault::PseudoUnknown), // RFC 9113 §8.3: `:status` is for responses
        };
        if self.seen & bit != 0 {
            return Err(Fault::PseudoRepeated);
        }
        self.seen |= bit;
        match bit {
            METHOD => self.set_method(field.value),
            SCHEME => self.set_scheme(field.value),
            PATH => self.set_path(field.value),
            AUTHORITY => self.set_authority(field.value),
            _ => self.set_protocol(field),
        }
    }

    #[inline]
    fn regular(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        self.regular = true;
        check(field)?;
        if let Token::Known(known) = field.token {
            match known {
                Known::ContentLength => {
                    let length = content_length(self.parsed.content_length, field.value)?;
                    self.parsed.content_length = Some(length);
                }
                Known::Host if self.head.get(Known::Host).is_some() => return Err(Fault::HostRepeated),
                Known::Priority => self.parsed.priority = Some(Priority::parse(field.value)),
                Known::Cookie if self.add_crumb(field) => return Ok(()),
                _ => {}
            }
        }
        if self.head.fields().len() >= usize::from(self.config.max_fields) {
            self.parsed.refused = Some(Status::REQUEST_HEADER_FIELDS_TOO_LARGE);
            return Ok(());
        }
        append(self.head.fields_mut(), field);
        Ok(())
    }
}

impl<'a> RequestFields<'a> {
    #[inline]
    pub(crate) fn new(head: &'a mut RequestHead, config: &'a Config, checked: &'a mut Checked) -> Self {
        head.begin();
        let line = RequestLine { version: Version::Http2, ..RequestLine::default() };
        let parsed = Parsed { content_length: None, priority: None, method: Method::Get, refused: None };
        let method = Method::Get;
        Self {
            head,
            checked,
            config,
            line,
            method,
            seen: 0,
            regular: false,
            scattered_cookies: false,
            default_port: None,
            parsed,
            fault: None,
        }
    }

    #[inline]
    fn set_method(&mut self, name: &[u8]) -> Result<(), Fault> {
        self.method = Method::from_name(name);
        self.line.method = self.head.fields_mut().push_bytes(name);
        if self.method == Method::Other && !is_token(name) {
            return Err(Fault::Method);
        }
        Ok(())
    }

    #[inline]
    fn set_scheme(&mut self, scheme: &[u8]) -> Result<(), Fault> {
        self.default_port = match scheme {
            b"https" => Some(443),
            b"http" => Some(80),
            _ => return self.set_other_scheme(scheme),
        };
        Ok(())
    }

    /// RFC 3986 §3.1. Schemes other than http and https pass: gateways may use any (RFC 9113 §8.3.1).
    #[cold]
    fn set_other_scheme(&mut self, scheme: &[u8]) -> Result<(), Fault> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        self.default_port = match scheme {
            scheme if scheme.eq_ignore_ascii_case(b"https") => Some(443),
            scheme if scheme.eq_ignore_ascii_case(b"http") => Some(80),
            [first, rest @ ..] if first.is_ascii_alphabetic() && rest.iter().all(is_part) => None,
            _ => return Err(Fault::Scheme),
        };
        Ok(())
    }

    #[inline]
    fn set_path(&mut self, path: &[u8]) -> Result<(), Fault> {
        if path.len() > self.config.max_target as usize {
            self.parsed.refused = Some(Status::URI_TOO_LONG);
            return Ok(());
        }
        if path.is_empty() || !has_target_bytes(path) {
            return Err(Fault::Target);
        }
        let target = self.head.fields_mut().push_bytes(path);
        self.line.target = target;
        let (start, end) = (target.start as usize, (target.start + target.len) as usize);
        let question = memchr::memchr(b'?', path).map(|at| start + at);
        self.line.path = Span::new(start, question.unwrap_or(end));
        self.line.query = question.map(|at| Span::new(at + 1, end));
        Ok(())
    }

    #[inline]
    fn set_authority(&mut self, authority: &[u8]) -> Result<(), Fault> {
        if !self.checked.is_authority(authority) {
            return Err(Fault::Authority);
        }
        self.line.authority = Some(self.head.fields_mut().push_bytes(authority));
        Ok(())
    }

    /// RFC 8441 §4. The head stores it under this name, which no real field can have.
    fn set_protocol(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        if !self.config.enable_connect_protocol || !is_token(field.value) {
            return Err(Fault::ProtocolForm);
        }
        self.head.fields_mut().append_known(field.name, field.value, None);
        Ok(())
    }

    /// Joins a piece of a cookie with those before (RFC 9113 §8.2.3). `false` if there is no earlier one.
    fn add_crumb(&mut self, crumb: &Field<'_>) -> bool {
        let fields = self.head.fields_mut();
        let joined = fields.extend_last(Known::Cookie, b"; ", crumb.value);
        if joined && crumb.never_indexed {
            fields.mark_sensitive();
        }
        self.scattered_cookies |= !joined && fields.get(Known::Cookie).is_some();
        joined
    }

    /// The head is complete. `too_large`: fields are missing.
    #[inline]
    pub(crate) fn finish(mut self, too_large: bool) -> Result<Parsed, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if too_large {
            self.parsed.refused = Some(Status::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        if self.scattered_cookies {
            self.head.fields_mut().join(Known::Cookie, b"; ");
        }
        if self.parsed.refused.is_none() {
            self.check_target()?;
            self.check_host()?;
        }
        self.parsed.method = self.method;
        self.head.set_parsed_line(self.line, self.method);
        Ok(self.parsed)
    }

    #[inline]
    fn check_target(&mut self) -> Result<(), Fault> {
        if self.method == Method::Connect || self.seen & PROTOCOL != 0 {
            return self.check_connect();
        }
        // RFC 9113 §8.3.1
        if self.seen & (METHOD | SCHEME | PATH) != METHOD | SCHEME | PATH {
            return Err(Fault::PseudoMissing);
        }
        self.check_path()
    }

    #[inline]
    fn check_path(&mut self) -> Result<(), Fault> {
        match self.line.target.of(self.head.fields().bytes()) {
            [b'/', ..] => Ok(()),
            b"*" if self.method == Method::Options => {
                self.line.form = TargetForm::Asterisk;
                self.line.path = Span::default();
                Ok(())
            }
            _ => Err(Fault::Target),
        }
    }

    #[cold]
    fn check_connect(&mut self) -> Result<(), Fault> {
        match self.seen {
            // RFC 8441 §4: an ordinary target plus a protocol.
            seen if seen == METHOD | SCHEME | PATH | AUTHORITY | PROTOCOL => match self.method {
                Method::Connect => self.check_path(),
                _ => Err(Fault::ProtocolForm),
            },
            seen if seen & PROTOCOL != 0 => Err(Fault::ProtocolForm),
            // RFC 9113 §8.5: an authority with a port, and nothing else.
            seen if seen == METHOD | AUTHORITY => {
                let authority = self.line.authority.unwrap_or_default();
                self.line.target = authority;
                self.line.form = TargetForm::Authority;
                match split_authority(authority.of(self.head.fields().bytes())) {
                    Some((_, Some(_))) => Ok(()),
                    _ => Err(Fault::ConnectForm),
                }
            }
            _ => Err(Fault::ConnectForm),
        }
    }

    /// RFC 9113 §8.3.1: a Host field next to `:authority` has to be equivalent; without `:authority` it names
    /// the host.
    #[inline]
    fn check_host(&self) -> Result<(), Fault> {
        match (self.line.authority, self.head.get(Known::Host)) {
            (Some(_), None) => Ok(()),
            (Some(authority), Some(host)) => {
                let authority = authority.of(self.head.fields().bytes());
                let same = is_same_authority(authority, host, self.default_port);
                if same { Ok(()) } else { Err(Fault::HostDiffers) }
            }
            (None, Some(host)) => split_authority(host).map(drop).ok_or(Fault::Authority),
            (None, None) => Err(Fault::Authority),
        }
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
