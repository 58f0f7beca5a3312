//! Why a call got no response, and in which phase it failed.

use hayami_h2::ErrorCode;
use hayami_http::SourceError;
use hayami_tls::Fault as TlsFault;
use std::fmt;
use std::io;

/// The phase of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Connecting.
    Connect,
    /// Sending the request.
    Send,
    /// Waiting for the first byte of the response.
    FirstByte,
    /// Receiving the response head.
    Head,
}

/// What went wrong.
#[derive(Debug)]
pub enum Cause {
    /// An I/O error from the operating system.
    Io(io::Error),
    /// A timeout expired.
    Timeout,
    /// The upstream closed the connection.
    Closed,
    /// The upstream or the application violated its protocol.
    Protocol(ProtocolFault),
    /// The upstream reset the request's stream.
    Reset(ErrorCode),
    /// The upstream accepts no more requests on this connection.
    GoneAway(ErrorCode),
    /// The request's own content could not be read.
    Content(SourceError),
    /// The upstream's certificate is not accepted, or the TLS handshake failed.
    Tls(TlsFault),
    /// The origin has no addresses.
    NoPeers,
}

/// A violation of the upstream's protocol, whichever that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolFault {
    text: Box<str>,
    /// Whether the application reports that it is overloaded, which only FastCGI can.
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

/// Why a handshake failed.
fn tls(fault: &TlsFault, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match fault {
        TlsFault::PlainHttp | TlsFault::NotTls => f.write_str("the upstream does not speak TLS on this port"),
        TlsFault::Handshake(why) => write!(f, "the TLS handshake failed: {why}"),
        fault => write!(f, "the TLS handshake failed: {fault}"),
    }
}
