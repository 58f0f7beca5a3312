//! One connection's TLS, without its socket.
//!
//! ```text
//! Hello ──ClientHello is whole──▶ Handshake ──Finished──▶ Open ──▶ Over
//!   nothing allocated               rustls                 own records, keys from rustls
//! ```
//!
//! `hello` looks at the first octets, `handshake` is all that knows rustls' state machine, `open` and
//! `records` protect and read what follows. The last two are ours because records are the hot path: sealing
//! into the caller's buffer and opening in it saves an allocation and two copies per record (see
//! `examples/timing.rs`), and an idle connection keeps little more than its keys.

mod handshake;
pub(crate) mod hello;
mod open;
mod records;
#[cfg(test)]
mod tests;

use crate::acceptor::{Acceptor, Shared, Table};
use crate::resumption::watch_for_missed;
use crate::{Fault, Info, Lookup};
use handshake::{Handshake, Step};
use hello::{First, Hello};
use open::Open;
use std::fmt;
use std::sync::Arc;

/// How far a session is.
#[derive(Debug)]
pub enum Progress {
    /// More octets of the peer are needed.
    Handshaking,
    /// A remote store may have the client's session: run the lookup on a thread that may block, then call
    /// `receive` again. The octets are in `input` still.
    NeedsLookup(Lookup),
    /// The handshake is over, or (with early data) far enough to answer; said once.
    Established,
    /// In use.
    Open,
    /// The peer sends no more; it may still listen.
    PeerClosed,
}

/// One connection's TLS, the server's side.
pub struct Session {
    state: State,
    /// Octets that were sent in records of their first, small size.
    sent: usize,
}

enum State {
    Hello { table: Arc<Table>, looked_up: bool },
    Handshake(Box<Handshake>),
    Open(Box<Open>),
    Over,
}

/// The plaintext of a record while a connection is young: with its overhead it fits a segment of 1,448 octets
/// (and of 1,428, over IPv6), so that the first octets needn't wait for the last of 16 KB.
const SMALL: usize = 1_400;
/// How much is sent in small records: about what a congestion window holds after two round trips.
const SENT_SMALL: usize = 64 * 1024;
/// The longest plaintext of a record (RFC 8446 §5.1).
const LARGE: usize = 16 * 1024;

impl Session {
    /// A session that answers with what `acceptor` has now. Allocates nothing.
    pub fn new(acceptor: &Acceptor) -> Self {
        Self { state: State::Hello { table: acceptor.table(), looked_up: false }, sent: 0 }
    }

    /// Reads records from the front of `input` (and removes them), appends plaintext to `plain` and records
    /// that are to be sent to `out`.
    ///
    /// # Errors
    /// The session is over; its last alert is in `out`.
    pub fn receive(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        let progress = match &mut self.state {
            State::Open(open) => {
                open.is_early = false;
                open.receive(input, plain, out)
            }
            State::Hello { .. } => self.receive_hello(input, plain, out),
            State::Handshake(_) => self.receive_handshake(input, plain, out),
            State::Over => Err(Fault::Over),
        };
        if progress.is_err() {
            self.state = State::Over;
        }
        progress
    }

