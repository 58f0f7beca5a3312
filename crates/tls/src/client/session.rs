//! One connection's TLS, the client's side, without its socket.

use super::{Connector, name};
use crate::session::{Handshake, SessionCommon, State};
use crate::{Alpn, Error};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;

/// One connection's TLS, the client's side. Used like [`crate::Session`], except that it sends first:
/// [`ClientSession::start`]. It never needs a lookup.
pub type ClientSession = SessionCommon<ClientSide>;

/// The client's side.
pub type ClientSide = ClientConnectionData;

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
        Ok(Self::waiting(Some(Box::new(Handshake::new(connection, shown)))))
    }

    /// Appends the ClientHello to `out`. Call it once, before anything else.
    pub fn start(&mut self, out: &mut Vec<u8>) {
        if let State::Waiting(Some(handshake)) = &mut self.state {
            // This only makes a ClientHello from checked settings; if it fails, the next `receive` returns
            // why.
            let _ = handshake.receive(&mut Vec::new(), &mut Vec::new(), out);
        }
    }
}
