//! The client's side of a connection: requests out, responses in (RFC 9112).
//!
//! [`receive`](Client::receive) is here; response heads are read in `response`, requests written in
//! `request`. Only their order says which response answers which request (RFC 9112 §9.3.2), so the client
//! keeps a queue of its requests.

mod outstanding;
mod repeat;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use repeat::LastHead;
pub use request::OutOfTurn;

use crate::chunked::Piece;
use crate::fault::Fault;
use crate::head::Progress;
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::outgoing::Outgoing;
use crate::state::{Reading, ReadingMove};
use hayami_http::{FieldSection, ResponseHead};
use outstanding::Outstanding;
use std::ops::Range;

/// One connection as its client sees it. It holds no bytes: the caller's buffers do.
#[derive(Debug)]
pub struct Client {
    reading: Reading,
    incoming: Incoming,
    outgoing: Outgoing,
    progress: Progress,
    outstanding: Outstanding,
    interim: u16,
    /// The response being read leaves the connection open.
    persists: bool,
    /// The last request has been sent.
    stopping: bool,
}

/// What [`Client::receive`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientReceived {
    /// Bytes at the front of the input that were consumed; the caller drops them after it has handled the
    /// event.
    pub consumed: usize,
    /// What was found in them.
    pub event: ClientEvent,
}

/// A piece of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// Nothing yet: call again when there is more input.
    More,
    /// An interim response; its head was filled in. The final one is still to come (RFC 9110 §15.2).
    Interim,
    /// A response; its head was filled in.
    Response(ResponseContent),
    /// Content of the response, at these indices of the input.
    Content(Range<usize>),
    /// The response's content is complete.
    End,
}

/// What follows a response head (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseContent {
    /// Nothing, and no [`ClientEvent::End`] either.
    None,
    /// This many bytes, more than zero, then [`ClientEvent::End`].
    Length(u64),
    /// An unknown number of bytes, then [`ClientEvent::End`].
    Chunked,
    /// Bytes until the server closes; [`Client::receive_eof`] gives the end.
    UntilClose,
    /// Bytes that are not HTTP, until the server closes: CONNECT succeeded (RFC 9110 §9.3.6), or 101 answered
    /// Upgrade (§7.8). From here on [`Client::send_content`] sends bytes as they are.
    Tunnel,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Client {
    /// A connection on which nothing was sent.
    pub fn new() -> Self {
        Self {
            reading: Reading::Head,
            incoming: Incoming::Nothing,
            outgoing: Outgoing::Nothing,
            progress: Progress::default(),
            outstanding: Outstanding::default(),
            interim: 0,
            persists: true,
            stopping: false,
        }
    }

    /// Reads from the front of `input`: all bytes that were received and not yet consumed. `head` is
    /// filled in if the event is a response, interim or final. Call it until it returns
    /// [`ClientEvent::More`].
    ///
    /// # Errors
    /// The rule that the server broke. The connection cannot be used again.
    pub fn receive(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut ResponseHead,
    ) -> Result<ClientReceived, Fault> {
        let result = match self.reading {
            Reading::Head => self.receive_head(limits, input, head),
            Reading::Content => self.receive_content(limits, input),
            Reading::Tunnel => Ok(tunneled(input)),
            Reading::Closed => Ok(more(input.len())),
        };
        if result.is_err() {
            self.step(ReadingMove::Close);
        }
        result
    }

    /// The server closed its side. Gives [`ClientEvent::End`] if that ends the content,
    /// [`ClientEvent::More`] if no content was being received.
    ///
    /// # Errors
    /// [`Fault::ClosedEarly`]: the response is not complete, or not even begun (RFC 9112 §8).
    pub fn receive_eof(&mut self) -> Result<ClientEvent, Fault> {
        let result = match (self.reading, &self.incoming) {
            (Reading::Content, Incoming::UntilClose(_)) | (Reading::Tunnel, _) => Ok(ClientEvent::End),
            (Reading::Content, _) => Err(Fault::ClosedEarly),
            (Reading::Head, _) if !self.progress.is_nothing() => Err(Fault::ClosedEarly),
            _ if self.outstanding.count() > 0 => Err(Fault::ClosedEarly),
            _ => Ok(ClientEvent::More),
        };
        self.step(ReadingMove::Close);
        result
    }

    fn receive_content(&mut self, limits: &Limits, input: &[u8]) -> Result<ClientReceived, Fault> {
        let (consumed, piece) = self.incoming.receive(limits, input)?;
        let event = match piece {
            Piece::More => ClientEvent::More,
            Piece::Data(range) => ClientEvent::Content(range),
            Piece::End => {
                self.step(ReadingMove::End);
                self.finish_response();
                ClientEvent::End
            }
        };
        Ok(ClientReceived { consumed, event })
    }

    /// Whether the connection is idle and may carry another request: every request was answered and sent
    /// completely, and the server keeps the connection open.
    pub fn is_idle(&self) -> bool {
        self.can_send() && self.reading == Reading::Head && self.outstanding.count() == 0
    }

    /// Whether the response at hand, or the last one, leaves the connection open (RFC 9112 §9.3).
    pub fn persists(&self) -> bool {
        self.persists
    }

    /// Requests that were sent and whose final response has not begun. When the connection closes they remain
    /// unanswered; idempotent ones may be sent again (RFC 9110 §9.2.2).
    pub fn outstanding(&self) -> usize {
        self.outstanding.count()
    }

    /// The trailer section of the response, after [`ClientEvent::End`] and before the next response, if
    /// there was one. Fields that are not allowed in trailers have been removed (RFC 9110 §6.5.1).
    pub fn take_trailers(&mut self) -> Option<FieldSection> {
        self.incoming.take_trailers()
    }

    /// Applies an event to the state; an illegal one changes nothing.
    fn step(&mut self, step: ReadingMove) {
        self.reading = self.reading.after(step).unwrap_or(self.reading);
    }
}

/// Bytes of a tunnel, passed through unread.
fn tunneled(input: &[u8]) -> ClientReceived {
    let event = if input.is_empty() { ClientEvent::More } else { ClientEvent::Content(0..input.len()) };
    ClientReceived { consumed: input.len(), event }
}

fn more(consumed: usize) -> ClientReceived {
    ClientReceived { consumed, event: ClientEvent::More }
}
