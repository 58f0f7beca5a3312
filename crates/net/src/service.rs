//! The contract between the connections (this layer) and whatever answers (the layer above).
//!
//! A [`Service`] belongs to one worker and is called by that worker's connections only, so nothing in
//! here is `Send` and nothing locks.

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
    /// A unix socket.
    Unix,
}

impl Address {
    /// The port, 0 for a unix socket.
    pub fn port(&self) -> u16 {
        match self {
            Self::Ip(address) => address.port(),
            Self::Unix => 0,
        }
    }

    /// Appends what [`Display`](fmt::Display) shows. Of IPv4, every request that is passed on or logged wants it.
    pub fn push(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ip(address) => match address.ip().to_canonical() {
                IpAddr::V4(address) => push_dotted(address.octets(), out),
                // To a vector, writing cannot fail.
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
        // The dot stands there.
        len += 1;
    }
    out.extend_from_slice(&text[..len - 1]);
}

impl fmt::Display for Address {
    /// The address without its port, as access logs want it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{}", address.ip().to_canonical()),
            Self::Unix => f.write_str("unix:"),
        }
    }
}

/// What is known of a connection for as long as it lasts.
#[derive(Debug)]
pub struct ConnectionInfo {
    /// Unique within this process.
    pub id: u64,
    /// Index of the listener that accepted it, as in the list given to the worker.
    pub listener: usize,
    /// The client's end; what a header of the PROXY protocol says it is, where one is expected.
    pub peer: Address,
    /// Our end, likewise.
    pub local: Address,
    /// When it was accepted.
    pub accepted: Instant,
    /// What the TLS handshake agreed on; `None` in clear.
    pub tls: Option<Box<hayami_tls::Info>>,
    /// Set by the service: over HTTP/1.1, it ends with the answer that comes next.
    pub ends: Cell<bool>,
    /// Set by the service while an answer is awaited: over HTTP/1.1, whether the answer is given up when the client
    /// closes the connection, even if only its half of it; awaited or being sent. For answers that cost others work.
    /// A stream that the client cancels is given up in any case. False for every new request.
    pub cancel_on_close: Cell<bool>,
    /// Its listener requires client certificates now, after a reload, that its handshake has not asked for.
    pub outdated: Cell<bool>,
}

/// A request as the service sees it.
pub struct Request<'a> {
    /// Method, target, fields. The service may take it (`std::mem::take`) to keep it beyond the call.
    pub head: &'a mut RequestHead,
    /// Number of bytes of content that will come: `Some(0)` for none, `None` while it is unknown (chunked).
    pub content_length: Option<u64>,
    /// Its connection; clone the `Rc` to keep it.
    pub connection: &'a Rc<ConnectionInfo>,
    /// How many requests this connection brought before this one.
    pub index: u32,
    /// The stream that brought it, over HTTP/2.
    pub stream: Option<u32>,
    /// It came before the TLS handshake was complete (RFC 8470): somebody may have sent it twice.
    pub early: bool,
    /// Its content, `None` if there is none. The service may take it; otherwise it is thrown away.
    pub content: Option<RequestBody>,
    /// What the client asks for instead of an ordinary answer.
    pub upgrade: Option<Upgrade>,
    /// What the service sets here says what goes out before the answer, if that comes later.
    pub interim: Option<Interim>,
    /// When the request's first byte was seen.
    pub begun: Instant,
    /// When its head was complete.
    pub received: Instant,
}

/// A tunnel that a client asks for: from the answer that grants it on, its connection, or over HTTP/2 its stream,
/// carries bytes of another protocol both ways.
///
/// A tunnel is an exchange whose content has no framing. The client's bytes come by [`bytes`](Self::bytes); what
/// goes to the client is the answer's content, a `Content::Stream`. That content owns `bytes`: asking it for
/// bytes moves both directions, and with no room for any it moves the client's alone, and is pending. Its end says
/// that nothing more goes to the client, who may still speak: what of `bytes` is still to come is then the
/// source's own affair. Its error means that the tunnel broke, and resets the connection or stream. The end of
/// `bytes` says that the client has closed its half.
///
/// Any other answer leaves the connection as it is, and `bytes` come to nothing.
#[derive(Debug)]
pub struct Upgrade {
    /// What would grant it.
    pub kind: UpgradeKind,
    /// The protocols to choose from, as a list: the client's Upgrade fields without those that concern its own
    /// connection (h2c, TLS, HTTP), or the one that `:protocol` names. Nothing for CONNECT.
    pub protocols: Vec<u8>,
    /// What the client sends in the tunnel. Nothing of it is here before the tunnel is granted over HTTP/1.1; over
    /// HTTP/2 it may be.
    pub bytes: RequestBody,
}