    /// Appends records with `plain` in them. Nothing is appended before `Established` and after `close`.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        let small = SENT_SMALL.saturating_sub(self.sent).min(plain.len());
        let (small, large) = plain.split_at(small);
        self.sent += small.len();
        match &mut self.state {
            State::Open(open) => {
                out.reserve(
                    plain.len() + (small.len() / SMALL + large.len() / LARGE + 2) * records::OVERHEAD,
                );
                open.seal(small.chunks(SMALL).chain(large.chunks(LARGE)), out);
            }
            State::Handshake(handshake) => handshake.seal(plain, out),
            State::Hello { .. } | State::Over => {}
        }
    }

    /// Says that nothing was sent for a second or longer: records start small again, as the congestion
    /// window does (RFC 5681 §4.1).
    pub fn was_idle(&mut self) {
        self.sent = 0;
    }

    /// Appends close_notify (RFC 8446 §6.1). Nothing can be sealed after it; `receive` goes on.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        match &mut self.state {
            State::Open(open) => open.close(out),
            State::Handshake(handshake) => handshake.close(out),
            State::Hello { .. } | State::Over => {}
        }
    }

    /// What the handshake agreed on; `None` before `Established`, and when the session is over.
    pub fn info(&self) -> Option<&Info> {
        match &self.state {
            State::Open(open) => Some(&open.info),
            State::Handshake(handshake) => handshake.info(),
            State::Hello { .. } | State::Over => None,
        }
    }

    /// Whether what the last `receive` appended to `plain` may be early data (RFC 8446 §2.3), that is: someone
    /// may have recorded and sent it again.
    pub fn is_early(&self) -> bool {
        match &self.state {
            State::Open(open) => open.is_early,
            State::Handshake(handshake) => handshake.is_early(),
            State::Hello { .. } | State::Over => false,
        }
    }

    fn receive_hello(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        let State::Hello { table, looked_up } = &mut self.state else { return Err(Fault::Over) };
        match hello::first(input) {
            First::Incomplete => return Ok(Progress::Handshaking),
            First::PlainHttp => return Err(Fault::PlainHttp),
            First::NotTls => {
                records::alert_in_clear(&Fault::NotTls, out);
                return Err(Fault::NotTls);
            }
            // What isn't a ClientHello is rustls' to refuse.
            First::Handshake => {}
        }
        let message = hello::message(input);
        let hello = message.as_deref().and_then(Hello::read);
        // The name that chooses the configuration is also the one that `info` tells: whoever is let in by it
        // is let in to that name.
        let name = hello.as_ref().and_then(Hello::server_name);
        let config = table.choose(name.as_deref());
        if let (Some(remote), Some(hello), false) = (table.remote(), &hello, *looked_up)
            && let Some(key) = missed_session(config, hello)
        {
            *looked_up = true;
            return Ok(Progress::NeedsLookup(Lookup { key, remote: remote.clone() }));
        }
        let handshake = Handshake::new(config.config.clone(), name)?;
        self.state = State::Handshake(Box::new(handshake));
        self.receive_handshake(input, plain, out)
    }

    fn receive_handshake(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        let State::Handshake(handshake) = &mut self.state else { return Err(Fault::Over) };
        match handshake.receive(input, plain, out)? {
            Step::Blocked => Ok(Progress::Handshaking),
            Step::MayAnswer { first: true } => Ok(Progress::Established),
            Step::MayAnswer { first: false } => Ok(Progress::Open),
            Step::Done { first } => {
                let State::Handshake(handshake) = std::mem::replace(&mut self.state, State::Over) else {
                    return Err(Fault::Over);
                };
                let mut open = handshake.into_open(input)?;
                // The peer may have said more in the same breath, or goodbye.
                let closed = matches!(open.receive(input, plain, out)?, Progress::PeerClosed);
                self.state = State::Open(Box::new(open));
                Ok(match (first, closed) {
                    (true, _) => Progress::Established,
                    (false, true) => Progress::PeerClosed,
                    (false, false) => Progress::Open,
                })
            }
        }
    }
}

/// The key of the session that the client would resume, if only the remote store may have it.
fn missed_session(shared: &Shared, hello: &Hello<'_>) -> Option<Vec<u8>> {
    let key = match hello.is_tls13 {
        true if shared.config.ticketer.enabled() => return None, // tickets bring their sessions with them
        true => hello.first_identity?,
        false => hello.session_id,
    };
    if key.is_empty() {
        return None;
    }
    watch_for_missed(|| shared.sessions.get(key)).1
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Hello { .. } => "Hello",
            State::Handshake(_) => "Handshake",
            State::Open(_) => "Open",
            State::Over => "Over",
        };
        f.debug_struct("Session").field("state", &state).finish_non_exhaustive()
    }
}
