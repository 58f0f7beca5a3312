//! One request to a backend.

use super::fastcgi::ErrorSink;
use hayami_http::{FieldSection, Known, ResponseHead, Source};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A request.
pub struct Call {
    /// The method: a token.
    pub method: Vec<u8>,
    /// The request target as sent on the wire: visible ASCII.
    pub target: Vec<u8>,
    /// Fields, including Host. The engine writes the framing and connection fields itself and ignores any given here.
    pub fields: Box<FieldSection>,
    /// Content, sent with Content-Length if [`Source::length`] is known, chunked otherwise.
    pub content: Option<Box<dyn Source>>,
    /// Requests a protocol upgrade (RFC 9110 §7.8). The request then has no content and is sent over
    /// HTTP/1.1; its method is neither HEAD nor CONNECT.
    pub upgrade: Option<Switch>,
    /// Less common options.
    pub options: CallOptions,
    /// Whether the request is idempotent and may be retried (RFC 9110 §9.2.2).
    pub repeatable: bool,
    /// Called for each interim response (RFC 9110 §15.2), including 100.
    pub interim: Option<InterimSink>,
    /// Called with the standard error of a FastCGI application, piece by piece as it arrives.
    pub errors: Option<ErrorSink>,
}

impl Call {
    /// Creates a call without content, repeatable and with default options.
    pub fn new(method: &[u8], target: Vec<u8>, fields: impl Into<Box<FieldSection>>) -> Self {
        Self {
            method: method.to_vec(),
            target,
            fields: fields.into(),
            content: None,
            upgrade: None,
            options: CallOptions::default(),
            repeatable: true,
            interim: None,
            errors: None,
        }
    }

    /// Records whether the call is about to be sent over HTTP/2.
    pub(super) fn note_protocol(&self, over_http2: bool) {
        if let Some(streaming) = &self.options.streaming {
            streaming.0.set(over_http2);
        }
    }
}

/// An upgrade to another protocol.
#[derive(Clone, Debug)]
pub struct Switch {
    /// The offered protocols, in the syntax of the Upgrade field.
    pub protocols: Vec<u8>,
    /// Idle timeout of the tunnel, for both directions together.
    pub idle: Duration,
}

impl Switch {
    /// Whether a 101 response names a requested protocol (RFC 9110 §7.8); names are case-insensitive.
    pub(super) fn allows(&self, head: &ResponseHead) -> bool {
        let Some(chosen) = head.get(Known::Upgrade) else { return false };
        let mut asked = self.protocols.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        asked.any(|protocol| protocol.eq_ignore_ascii_case(chosen.trim_ascii()))
    }
}

/// Less common options of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Bytes sent before everything else, TLS included: a PROXY protocol header. The call uses a new
    /// connection, which the origin must not reuse afterwards.
    pub proxy_header: Option<Vec<u8>>,
    /// The fields contain `expect: 100-continue`: content is not requested before the upstream sends 100 or a
    /// second passes (RFC 9110 §10.1.1). If the upstream sends a final response at once, content is not sent.
    pub expects_continue: bool,
    /// Marks a streaming call such as gRPC, which requires HTTP/2: HTTP/2 is offered to an upstream that may
    /// support it.
    pub streaming: Option<OverHttp2>,
}

/// Whether a streaming call uses HTTP/2; kept up to date until the response head arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverHttp2(Rc<Cell<bool>>);

impl OverHttp2 {
    /// Whether the call uses HTTP/2; `false` while this is undecided.
    pub fn get(&self) -> bool {
        self.0.get()
    }
}

/// Called for each interim response.
pub type InterimSink = Box<dyn FnMut(&ResponseHead)>;
