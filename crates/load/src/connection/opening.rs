//! Opening a connection: the socket, the first bytes, and the moment it becomes usable.

use super::why;
use super::wire::Watched;
use super::{Connection, Cx, Failure, Origin, Stage};
use crate::dial::{self, LocalEnd};
use hayami_net::dial::{Peer, send_at_once};
use hayami_net::poll::{Kind, Token};
use std::io;
use std::task::Poll;

impl Connection {
    /// Begins.
    pub(crate) fn open(&mut self, cx: &mut Cx<'_>, failures: u32) {
        self.generation = self.generation.wrapping_add(1);
        self.stage = Stage::Dialing;
        (self.began, self.deadline) = (cx.now, cx.now + cx.job.timeout);
        (self.left, self.failures) = (cx.job.per_connection, failures);
        (self.ended, self.is_idle, self.has_answered) = (false, false, false);
        match &cx.job.delay {
            Some(delay) if delay.loses(&mut cx.random) => self.stage = Stage::Astray,
            Some(_) => self.open_far(cx),
            None => match self.dial(cx) {
                Ok(()) => {
                    cx.now = crate::clock::now();
                    self.begin_speaking(cx);
                }
                Err(error) => self.fail(Failure::Connect, why::system(&error)),
            },
        }
    }

    /// Makes the socket, of the last connection's if that was left for it.
    pub(super) fn dial(&mut self, cx: &mut Cx<'_>) -> io::Result<()> {
        self.origin = cx.origins.take();
        let Origin { source, port } = self.origin;
        if let (Some((socket, watched)), Peer::Tcp(address)) = (self.wire.take_spare(), &cx.job.peer)
            && let Ok(socket) =
                dial::finish(socket).and_then(|spare| dial::connect_again(spare, *address, port))
        {
            self.wire.set_socket(socket, watched); // with its old token
            return Ok(());
        }
        self.token = Some(Token::new(Kind::Connection, self.slot, self.generation));
        if let (Some(spare), Peer::Tcp(address)) = (cx.spares.pop(), &cx.job.peer)
            && let Ok(socket) = dial::connect_again(spare, *address, port)
        {
            self.wire.set_socket(socket, Watched::ByAnother);
            return Ok(());
        }
        // Without a distance the kernel acknowledges the handshake by itself, as for any client: a server
        // that accepts immediately and then has to wait for the request bears that real cost, too.
        let speaks_at_once = cx.job.delay.is_some() && (cx.job.speaks_first() || !cx.pace.is_open());
        let socket = dial::connect_from(&cx.job.peer, LocalEnd { source, port, speaks_at_once })?;
        if cx.job.writes_twice() {
            send_at_once(&socket);
        }
        self.wire.set_socket(socket, Watched::No);
        Ok(())
    }

    /// Writes the client's first bytes, even if the connection is not known to be established: over loopback
    /// it is, and then a new connection needs no wake-up before its first request.
    pub(super) fn begin_speaking(&mut self, cx: &mut Cx<'_>) {
        cx.out.clear();
        self.engine.reset();
        let plain = cx.job.connector.is_none();
        if plain {
            self.engine.choose(cx, None);
            self.engine.start(cx);
            if self.engine.is_http1() {
                self.engine.fill(cx, &mut self.left);
            }
        } else if !self.wire.start_tls(cx) {
            return self.fail(Failure::Tls, why::NO_NAME);
        }
        match self.wire.send_first(cx) {
            Poll::Ready(Ok(true)) => self.connected(cx),
            Poll::Ready(Err(error)) => self.fail(Failure::Connect, why::system(&error)),
            _ => {
                // Not connected yet, or nothing to send: try again later.
                self.left = cx.job.per_connection;
                self.engine.take_back(cx);
                self.watch(cx, true);
            }
        }
    }

    /// The client knows that the connection is established, and its first bytes have been sent.
    pub(super) fn connected(&mut self, cx: &mut Cx<'_>) {
        if cx.job.connector.is_some() {
            self.stage = Stage::Shaking;
        } else {
            if !self.engine.is_used() {
                self.engine.choose(cx, None);
            }
            self.established(cx);
            cx.out.clear();
            self.fill_and_send(cx);
        }
        self.watch(cx, false);
    }

    /// Requests may be sent.
    pub(super) fn established(&mut self, cx: &mut Cx<'_>) {
        self.stage = Stage::Open;
        cx.count.tally.connect.record(cx.now.saturating_sub(self.began));
        cx.count.tally.connections += 1;
        cx.count.usable += 1;
        self.is_usable = true;
    }
}
