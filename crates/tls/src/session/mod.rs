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
//! `examples/timing.rs`), and an idle connection keeps little more than its keys. `common` sequences them,
//! for the server here and for the client of [`crate::client`]; `role` has the differences between the roles,
//! `side` how each begins.

mod common;
mod gather;
mod handshake;
pub(crate) mod hello;
mod open;
mod records;
mod role;
mod side;
#[cfg(test)]
pub(crate) mod tests;

use crate::acceptor::{Acceptor, Shared, Table};
use crate::resumption::watch_for_missed;
use crate::{Fault, Lookup};
pub use common::SessionCommon;
pub(crate) use common::State;
pub(crate) use handshake::Handshake;
use hello::{First, Hello, Scan};
pub(crate) use role::{Role, RustlsRole};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
pub(crate) use side::Greeted;
pub use side::Side;
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

/// The server's side.
pub type ServerSide = ServerConnectionData;

/// One connection's TLS, the server's side.
pub type Session = SessionCommon<ServerSide>;

/// Before the ClientHello is whole: nothing is allocated.
pub struct Greeting {
    table: Arc<Table>,
    scan: Scan,
    looked_up: bool,
}

impl Session {
    /// A session with the current configuration of `acceptor`. Allocates nothing.
    pub fn new(acceptor: &Acceptor) -> Self {
        Self::waiting(Greeting { table: acceptor.table(), scan: Scan::default(), looked_up: false })
    }
}

impl Greeting {
    /// Chooses the configuration by the ClientHello, once that is whole.
    fn receive_hello(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Greeted<ServerSide>, Fault> {
        match self.scan.judge(input) {
            First::Incomplete => return Ok(Greeted::Not(Progress::Handshaking)),
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
        let config = self.table.choose(name.as_deref(), raw);
        if let (Some(remote), Some(hello), false) = (self.table.remote(), &hello, self.looked_up)
            && let Some(key) = missed_session(config, hello)
        {
            self.looked_up = true;
            let remote = remote.clone();
            return Ok(Greeted::Not(Progress::NeedsLookup(Lookup { key, remote })));
        }
        let connection = UnbufferedServerConnection::new(config.config.clone())
            .map_err(|error| Fault::Handshake(error.to_string()))?;
        Ok(Greeted::By(Box::new(Handshake::new(connection, name))))
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
