//! The interface between connections (this layer) and the service that answers requests (the layer above).
//!
//! A [`Service`] belongs to one worker and is called only by that worker's connections, so nothing here is `Send` or
//! needs locks.

use crate::clock::Instant;
use hayami_http::{RequestHead, Response, ResponseHead, Status};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;

pub use crate::refusal::{Limit, Refusal};
pub use crate::request_body::{Refusals, RequestBody};

/// The address of one end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP over IPv4 or IPv6.
    Ip(SocketAddr),
    /// A Unix socket.
    Unix,
}

impl Address {
    /// The port; 0 for a Unix socket.
    pub fn port(&self) -> u16 {
        match self {
            Self::Ip(address) => address.port(),
            Self::Unix => 0,
        }
    }

    /// Appends what [`Display`](fmt::Display) shows. IPv4 has a fast path: every proxied or logged request needs it.
    pub fn push(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ip(address) => match address.ip().to_canonical() {
                IpAddr::V4(address) => push_dotted(address.octets(), out),
                // Writing to a vector cannot fail.
                IpAddr::V6(address) => _ = write!(out, "{address}"),
            },
            Self::Unix => out.extend_from_slice(b"unix:"),
        }
    }
}

fn push_dotted(bytes: [u8; 4], out: &mut Vec<u8>) {
    let (mut text, mut len) = ([b'.'; 16], 0);
    for byte in bytes {
        for (least, unit) in [(100, 100), (10, 10), (0, 1)] {
            if byte >= least {
                text[len] = b'0' + byte / unit % 10;
                len += 1;
            }
        }
        // The dot is already there.
        len += 1;
    }
    out.extend_from_slice(&text[..len - 1]);
}

impl fmt::Display for Address {
    /// The address without its port, as used in access logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{}", address.ip().to_canonical()),
            Self::Unix => f.write_str("unix:"),
        }
    }
}

/// Properties of a connection for as long as it lasts.
#[derive(Debug)]
pub struct ConnectionInfo {
    /// Unique within this process.
    pub id: u64,
    /// Index of the accepting listener in the list given to the worker.
    pub listener: usize,
    /// The client's address; from the PROXY protocol header if one is expected.
    pub peer: Address,
    /// The server's address, likewise.
    pub local: Address,
    /// When it was accepted.
    pub accepted: Instant,
    /// The result of the TLS handshake; `None` without TLS.
    pub tls: Option<Box<hayami_tls::Info>>,
    /// Set by the service: an HTTP/1.1 connection ends after the next response.
    pub ends: Cell<bool>,
    /// Set by the service while a response is pending or being sent: over HTTP/1.1, abort it when the client closes
    /// the connection, even if only its half. For responses that cause work elsewhere. A stream that the client
    /// cancels is aborted in any case. False for every new request.
    pub cancel_on_close: Cell<bool>,
    /// Since a reload its listener requires client certificates, which the handshake of this connection did not
    /// request.
    pub outdated: Cell<bool>,
}

/// A request as the service sees it.
pub struct Request<'a> {
    /// Method, target, fields. The service may take it (`std::mem::take`) to keep it beyond the call.
    pub head: &'a mut RequestHead,
    /// Length of the content: `Some(0)` for none, `None` if unknown (chunked).
    pub content_length: Option<u64>,
    /// Its connection; clone the `Rc` to keep it.
    pub connection: &'a Rc<ConnectionInfo>,
    /// Number of earlier requests on this connection.
    pub index: u32,
    /// The stream ID, over HTTP/2.
    pub stream: Option<u32>,
    /// It was received as TLS early data (RFC 8470): an attacker may have replayed it.
    pub early: bool,
    /// Its content, `None` if there is none. The service may take it; otherwise it is discarded.
    pub content: Option<RequestBody>,
    /// The tunnel that the client asks for instead of an ordinary response.
    pub upgrade: Option<Upgrade>,
    /// Set by the service to send interim responses before a response that comes later.
    pub interim: Option<Interim>,
    /// When the first byte of the request was seen.
    pub begun: Instant,
    /// When its head was complete.
    pub received: Instant,
}

/// A tunnel that a client asks for: after the response that grants it, the connection, or over HTTP/2 the stream,
/// carries bytes of another protocol in both directions.
///
/// A tunnel is an exchange whose content has no framing. The client's bytes arrive in [`bytes`](Self::bytes); the
/// response content, a `Content::Stream`, goes to the client. That content owns `bytes`: asking it for bytes moves
/// both directions, and with no room only the client's, returning pending. When it ends, nothing more goes to the
/// client, which may still send: the source itself has to handle the rest of `bytes`. If it fails, the tunnel is
/// broken, and the connection or stream is reset. When `bytes` ends, the client has closed its half.
///
/// Any other response leaves the connection as it is, and `bytes` is not used.
#[derive(Debug)]
pub struct Upgrade {
    /// The kind of tunnel, which determines the response that grants it.
    pub kind: UpgradeKind,
    /// The list of protocols offered: the client's Upgrade fields without those of its own connection (h2c, TLS,
    /// HTTP), or the value of `:protocol`. Empty for CONNECT.
    pub protocols: Vec<u8>,
    /// The data that the client sends in the tunnel. Over HTTP/1.1 none arrives before the tunnel is granted; over
    /// HTTP/2 it may.
    pub bytes: RequestBody,
}

