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
    /// The target in the form in which it is sent: visible ASCII.
    pub target: Vec<u8>,
    /// Fields, Host among them. Those of framing and connection are written by the engine, whatever is here.
    pub fields: Box<FieldSection>,
    /// Content, sent with its length if [`Source::length`] knows it, in chunks otherwise.
    pub content: Option<Box<dyn Source>>,
    /// Asks to go on in another protocol (RFC 9110 §7.8). Then it has no content, and goes over HTTP/1.1; its
    /// method is neither HEAD nor CONNECT.
    pub upgrade: Option<Switch>,
    /// What else is particular about it.
    pub options: CallOptions,
    /// Asking twice does no harm (RFC 9110 §9.2.2).
    pub repeatable: bool,
    /// Is told of interim responses (RFC 9110 §15.2), 100 among them.
    pub interim: Option<InterimSink>,
    /// Is told what a FastCGI application says on its standard error, in pieces as they come.
    pub errors: Option<ErrorSink>,
}

impl Call {
    /// A call without content that may be sent twice, with nothing particular about it.
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

    /// The call is about to go over HTTP/2, or not.
    pub(super) fn note_protocol(&self, over_http2: bool) {
        if let Some(streaming) = &self.options.streaming {
            streaming.0.set(over_http2);
        }
    }
}

/// What a call asks for besides an answer: to go on in another protocol.
#[derive(Clone, Debug)]
pub struct Switch {
    /// The protocols to choose from, as an Upgrade field has them.
    pub protocols: Vec<u8>,
    /// How long nothing may move in either direction of the tunnel.
    pub idle: Duration,
}

impl Switch {
    /// Whether a 101 names a protocol that was asked for (RFC 9110 §7.8); names are compared without case.
    pub(super) fn allows(&self, head: &ResponseHead) -> bool {
        let Some(chosen) = head.get(Known::Upgrade) else { return false };
        let mut asked = self.protocols.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        asked.any(|protocol| protocol.eq_ignore_ascii_case(chosen.trim_ascii()))
    }
}

/// What is particular about a request: mostly nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Bytes that go out in front of everything else, TLS too: a header of the PROXY protocol. The call then has a
    /// new connection, on which its origin must let no other follow.
    pub proxy_header: Option<Vec<u8>>,
    /// Its fields have `expect: 100-continue`: content is not asked for before the upstream wants it, or a second has
    /// passed (RFC 9110 §10.1.1). If it answers at once, content is not sent.
    pub expects_continue: bool,
    /// It is a streaming call, gRPC above all, which knows nothing but HTTP/2: that is offered to an upstream which may
    /// speak it.
    pub streaming: Option<OverHttp2>,
}

/// Whether a streaming call goes to its upstream over HTTP/2; kept up to date until the response's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverHttp2(Rc<Cell<bool>>);

impl OverHttp2 {
    /// Whether it does; `false` as long as that is open.
    pub fn get(&self) -> bool {
        self.0.get()
    }
}

/// Is told of interim responses.
pub type InterimSink = Box<dyn FnMut(&ResponseHead)>;
