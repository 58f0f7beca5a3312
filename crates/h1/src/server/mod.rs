//! The server's side of a connection: requests in, responses out (RFC 9112).
//!
//! [`receive`](Server::receive) is here; heads are read in `request`, responses written in `response`.

mod request;
mod response;
#[cfg(test)]
mod tests;

pub use response::{CutShort, Framing};

use crate::chunked::Piece;
use crate::fault::Fault;
use crate::head::Progress;
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::outgoing::Outgoing;
use crate::state::{Move, Receiving, Sending, State};
use hayami_http::{FieldSection, RequestHead};
use std::ops::Range;

/// One connection as its server sees it. It holds no bytes: the caller's buffer does.
///
/// A method called out of turn writes nothing, and the connection closes after the response.
#[derive(Debug)]
pub struct Server {
    state: State,
    incoming: Incoming,
    outgoing: Outgoing,
    progress: Progress,
    empty_lines: u8,
    request: Request,
    stopping: bool,
}

/// The properties of the request that decide about the response.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// HTTP/1.0 (RFC 9112 §9.3).
    is_http10: bool,
    /// HEAD: no content whatever the head says (RFC 9110 §9.3.2).
    is_head: bool,
    /// CONNECT: 2xx has no content (RFC 9110 §9.3.6).
    is_connect: bool,
    /// The connection may stay open.
    persists: bool,
    /// The client waits for 100 before it sends content (RFC 9110 §10.1.1).
    expects_continue: bool,
    /// The client offers to switch protocols: 101 may answer it (RFC 9110 §7.8).
    asks_upgrade: bool,
}

impl Request {
    const NONE: Self = Self {
        is_http10: false,
        is_head: false,
        is_connect: false,
        persists: true,
        expects_continue: false,
        asks_upgrade: false,
    };
}

/// What [`Server::receive`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes at the front of the input that were consumed; the caller drops them after it has handled the
    /// event.
    pub consumed: usize,
    /// What was found in them.
    pub event: Event,
}

/// A piece of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing yet: call again when there is more input, or when the response is complete.
    More,
    /// A request; its head was filled in.
    Request(RequestContent),
    /// Content of the request, at these indices of the input.
    Content(Range<usize>),
    /// The request's content is complete.
    End,
}

/// What follows a request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestContent {
    /// Nothing, and no [`Event::End`] either.
    None,
    /// This many bytes, more than zero, then [`Event::End`].
    Length(u64),
    /// An unknown number of bytes, then [`Event::End`].
    Chunked,
}

