//! One connection's TLS, without its socket.
//!
//! ```text
//! Waiting ──ClientHello is whole──▶ Handshake ──Finished──▶ Open ──▶ Over
//!   nothing allocated                 rustls                 own records, keys from rustls
//! ```
//!
//! `hello` scans the first bytes, `handshake` contains everything about rustls' state machine, `open` and
//! `records` protect and read what follows. The last two don't use rustls because records are the hot path:
//! sealing into the caller's buffer and opening in it saves an allocation and two copies per record (see
//! `examples/timing.rs`), and an idle connection keeps little more than its keys. `course` sequences them,
//! for the server here and for the client of [`crate::client`]; `side` has the differences between the roles.

mod course;
mod gather;
mod handshake;
pub(crate) mod hello;
mod open;
mod records;
mod side;
#[cfg(test)]
pub(crate) mod tests;

use crate::acceptor::{Acceptor, Shared, Table};
use crate::resumption::watch_for_missed;
use crate::{Fault, Info, Lookup};
pub(crate) use course::{Course, State};
pub(crate) use handshake::Handshake;
use hello::{First, Hello, Scan};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
pub(crate) use side::{Role, Side};
use std::fmt;
use std::io::IoSlice;
use std::sync::Arc;

/// The progress of a session.
#[derive(Debug)]
pub enum Progress {
    /// More input is needed.
    Handshaking,
    /// A remote store may have the client's session: run the lookup on a thread that may block, then call
    /// `receive` again. The bytes stay in `input`.
    NeedsLookup(Lookup),
    /// The handshake is complete, or (with early data) far enough to answer; returned once.
    Established,
    /// In use.
    Open,
    /// The peer sends no more; it may still receive.
    PeerClosed,
}

/// One connection's TLS, the server's side.
pub struct Session(pub(crate) Course<ServerConnectionData>);

/// Before the ClientHello is whole: nothing is allocated.
pub(crate) struct Greeting {
    table: Arc<Table>,
    scan: Scan,
    looked_up: bool,
}

impl Session {
    /// A session with the current configuration of `acceptor`. Allocates nothing.
    pub fn new(acceptor: &Acceptor) -> Self {
        Self(Course::new(Greeting { table: acceptor.table(), scan: Scan::default(), looked_up: false }))
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
        if let State::Waiting(_) = &self.0.state {
            let progress = self.receive_hello(input, plain, out);
            if progress.is_err() {
                self.0.state = State::Over;
            }
            return progress;
        }
        self.0.receive(input, plain, out)
    }

    /// Appends records with `plain` in them. Nothing is appended before `Established` and after `close`.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.0.seal(plain, out);
    }

    /// As [`seal`](Self::seal), with the first `most` bytes of `pieces`, or all if they are fewer. Returns
    /// how many.
    pub fn seal_gathered(&mut self, pieces: &[IoSlice<'_>], most: usize, out: &mut Vec<u8>) -> usize {
        self.0.seal_gathered(pieces, most, out)
    }

    /// Records that nothing was sent for a second or longer: record sizes start small again, as the
    /// congestion window does (RFC 5681 §4.1).
    pub fn was_idle(&mut self) {
        self.0.was_idle();
    }

    /// Appends close_notify (RFC 8446 §6.1). Nothing can be sealed after it; `receive` goes on.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.0.close(out);
    }

    /// What the handshake agreed on; `None` before `Established`, and when the session is over.
    pub fn info(&self) -> Option<&Info> {
        self.0.info()
    }

    /// Whether what the last `receive` appended to `plain` may be early data (RFC 8446 §2.3), that is: it may
    /// be a replay.
    pub fn is_early(&self) -> bool {
        self.0.is_early()
    }

    fn receive_hello(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        let State::Waiting(Greeting { table, scan, looked_up }) = &mut self.0.state else {
            return Err(Fault::Over);
        };
        match scan.judge(input) {
            First::Incomplete => return Ok(Progress::Handshaking),
            First::PlainHttp => return Err(Fault::PlainHttp),
            First::NotTls => {
                records::alert_in_cleartext(&Fault::NotTls, out);
                return Err(Fault::NotTls);
            }
            First::TooLong => {
                records::alert_in_cleartext(&Fault::TooManyIdleRecords, out);
                return Err(Fault::TooManyIdleRecords);
            }
            // rustls refuses anything that isn't a ClientHello.
            First::Handshake => {}
        }
        let message = hello::message(input);
        let hello = message.as_deref().and_then(Hello::read);
        // The name that chooses the configuration is also the one in `info`: access granted by it is granted
        // to that name.
        let name = hello.as_ref().and_then(Hello::server_name);
        let raw = hello.as_ref().is_some_and(Hello::wants_raw_public_key);
        let config = table.choose(name.as_deref(), raw);
        if let (Some(remote), Some(hello), false) = (table.remote(), &hello, *looked_up)
            && let Some(key) = missed_session(config, hello)
        {
            *looked_up = true;
            return Ok(Progress::NeedsLookup(Lookup { key, remote: remote.clone() }));
        }
        let connection = UnbufferedServerConnection::new(config.config.clone())
            .map_err(|error| Fault::Handshake(error.to_string()))?;
        self.0.state = State::Handshake(Box::new(Handshake::new(connection, name)));
        self.0.receive(input, plain, out)
    }
}

/// The key of the session that the client would resume, if only the remote store may have it.
fn missed_session(shared: &Shared, hello: &Hello<'_>) -> Option<Vec<u8>> {
    let key = match hello.is_tls13 && shared.speaks_tls13 {
        true if shared.config.ticketer.enabled() => return None, // tickets contain their sessions
        true => hello.first_identity?,
        false if hello.has_ticket => return None,
        false => hello.session_id,
    };
    if key.is_empty() {
        return None;
    }
    watch_for_missed(|| shared.sessions.get(key)).1
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("state", &self.0.name()).finish_non_exhaustive()
    }
}
