//! A client connection.
//!
//! ```text
//! preamble ──▸ turn: answer ─▸ flush ─▸ step ──▸ … ──▸ lifecycle: waits for a wake-up, event, deadline; ends
//! (PROXY,        session         output   state
//!  TLS)
//! ```
//!
//! A turn answers what has arrived, sends pending output in one write, and reads when nothing is left to answer. The
//! [session](crate::session) interprets the bytes; `state` defines which transitions are valid.

mod lifecycle;
mod preamble;
mod state;
mod turn;

use crate::any_session::{AnySession, ask};
use crate::blocking::Task;
use crate::clock::Millis;
use crate::link::Link;
use crate::pace::Pace;
use crate::poll::{Token, Tokened};
use crate::service::{ConnectionInfo, Service};
use crate::session::Session;
use crate::socket::Socket;
use crate::transport::Transport;
use crate::worker::Worker;
use state::Wait;
pub(crate) use state::{Event, Need, Stage};
pub(crate) use turn::Turn;

pub(crate) struct Connection {
    pub(crate) link: Link,
    session: AnySession,
    transport: Transport,
    /// Reads uncached file content.
    warming: Option<Task<()>>,
    wait: Wait,
    deadline: Millis,
    /// The peer's pace of reading pending output; `None` while there is none.
    sending: Option<Box<Pace>>,
}

impl Tokened for Connection {
    #[inline]
    fn token(&self) -> Token {
        self.link.token
    }
}

impl Connection {
    /// Creates a connection with this token.
    pub(crate) fn new<S: Service>(
        worker: &Worker<S>,
        transport: Transport,
        info: ConnectionInfo,
        token: Token,
    ) -> Self {
        Self {
            link: Link::new(worker, info, token),
            session: AnySession::new(),
            transport,
            warming: None,
            wait: Wait::Request,
            deadline: Millis::NEVER,
            sending: None,
        }
    }

    pub(crate) fn socket(&self) -> &Socket {
        self.transport.socket()
    }

    /// When [`expire`](Self::expire) has to be called, in milliseconds of the worker's clock.
    pub(crate) fn deadline(&self) -> Millis {
        self.deadline
    }

    /// Whether it waits for a response, independently of what its client sends.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.wait == Wait::Answer
    }

    /// Whether it announces the shutdown and ends by itself when the worker shuts down.
    pub(crate) fn says_goodbye(&self) -> bool {
        ask!(&self.session, own => own.says_goodbye())
    }

    /// Whether it has something to do when the worker shuts down, besides its exchanges.
    pub(crate) fn takes_leave(&self) -> bool {
        ask!(&self.session, own => own.takes_leave())
    }

    /// Stops accepting requests: the connection ends when pending ones are answered, or soon if there are none.
    pub(crate) fn leave(&mut self) {
        self.link.leaves = true;
    }

    /// Wakes one of its streams.
    pub(crate) fn woken(&mut self, stream: u32) {
        ask!(&mut self.session, own => own.woken(stream));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Connection>() <= 368, "{} bytes", size_of::<Connection>());
    }
}