/// What to do with the connection when the response is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Pass the remaining input to [`Server::receive`], and wait for more.
    KeepAlive,
    /// Request content is still to come: discard it by calling [`Server::receive`] until [`Event::End`], or
    /// close if it is too much.
    Discard,
    /// Close: half first, so that the client can still read the response (RFC 9112 §9.6).
    Close,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A connection of which nothing has been read.
    pub fn new() -> Self {
        Self {
            state: State::START,
            incoming: Incoming::Nothing,
            outgoing: Outgoing::Nothing,
            progress: Progress::default(),
            empty_lines: 0,
            request: Request::NONE,
            stopping: false,
        }
    }

    /// Reads from the front of `input`: all bytes that were received and not yet consumed. `head` is
    /// filled in if the event is a request. Call it until it returns [`Event::More`].
    ///
    /// While a response is being made, the next request waits, and its bytes stay unconsumed.
    ///
    /// # Errors
    /// The rule that the client broke. A response may still be sent if none has been begun; then the
    /// connection closes. If the request line could be read, `head` has it.
    pub fn receive(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut RequestHead,
    ) -> Result<Received, Fault> {
        if self.state.receiving == Receiving::Complete && self.next() == Next::KeepAlive {
            self.begin_again();
        }
        let result = match self.state.receiving {
            Receiving::Head => self.receive_head(limits, input, head),
            Receiving::Content => self.receive_content(limits, input),
            Receiving::Complete if self.state.sending != Sending::Complete => Ok(more(0)),
            Receiving::Tunnel => Ok(tunneled(input)),
            // The connection is to be closed: nothing received from now on is a request (RFC 9112 §9.6).
            Receiving::Complete | Receiving::Shut => Ok(more(input.len())),
        };
        if result.is_err() {
            self.refuse();
        }
        result
    }

    /// Reads content of the request at hand, or of the tunnel, and nothing else: what follows the request
    /// waits, whatever the state of the response. For callers that pass content on while they produce the
    /// response.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    pub fn receive_more(&mut self, limits: &Limits, input: &[u8]) -> Result<Received, Fault> {
        match self.state.receiving {
            Receiving::Content => {}
            Receiving::Tunnel => return Ok(tunneled(input)),
            _ => return Ok(more(0)),
        }
        let result = self.receive_content(limits, input);
        if result.is_err() {
            self.refuse();
        }
        result
    }

    /// The client has closed its half of the connection. In a tunnel this ends only the client's direction.
    pub fn receive_eof(&mut self) -> Event {
        if self.state.receiving != Receiving::Tunnel {
            return Event::More;
        }
        self.step(Move::RequestEnd);
        Event::End
    }

    fn receive_content(&mut self, limits: &Limits, input: &[u8]) -> Result<Received, Fault> {
        let (consumed, piece) = self.incoming.receive(limits, input)?;
        let event = match piece {
            Piece::More => Event::More,
            Piece::Data(range) => {
                self.request.expects_continue = false;
                Event::Content(range)
            }
            Piece::End => {
                self.step(Move::RequestEnd);
                Event::End
            }
        };
        Ok(Received { consumed, event })
    }

    /// Starts the next exchange.
    fn begin_again(&mut self) {
        self.incoming = Incoming::Nothing;
        self.request = Request::NONE;
        self.step(Move::Again);
    }

    /// Stops reading: a response may still be sent if none has been begun, 408 for example; then the
    /// connection closes. Faults do this implicitly.
    pub fn refuse(&mut self) {
        self.step(Move::Refuse);
        self.request.persists = false;
    }

    /// Makes this response the last one of the connection: if its head was not sent yet, it says so
    /// (RFC 9112 §9.6).
    pub fn close_after_response(&mut self) {
        self.stopping = true;
    }

    /// What to do with the connection. The answer counts when the response is complete, and before a
    /// request; in between it is [`Next::Close`], since an interrupted response cannot be repaired.
    pub fn next(&self) -> Next {
        let stays = self.request.persists && !self.stopping;
        match (self.state.receiving, self.state.sending) {
            // A request that was partly received is still answered.
            (Receiving::Head, Sending::Nothing) if stays || !self.progress.is_nothing() => Next::KeepAlive,
            (Receiving::Complete, Sending::Complete) if stays => Next::KeepAlive,
            (Receiving::Content, Sending::Complete) if stays => Next::Discard,
            _ => Next::Close,
        }
    }

    /// Whether the response that was begun is complete: [`next`](Self::next) counts.
    pub fn is_complete(&self) -> bool {
        self.state.sending == Sending::Complete
    }

    /// Whether no request is in progress, not even by one byte: the connection may be closed without losing a
    /// response.
    pub fn is_idle(&self) -> bool {
        match self.state.receiving {
            Receiving::Head => self.progress.is_nothing(),
            Receiving::Complete => self.next() == Next::KeepAlive,
            Receiving::Content | Receiving::Tunnel | Receiving::Shut => false,
        }
    }

    /// Whether the client waits for 100 before it sends content (RFC 9110 §10.1.1). Reading content
    /// without [`send_interim`](Self::send_interim) would deadlock.
    pub fn expects_continue(&self) -> bool {
        self.request.expects_continue
    }

    /// Whether 101 may answer the request at hand: it asks for another protocol as the RFC requires (RFC 9110
    /// §7.8), and has no content. The Upgrade fields name the protocols.
    #[inline]
    pub fn asks_upgrade(&self) -> bool {
        self.request.asks_upgrade
    }

    /// The trailer section of the request, after [`Event::End`], if there was one. Fields that are not
    /// allowed in trailers have been removed (RFC 9110 §6.5.1).
    pub fn take_trailers(&mut self) -> Option<FieldSection> {
        self.incoming.take_trailers()
    }

    /// Applies an event to the state. An illegal one changes nothing and closes the connection.
    fn step(&mut self, step: Move) {
        match self.state.after(step) {
            Some(state) => self.state = state,
            None => self.request.persists = false,
        }
    }
}

fn more(consumed: usize) -> Received {
    Received { consumed, event: Event::More }
}

/// Bytes of a tunnel, passed through unread.
fn tunneled(input: &[u8]) -> Received {
    let event = if input.is_empty() { Event::More } else { Event::Content(0..input.len()) };
    Received { consumed: input.len(), event }
}
