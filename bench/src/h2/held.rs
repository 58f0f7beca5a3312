//! HTTP/2 connections that are held open, and the one that checks a server.

use std::io;
use std::net::SocketAddrV4;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use super::transport::Transport;
use super::{Connection, Request};
use crate::held::{self, Answer, Hold};

/// Connections on which SETTINGS were exchanged, and perhaps one request answered.
pub(crate) struct Greeted {
    connections: Vec<Connection>,
    tls: Option<Arc<ClientConfig>>,
    request: Request,
    ask: bool,
}

impl Greeted {
    /// None yet.
    pub(crate) fn new(tls: Option<Arc<ClientConfig>>, request: Request, ask: bool) -> Self {
        Self { connections: Vec::new(), tls, request, ask }
    }

    /// Opens one connection: up to the ClientHello.
    fn begin(&mut self, address: SocketAddrV4, index: usize) -> io::Result<()> {
        let transport = Transport::begin(held::connect(address, index)?, self.tls.as_ref())?;
        self.connections.push(Connection::new(transport));
        Ok(())
    }
}

impl Hold for Greeted {
    fn open(&mut self, address: SocketAddrV4, count: usize, limit: Duration) -> Result<(), String> {
        held::in_batches(count, limit, |batch| self.open_batch(address, batch))
    }

    fn alive(&self) -> usize {
        self.connections.iter().filter(|connection| held::is_open(connection.transport.socket())).count()
    }
}

impl Greeted {
    /// Step by step for all of a batch, so that the server works on one while we work on another.
    fn open_batch(&mut self, address: SocketAddrV4, batch: Range<usize>) -> io::Result<()> {
        batch.clone().try_for_each(|index| self.begin(address, index))?;
        let batch = &mut self.connections[batch];
        batch.iter_mut().try_for_each(Connection::greet)?;
        batch.iter_mut().try_for_each(Connection::settle)?;
        if self.ask {
            batch.iter_mut().try_for_each(|connection| connection.ask(&self.request))?;
            batch
                .iter_mut()
                .try_for_each(|connection| connection.read_answer(self.request.content).map(drop))?;
        }
        Ok(())
    }
}

/// Asks twice on a connection of its own: what does a response look like when the server's table has
/// its field lines already (RFC 7541 §2.3.2)?
///
/// # Errors
/// The server does not answer both with a 200 of the right length.
pub(crate) fn probe(
    address: SocketAddrV4,
    tls: Option<Arc<ClientConfig>>,
    request: &Request,
) -> Result<Answer, String> {
    let asked = held::connect(address, 0).and_then(|socket| {
        let mut connection = Connection::new(Transport::begin(socket, tls.as_ref())?);
        connection.greet()?;
        connection.settle()?;
        connection.ask(request)?;
        connection.read_answer(request.content)?;
        connection.ask(request)?;
        connection.read_answer(request.content)
    });
    asked.map_err(|error| format!("first requests: {error}"))
}
