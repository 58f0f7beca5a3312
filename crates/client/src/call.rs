//! One request to a backend, and what comes of it.

use super::tunnel::{Switch, Tunnel};
use hayami_h2::ErrorCode;
use hayami_http::{Content, FieldSection, ResponseHead, Source, SourceError};
use hayami_tls::Fault as TlsFault;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// A request.
pub struct Call {
    /// The method: a token.
    pub method: Vec<u8>,
    /// The target in the form in which it is sent: visible ASCII.
    pub target: Vec<u8>,
    /// Fields, Host among them. Those of framing and connection are written by the engine, whatever is here.
    pub fields: FieldSection,
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
    /// The call is about to go over HTTP/2, or not.
    pub(super) fn note_protocol(&self, over_http2: bool) {
        if let Some(streaming) = &self.options.streaming {
            streaming.0.set(over_http2);
        }
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

/// Is told what an application says on its standard error.
pub type ErrorSink = Rc<dyn Fn(&[u8])>;

/// A response.
#[derive(Debug)]
pub struct Reply {
    /// Status and fields as they came, those of framing and connection among them.
    pub head: ResponseHead,
    /// Its content. To a HEAD request it is what GET would have got, as far as that was said: it has a
    /// length and no bytes.
    pub content: Content,
    /// The connection, if the upstream goes on in another protocol: the status is 101 then, and no other time.
    pub tunnel: Option<Tunnel>,
    /// The upstream closes the connection behind it.
    pub closes: bool,
    /// How long what took.
    pub timing: Timing,
}

/// How long the parts of a call took, from its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Until there was a connection; `None` if one was used again.
    pub connected: Option<Duration>,
    /// Until the request had left; that of the head if it was answered before.
    pub sent: Duration,
    /// Until the response's head was there.
    pub head: Duration,
    /// Bytes of the request's head, as they were sent; zero if they are not counted (HTTP/2).
    pub request_head: usize,
    /// Bytes of the response's heads, interim ones included; likewise.
    pub response_head: usize,
}

/// No response.
pub struct Failure {
    /// How far it had come.
    pub phase: Phase,
    /// What was wrong.
    pub cause: Cause,
    /// Since the call began.
    pub elapsed: Duration,
    /// The call, if it may be sent elsewhere: nothing of it can have arrived, or it is repeatable, and its
    /// content is untouched.
    pub call: Option<Call>,
}

/// How far a call had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The connection was being made.
    Connect,
    /// The request was being sent.
    Send,
    /// Nothing of the response was there.
    FirstByte,
    /// Part of the response's head was there.
    Head,
}

/// What was wrong.
#[derive(Debug)]
pub enum Cause {
    /// The system said so.
    Io(io::Error),
    /// It took too long.
    Timeout,
    /// The upstream closed the connection.
    Closed,
    /// The upstream, or the application, broke a rule of its protocol.
    Protocol(ProtocolFault),
    /// The upstream reset the request's stream.
    Reset(ErrorCode),
    /// The upstream takes no more requests on this connection.
    GoneAway(ErrorCode),
    /// The request's own content could not be had.
    Content(SourceError),
    /// The upstream is not who it should be, or speaks no TLS that can be spoken to it.
    Tls(TlsFault),
    /// The origin has no addresses.
    NoPeers,
}

/// The rule that an upstream broke, whatever is spoken to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolFault {
    text: Box<str>,
    /// The application is there, and has too much to do: that is said by FastCGI only.
    pub is_overload: bool,
}

impl From<hayami_h1::Fault> for Cause {
    fn from(fault: hayami_h1::Fault) -> Self {
        Self::Protocol(ProtocolFault { text: fault.to_string().into(), is_overload: false })
    }
}

impl From<hayami_h2::Fault> for Cause {
    fn from(fault: hayami_h2::Fault) -> Self {
        Self::Protocol(ProtocolFault { text: fault.to_string().into(), is_overload: false })
    }
}

impl From<hayami_fcgi::Fault> for Cause {
    fn from(fault: hayami_fcgi::Fault) -> Self {
        Self::Protocol(ProtocolFault { text: fault.to_string().into(), is_overload: fault.is_overload() })
    }
}

impl fmt::Display for ProtocolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Send => "sending the request",
            Self::FirstByte => "waiting for the response",
            Self::Head => "reading the response's head",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Timeout => f.write_str("timed out"),
            Self::Closed => f.write_str("the upstream closed the connection"),
            Self::Protocol(fault) => fault.fmt(f),
            Self::Reset(code) => write!(f, "the upstream reset the stream ({code})"),
            Self::GoneAway(code) => {
                write!(f, "the upstream sent GOAWAY ({code})")
            }
            Self::Content(error) => write!(f, "the request's content: {error}"),
            Self::Tls(fault) => tls(fault, f),
            Self::NoPeers => f.write_str("the host name has no addresses"),
        }
    }
}

/// Why a handshake was not completed.
fn tls(fault: &TlsFault, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match fault {
        TlsFault::PlainHttp | TlsFault::NotTls => f.write_str("the upstream does not speak TLS on this port"),
        TlsFault::Handshake(why) => write!(f, "the TLS handshake failed: {why}"),
        fault => write!(f, "the TLS handshake failed: {fault}"),
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({}: {}, after {:?})", self.phase, self.cause, self.elapsed)
    }
}
