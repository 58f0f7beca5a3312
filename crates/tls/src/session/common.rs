//! A session from its first bytes to its end, in either role.

use super::Progress;
use super::gather::Gather;
use super::handshake::{Handshake, Step};
use super::open::Open;
use super::records;
use super::role::Role;
use super::side::{Greeted, Side};
use crate::{Fault, Info};
use std::fmt;
use std::io::IoSlice;

/// One connection's TLS, in the role of `S`: a [`Session`](crate::Session) or a [`ClientSession`](crate::ClientSession).
pub struct SessionCommon<S: Side> {
    pub(crate) state: State<S>,
    /// Bytes that were sent in records of their first, small size.
    sent: usize,
}

/// Its state.
pub(crate) enum State<S: Side> {
    Waiting(S::Waiting),
    Handshake(Box<Handshake<S>>),
    Open(Box<Open<S>>),
    Over,
}

/// The plaintext of a record while a connection is young: with its overhead it fits a segment of 1,448 bytes
/// (and of 1,428, over IPv6), so that the first bytes needn't wait for the last of 16 KB.
const SMALL: usize = 1_400;
/// How many bytes are sent in small records: about a congestion window after two round trips.
const SENT_SMALL: usize = 64 * 1024;
/// The longest plaintext of a record (RFC 8446 §5.1).
const LARGE: usize = 16 * 1024;

impl<S: Side> SessionCommon<S> {
    pub(crate) fn waiting(waiting: S::Waiting) -> Self {
        Self { state: State::Waiting(waiting), sent: 0 }
    }

    /// Reads records from the front of `input` (and removes them), appends plaintext to `plain` and outgoing records to
    /// `out`.
    ///
    /// # Errors
    /// The session has ended; its last alert is in `out`. [`Fault::PlainHttp`]: the peer speaks HTTP in cleartext.
    pub fn receive(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        if let State::Waiting(waiting) = &mut self.state {
            match S::greet(waiting, input, out) {
                Ok(Greeted::Not(progress)) => return Ok(progress),
                Ok(Greeted::By(handshake)) => self.state = State::Handshake(handshake),
                Err(fault) => {
                    self.state = State::Over;
                    return Err(fault);
                }
            }
        }
        self.receive_records(input, plain, out)
    }

    fn receive_records(
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
            State::Handshake(_) => self.receive_handshake(input, plain, out),
            State::Waiting(_) | State::Over => Err(Fault::Over),
        };
        if progress.is_err() {
            self.state = State::Over;
        }
        progress
    }

    /// Appends records with `plain` in them. Nothing is appended before `Established` and after `close`.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.seal_gathered(&[IoSlice::new(plain)], plain.len(), out);
    }

    /// As [`seal`](Self::seal), with the first `most` bytes of `pieces`, or all if they are fewer. Returns how many.
    pub fn seal_gathered(&mut self, pieces: &[IoSlice<'_>], most: usize, out: &mut Vec<u8>) -> usize {
        let mut plain = Gather::new(pieces, most);
        let len = plain.len();
        let small = SENT_SMALL.saturating_sub(self.sent).min(len);
        let large = len - small;
        self.sent += small;
        match &mut self.state {
            State::Open(open) => {
                out.reserve(len + (small / SMALL + large / LARGE + 2) * records::OVERHEAD);
                open.seal(&mut plain, SMALL, large, out);
                open.seal(&mut plain, LARGE, 0, out);
            }
            State::Handshake(handshake) => {
                let mut gathered = Vec::with_capacity(len);
                plain.append_to(&mut gathered, len);
                handshake.seal(&gathered, out);
            }
            State::Waiting(_) | State::Over => {}
        }
        len
    }

    /// Records that nothing was sent for a second or longer: record sizes start small again, as the
    /// congestion window does (RFC 5681 §4.1).
    pub fn was_idle(&mut self) {
        self.sent = 0;
    }

    /// Appends close_notify (RFC 8446 §6.1). Nothing can be sealed after it; `receive` continues to work.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        match &mut self.state {
            State::Open(open) => open.close(out),
            State::Handshake(handshake) => handshake.close(out),
            State::Waiting(_) | State::Over => {}
        }
    }

    /// The negotiated parameters; `None` before `Established`, and when the session has ended.
    pub fn info(&self) -> Option<&Info> {
        match &self.state {
            State::Open(open) => Some(&open.info),
            State::Handshake(handshake) => handshake.info(),
            State::Waiting(_) | State::Over => None,
        }
    }

    /// Whether what the last `receive` appended to `plain` may be early data (RFC 8446 §2.3), that is: it may
    /// be a replay. Clients receive none.
    pub fn is_early(&self) -> bool {
        match &self.state {
            State::Open(open) => open.is_early,
            State::Handshake(handshake) => handshake.is_early(),
            State::Waiting(_) | State::Over => false,
        }
    }

    /// The state's name, for `Debug`.
    fn name(&self) -> &'static str {
        match &self.state {
            State::Waiting(_) => "Waiting",
            State::Handshake(_) => "Handshake",
            State::Open(_) => "Open",
            State::Over => "Over",
        }
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
                // The same input may contain more data or close_notify.
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

impl<S: Side> fmt::Debug for SessionCommon<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match S::ROLE {
            Role::Server => "Session",
            Role::Client => "ClientSession",
        };
        f.debug_struct(name).field("state", &self.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
impl<S: Side> SessionCommon<S> {
    /// The part that only an open session has.
    pub(crate) fn open(&mut self) -> &mut Open<S> {
        match &mut self.state {
            State::Open(open) => open,
            _ => panic!("it isn't open"),
        }
    }
}