/// How a tunnel was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeKind {
    /// By Upgrade over HTTP/1.1 (RFC 9110 §7.8), without content; granted by 101 with the Upgrade field that names
    /// the protocol.
    Upgrade,
    /// By CONNECT with `:protocol` over HTTP/2 (RFC 8441 §4); granted by a 2xx.
    ExtendedConnect,
    /// By CONNECT (RFC 9110 §9.3.6): a way to the target's authority; granted by a 2xx.
    Connect,
}

/// Interim responses (1xx, RFC 9110 §15.2) on their way to the client while its answer is awaited.
///
/// The connection looks here whenever it has polled the answer.
#[derive(Clone, Default)]
pub struct Interim {
    heads: InterimHeads,
    /// Changes what is sent by this handle.
    change: Option<HeadChange>,
}

/// Those that were not sent yet: what the connection keeps of an [`Interim`].
#[derive(Clone, Default)]
pub(crate) struct InterimHeads(Rc<RefCell<Vec<ResponseHead>>>);

impl InterimHeads {
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Those that were not sent yet, which are sent now.
    pub(crate) fn take(&self) -> Vec<ResponseHead> {
        self.0.take()
    }
}

/// What changes heads of responses.
pub type HeadChange = Rc<dyn Fn(&mut ResponseHead)>;

impl Interim {
    /// A handle to the same responses that changes each before it is sent.
    pub fn changed_by(&self, change: HeadChange) -> Self {
        Self { heads: self.heads.clone(), change: Some(change) }
    }

    /// Sends one, if the client's protocol knows it. 100 and 101 are the connection's own affair and are
    /// dropped (RFC 9110 §15.2.1 and §15.2.2), and so is what is no interim response.
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

/// What became of a request at once.
pub enum Outcome {
    /// Answered: no future, no allocation.
    Ready(Answer),
    /// Needs I/O; polled by the connection's own task.
    Later(Pin<Box<dyn Future<Output = Answer>>>),
}

/// A response and who wants to hear how its sending ended.
pub struct Answer {
    /// Status, fields, content.
    pub response: Response,
    /// Told once, when the last byte was handed to the kernel or the connection was lost (the access log).
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
    /// Bytes of content that left, without head and chunk framing.
    pub content_bytes: u64,
    /// When the response's head was written.
    pub began: Instant,
    /// When the last byte was handed to the kernel.
    pub ended: Instant,
    /// Why the response is incomplete; `None` if it is complete.
    pub aborted: Option<&'static str>,
}

/// Is told how the sending of a response ended.
pub trait Observer {
    /// Called once.
    fn ended(self: Box<Self>, end: &Ended);
}

/// Answers the requests of one worker.
pub trait Service: 'static {
    /// Answers a request.
    fn respond(&self, request: &mut Request<'_>) -> Outcome;

    /// The answer to what could not be understood as a request; `request.head` holds what was read so
    /// far, maybe nothing.
    fn refuse(&self, refusal: &Refusal, request: &mut Request<'_>) -> Answer;

    /// Something is wrong with a connection that has brought no request.
    fn report(&self, connection: &ConnectionInfo, what: &dyn fmt::Display) {
        let _ = (connection, what);
    }

    /// Value of the `server` field that goes with every response, `None` to send none.
    fn server_name(&self) -> Option<&[u8]>;

    /// Whether [`ConnectionInfo::local`] has to be exact even for a listener on every address.
    fn wants_local_address(&self) -> bool {
        false
    }

    /// Whether there is work for a moment in which the worker has nothing else to do. Asked before every wait.
    fn has_idle_work(&self) -> bool {
        false
    }

    /// Nothing has happened for a few milliseconds: do that work.
    fn on_idle(&self) {}

    /// The worker's last connection has ended: write out what is buffered.
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
