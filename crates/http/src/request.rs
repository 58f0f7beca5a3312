//! The request head: method, target, version and fields, whatever protocol brought them.

use crate::field::{FieldSection, Span};
use crate::known::Known;
use crate::method::Method;

/// The protocol version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Version {
    /// HTTP/1.0 (RFC 1945).
    Http10,
    /// HTTP/1.1 (RFC 9112).
    #[default]
    Http11,
    /// HTTP/2 (RFC 9113).
    Http2,
    /// HTTP/3 (RFC 9114).
    Http3,
}

impl Version {
    /// The name used in logs and in CGI: `HTTP/1.1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Http3 => "HTTP/3",
        }
    }
}

/// The four forms of a request target (RFC 9112 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TargetForm {
    /// `/where?q=now`
    #[default]
    Origin,
    /// `http://www.example.org/pub/WWW/TheProject.html`
    Absolute,
    /// `www.example.com:80`, for CONNECT only.
    Authority,
    /// `*`, for OPTIONS only.
    Asterisk,
}

/// Positions of the parts of a request line in the head's bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestLine {
    /// The method's name.
    pub method: Span,
    /// The target as received.
    pub target: Span,
    /// Its form.
    pub form: TargetForm,
    /// The target's path, still percent-encoded; empty for authority-form and asterisk-form.
    pub path: Span,
    /// The target's query without the `?`; `None` if there is no `?`.
    pub query: Option<Span>,
    /// The authority of an absolute-form or authority-form target, without userinfo.
    pub authority: Option<Span>,
    /// The version the client speaks.
    pub version: Version,
}

/// A request head. One is used again for every request of a worker: filling it does not allocate once its
/// buffers have grown.
#[derive(Clone, Debug, Default)]
pub struct RequestHead {
    fields: FieldSection,
    line: RequestLine,
    method: Method,
}

impl RequestHead {
    /// Starts a head from its bytes; spans given later point into these.
    pub fn reset_to(&mut self, bytes: &[u8]) {
        self.fields.reset_to(bytes);
        self.line = RequestLine::default();
        self.method = Method::default();
    }

    /// Sets the request line; the spans point into the bytes given to [`reset_to`](Self::reset_to).
    pub fn set_line(&mut self, line: RequestLine) {
        self.method = Method::from_name(line.method.of(self.fields.bytes()));
        self.line = line;
    }

    /// Starts a head whose parts come one by one, as those of HTTP/2 do: their bytes go to
    /// [`fields_mut`](Self::fields_mut), then [`set_parsed_line`](Self::set_parsed_line) follows.
    pub fn begin(&mut self) {
        self.fields.clear();
        self.line = RequestLine::default();
        self.method = Method::default();
    }

    /// Sets the request line of a method that was parsed already.
    pub fn set_parsed_line(&mut self, line: RequestLine, method: Method) {
        self.line = line;
        self.method = method;
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The method's name as received.
    pub fn method_name(&self) -> &[u8] {
        self.line.method.of(self.fields.bytes())
    }

    /// The protocol version.
    pub fn version(&self) -> Version {
        self.line.version
    }

    /// The form of the target.
    pub fn form(&self) -> TargetForm {
        self.line.form
    }

    /// The target as received.
    pub fn target(&self) -> &[u8] {
        self.line.target.of(self.fields.bytes())
    }

    /// The target's path, still percent-encoded. An absolute-form target without a path has `/`
    /// (RFC 9110 §4.2.3).
    pub fn path(&self) -> &[u8] {
        let path = self.line.path.of(self.fields.bytes());
        if path.is_empty() && self.line.form == TargetForm::Absolute { b"/" } else { path }
    }

    /// The query without its `?`.
    pub fn query(&self) -> Option<&[u8]> {
        self.line.query.map(|q| q.of(self.fields.bytes()))
    }

    /// The requested authority: of the target if it has one, else of the Host field (RFC 9112 §3.2.2).
    pub fn authority(&self) -> &[u8] {
        match self.line.authority {
            Some(span) => span.of(self.fields.bytes()),
            None => self.fields.get(Known::Host).unwrap_or_default(),
        }
    }

    /// The header fields.
    pub fn fields(&self) -> &FieldSection {
        &self.fields
    }

    /// The header fields, to be changed.
    pub fn fields_mut(&mut self) -> &mut FieldSection {
        &mut self.fields
    }

    /// Value of the first field line of a known name.
    pub fn get(&self, known: Known) -> Option<&[u8]> {
        self.fields.get(known)
    }

    /// The request line as one text: `GET /index.html HTTP/1.1`, for logs.
    pub fn request_line(&self) -> Vec<u8> {
        [self.method_name(), self.target(), self.version().name().as_bytes()].join(&b' ')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_removed_leaves_the_request_line_as_it_is() {
        let bytes = b"GET /a?b\r\nhost: x\r\ny: 1\r\nz: 2\r\n";
        let mut head = RequestHead::default();
        head.reset_to(bytes);
        let at = |text: &str| {
            let start = bytes.windows(text.len()).position(|own| own == text.as_bytes()).expect(text);
            Span::new(start, start + text.len())
        };
        head.set_line(RequestLine {
            method: at("GET"),
            target: at("/a?b"),
            path: at("/a"),
            query: Some(at("b")),
            authority: Some(at("x")),
            ..RequestLine::default()
        });
        for (name, value) in [("host", "x"), ("y", "1"), ("z", "2")] {
            head.fields_mut().push_span(at(name), at(value));
        }
        assert!(head.fields_mut().remove(b"Y"));
        head.fields_mut().set(b"z", b"3");
        let line = (head.method_name(), head.target(), head.path(), head.query(), head.authority());
        assert_eq!(line, (&b"GET"[..], &b"/a?b"[..], &b"/a"[..], Some(&b"b"[..]), &b"x"[..]));
        let fields: Vec<_> = head.fields().iter().collect();
        assert_eq!(fields, [(&b"host"[..], &b"x"[..]), (b"z", b"3")]);
        assert_eq!(head.get(Known::Host), Some(&b"x"[..]));
    }
}