/// How a tunnel was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeKind {
    /// By Upgrade over HTTP/1.1 (RFC 9110 §7.8), without content; granted by 101 with an Upgrade field that names the
    /// protocol.
    Upgrade,
    /// By CONNECT with `:protocol` over HTTP/2 (RFC 8441 §4); granted by a 2xx.
    ExtendedConnect,
    /// By CONNECT (RFC 9110 §9.3.6): a connection to the target's authority; granted by a 2xx.
    Connect,
}

/// Interim responses (1xx, RFC 9110 §15.2) to be sent to the client before the response.
///
/// The connection sends them whenever it has polled the response.
#[derive(Clone, Default)]
pub struct Interim {
    heads: InterimHeads,
    /// Modifies what is sent by this handle.
    change: Option<HeadChange>,
}

/// Interim responses not sent yet: the connection's end of an [`Interim`].
#[derive(Clone, Default)]
pub(crate) struct InterimHeads(Rc<RefCell<Vec<ResponseHead>>>);

impl InterimHeads {
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Takes those not sent yet.
    pub(crate) fn take(&self) -> Vec<ResponseHead> {
        self.0.take()
    }
}

/// Modifies response heads.
pub type HeadChange = Rc<dyn Fn(&mut ResponseHead)>;

impl Interim {
    /// Returns a handle to the same queue that modifies each response before it is sent.
    pub fn changed_by(&self, change: HeadChange) -> Self {
        Self { heads: self.heads.clone(), change: Some(change) }
    }

    /// Sends one, if the client's protocol supports it. 100 and 101 are sent by the connection itself and are dropped
    /// here (RFC 9110 §15.2.1 and §15.2.2), as is anything but an interim response.
    pub fn send(&self, mut head: ResponseHead) {
        let own = matches!(head.status(), Status::CONTINUE | Status::SWITCHING_PROTOCOLS);
        if head.status().is_informational() && !own {
            if let Some(change) = &self.change {
                change(&mut head);
            }
            self.heads.0.borrow_mut().push(head);
        }
    }

    /// The connection's end.
    pub(crate) fn into_heads(self) -> InterimHeads {
        self.heads
    }
}

impl fmt::Debug for Interim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interim").field(&self.heads.0).finish()
    }
}

/// The immediate result of a request.
pub enum Outcome {
    /// Answered: no future, no allocation.
    Ready(Answer),
    /// Needs I/O; polled by the connection's own task.
    Later(Pin<Box<dyn Future<Output = Answer>>>),
}

/// A response, and an observer of its sending.
pub struct Answer {
    /// Status, fields, content.
    pub response: Response,
    /// Called once, when the last byte was handed to the kernel or the connection was lost (the access log).
    pub observer: Option<Box<dyn Observer>>,
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self { response, observer: None }
    }
}

/// How the sending of a response ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Content bytes sent, without head and chunk framing.
    pub content_bytes: u64,
    /// When the response head was written.
    pub began: Instant,
    /// When the last byte was handed to the kernel.
    pub ended: Instant,
    /// Why the response is incomplete; `None` if it is complete.
    pub aborted: Option<&'static str>,
}

/// Is notified when the sending of a response has ended.
pub trait Observer {
    /// Called once.
    fn ended(self: Box<Self>, end: &Ended);
}

/// Answers the requests of one worker.
pub trait Service: 'static {
    /// Answers a request.
    fn respond(&self, request: &mut Request<'_>) -> Outcome;

    /// The response to an invalid request; `request.head` holds what was parsed so far, possibly nothing.
    fn refuse(&self, refusal: &Refusal, request: &mut Request<'_>) -> Answer;

    /// Reports a fault of a connection on which no request has arrived.
    fn report(&self, connection: &ConnectionInfo, what: &dyn fmt::Display) {
        let _ = (connection, what);
    }

    /// The value of the `server` field sent with every response, `None` to send none.
    fn server_name(&self) -> Option<&[u8]>;

    /// Whether [`ConnectionInfo::local`] has to be exact even for a listener on the wildcard address.
    fn wants_local_address(&self) -> bool {
        false
    }

    /// Whether there is work to do while the worker is idle. Called before every wait.
    fn has_idle_work(&self) -> bool {
        false
    }

    /// Does that work: nothing has happened for a few milliseconds.
    fn on_idle(&self) {}

    /// Writes out buffered data: the worker's last connection has ended.
    fn stop(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_it_is_shown() {
        let cases =
            ["0.0.0.0:1", "127.0.0.1:80", "255.100.99.10:1", "10.9.200.0:1", "[::1]:1", "[::ffff:1.2.3.4]:1"];
        let addresses = cases.map(|text| Address::Ip(text.parse().expect("an address")));
        for address in addresses.iter().chain([&Address::Unix]) {
            let mut written = b"x".to_vec();
            address.push(&mut written);
            assert_eq!(String::from_utf8_lossy(&written), format!("x{address}"));
        }
    }
}
