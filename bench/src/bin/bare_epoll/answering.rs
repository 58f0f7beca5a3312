//! A constant answer to each request.

use std::io;
use std::net::SocketAddrV4;

use crate::connection::{Connection, Reply, Turn};
use crate::count::Count;
use crate::poll::{Poll, Serve};
use crate::table::Table;

const READ_BUFFER: usize = 64 * 1024;

/// The server that answers with constant bytes.
pub(crate) struct Answering {
    poll: Poll,
    reply: Reply,
    per_request: bool,
    count: Option<Count>,
    connections: Table<Connection>,
    buffer: Vec<u8>,
    /// Scratch buffer for the output of a turn.
    out: Vec<u8>,
}

impl Answering {
    /// Binds and listens.
    pub(crate) fn listen(
        address: SocketAddrV4,
        reply: Reply,
        per_request: bool,
        count: Option<Count>,
    ) -> io::Result<Self> {
        let poll = Poll::listen(address, per_request)?;
        let (connections, buffer, out) = (Table::default(), vec![0; READ_BUFFER], Vec::new());
        Ok(Self { poll, reply, per_request, count, connections, buffer, out })
    }
}

impl Serve for Answering {
    fn poll(&self) -> &Poll {
        &self.poll
    }

    /// Accepts all pending connections. With one request per connection, a connection is read first:
    /// TCP_DEFER_ACCEPT shows it only with its request, so it is done before epoll learns of it.
    fn accept(&mut self) -> io::Result<()> {
        while let Some(socket) = self.poll.accept()? {
            if let Some(count) = &mut self.count {
                count.add()?;
            }
            let mut connection = Connection::new(socket);
            if self.per_request {
                let turn = connection.turn(&mut self.buffer, &self.reply, &mut self.out);
                if turn == Turn::Over || connection.answered > 0 {
                    continue;
                }
            }
            let index = self.connections.insert(connection);
            if let Some(connection) = self.connections.get(index) {
                self.poll.add(&connection.socket, index)?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, index: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get(index) else { return Ok(()) };
        let turn = connection.turn(&mut self.buffer, &self.reply, &mut self.out);
        if turn == Turn::Over || (self.per_request && connection.answered > 0) {
            self.connections.remove(index);
        }
        Ok(())
    }
}
