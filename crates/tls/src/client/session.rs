//! One connection's TLS, the client's side, without its socket.

use super::{Connector, name};
use crate::session::{Course, Handshake, State};
use crate::{Alpn, Error, Fault, Info, Progress};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use std::fmt;

/// One connection's TLS, the client's side. Used like a [`crate::Session`], but it sends first:
/// [`ClientSession::start`].
pub struct ClientSession(pub(crate) Course<ClientConnectionData>);

impl ClientSession {
    /// A session with the server of that name or address, which its certificate must match. Uses a ticket of
    /// the connector's, if there is one.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn new(connector: &Connector, server_name: &str) -> Result<Self, Error> {
        let alpn = connector.config.alpn_protocols.clone();
        Self::with(connector, server_name, alpn)
    }

    /// The same with these ALPN protocols instead of the connector's; with none, ALPN is not sent.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn offering(connector: &Connector, server_name: &str, alpn: &[Alpn]) -> Result<Self, Error> {
        Self::with(connector, server_name, alpn.iter().map(|alpn| alpn.id().to_vec()).collect())
    }

    fn with(connector: &Connector, server_name: &str, alpn: Vec<Vec<u8>>) -> Result<Self, Error> {
        let name = connector.server_name.clone().map_or_else(|| name(server_name), Ok)?;
        let shown = match &name {
            ServerName::DnsName(name) => Some(name.as_ref().to_ascii_lowercase().into()),
            _ => None, // addresses aren't sent (RFC 6066 §3)
        };
        let connection = UnbufferedClientConnection::new_with_alpn(connector.config.clone(), name, alpn)
            .map_err(|error| Error(format!("cannot start TLS with {server_name}: {error}")))?;
        Ok(Self(Course::new(Box::new(Handshake::new(connection, shown)))))
    }

    /// Appends the ClientHello to `out`. Call it once, before anything else.
    pub fn start(&mut self, out: &mut Vec<u8>) {
        if let State::Waiting(handshake) = &mut self.0.state {
            // This only makes a ClientHello from checked settings; if it fails, the next `receive` returns
            // why.
            let _ = handshake.receive(&mut Vec::new(), &mut Vec::new(), out);
        }
    }

    /// As [`crate::Session::receive`]; there is never a lookup.
    ///
    /// # Errors
    /// The session is over; its last alert is in `out`. [`Fault::PlainHttp`]: the server answers in
    /// cleartext.
    pub fn receive(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        if let State::Waiting(_) = &self.0.state {
            let Some(first) = input.first() else { return Ok(Progress::Handshaking) };
            let State::Waiting(handshake) = std::mem::replace(&mut self.0.state, State::Over) else {
                return Err(Fault::Over);
            };
            match first {
                20..=24 => self.0.state = State::Handshake(handshake), // content types (RFC 8446 §5.1)
                b'H' => return Err(Fault::PlainHttp),                  // HTTP/1.1 400
                _ => return Err(Fault::NotTls),
            }
        }
        self.0.receive(input, plain, out)
    }

    /// Appends records with `plain` in them. Nothing is appended before `Established` and after `close`.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.0.seal(plain, out);
    }

    /// As [`crate::Session::was_idle`].
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
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").field("state", &self.0.name()).finish_non_exhaustive()
    }
}
