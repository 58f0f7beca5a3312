//! A connection with an emulated distance: the socket is half a round trip away from the client.
//!
//! The kernel's connection is the server's view: it is dialled when the client's first segment would arrive,
//! written when bytes would, closed when the end would. What the server sends is read at once, so that the
//! kernel's buffers and windows are as they would be at the far end, and shown to the client later. The last
//! segment of TCP's handshake is held back so that the request carries it
//! ([`LocalEnd::speaks_at_once`](crate::dial::LocalEnd)) and a server accepts when it would.

use super::why;
use super::{Connection, Cx, Failure, READ, Stage};
use crate::dial;
use crate::distance::{Due, Entry};
use hayami_net::poll::Readiness;
use hayami_net::socket::Socket;
use std::io;
use std::task::Poll;

/// Reads of one turn; then the other connections get theirs.
const READS: usize = 32;

/// Everything in transit, in both directions.
#[derive(Debug, Default)]
pub(super) struct Far {
    slot: u32,
    generation: u32,
    is_connected: bool,
    /// The server has closed, and everything it sent before is read.
    is_read: bool,
    /// Bytes of the server that the client has not seen.
    arriving: Vec<u8>,
    /// Bytes of the client that have not been written, and how many of them have arrived.
    leaving: Vec<u8>,
    arrived: usize,
    /// When the last of each direction is through.
    last_arriving: u64,
    last_leaving: u64,
}

impl Far {
    pub(super) fn reset(&mut self) {
        (self.is_connected, self.is_read) = (false, false);
        self.arriving.clear();
        self.leaving.clear();
        (self.arrived, self.last_arriving, self.last_leaving) = (0, 0, 0);
    }

    fn towards_server(&mut self, cx: &mut Cx<'_>, what: Due) {
        let Some(delay) = &cx.job.delay else { return };
        let due = delay.arrival(cx.now, &mut cx.random, &mut self.last_leaving);
        cx.wheel.add(due, Entry { slot: self.slot, generation: self.generation, what });
    }

    fn towards_client(&mut self, cx: &mut Cx<'_>, what: Due) {
        let Some(delay) = &cx.job.delay else { return };
        delay.arrival(cx.now, &mut cx.random, &mut self.last_arriving);
        self.with_the_last(cx, what);
    }

    /// Delivers an event to the client together with the last bytes that the server sent.
    fn with_the_last(&self, cx: &mut Cx<'_>, what: Due) {
        let (slot, generation) = (self.slot, self.generation);
        cx.wheel.add(self.last_arriving, Entry { slot, generation, what });
    }

    /// The client writes.
    pub(super) fn send(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) {
        self.leaving.extend_from_slice(bytes);
        self.towards_server(cx, Due::Leave(bytes.len() as u32));
    }

    /// Bytes reach the client.
    pub(super) fn arrive(&mut self, bytes: usize, to: &mut Vec<u8>) {
        to.extend(self.arriving.drain(..bytes.min(self.arriving.len())));
    }

    /// Writes the bytes that have arrived at the server's end.
    fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        let mut written = 0;
        while written < self.arrived {
            match socket.send(&self.leaving[written..self.arrived], false) {
                Poll::Ready(sent) => written += sent?,
                Poll::Pending => break,
            }
        }
        self.leaving.drain(..written);
        self.arrived -= written;
        Ok(())
    }

    /// Reads what the server sent; `ended` means that the server has closed. Returns whether there may be more to read.
    fn read(&mut self, cx: &mut Cx<'_>, socket: &Socket, ended: bool) -> bool {
        for _ in 0..READS {
            if self.is_read {
                return false;
            }
            // Into the worker's buffer: bytes in transit then take no more memory than they need.
            cx.input.clear();
            cx.input.reserve(READ);
            let room = cx.input.capacity();
            match socket.read(&mut cx.input) {
                Poll::Pending => return false,
                Poll::Ready(Ok(0)) => {
                    self.is_read = true;
                    self.towards_client(cx, Due::Ended);
                }
                Poll::Ready(Ok(bytes)) => {
                    self.arriving.extend_from_slice(&cx.input);
                    self.towards_client(cx, Due::Arrived(bytes as u32));
                    // Less than there was room for is all that there was. The end came with it.
                    if ended && bytes < room {
                        self.is_read = true;
                        self.with_the_last(cx, Due::Ended);
                    }
                }
                Poll::Ready(Err(_)) => {
                    self.is_read = true;
                    self.towards_client(cx, Due::Broken);
                }
            }
        }
        true
    }
}

impl Connection {
    /// The first segment is on its way.
    pub(super) fn open_far(&mut self, cx: &mut Cx<'_>) {
        let far = self.wire.far.get_or_insert_default();
        far.reset();
        (far.slot, far.generation) = (self.slot, self.generation);
        far.towards_server(cx, Due::Dial);
    }

    /// Closes the client end; the close is in transit. Returns whether there was a connection to close.
    pub(crate) fn leave(&mut self, cx: &mut Cx<'_>) -> bool {
        let (Some(far), Some(_)) = (&mut self.wire.far, &self.wire.socket) else { return false };
        far.towards_server(cx, Due::Close);
        self.stage = Stage::Leaving;
        true
    }

    /// Handles a socket event at the server's end. Returns whether there may be more to read.
    pub(super) fn ready_far(&mut self, cx: &mut Cx<'_>, readiness: Readiness) -> bool {
        let (Some(far), Some(socket)) = (&mut self.wire.far, &self.wire.socket) else { return false };
        cx.now = crate::clock::now();
        if !far.is_connected {
            if !readiness.writable() {
                return false;
            }
            // Over the loopback interface a connection may be made and ended by then.
            if let Err(error) = if readiness.ended() { dial::outcome(socket) } else { Ok(()) } {
                self.why = why::system(&error);
                far.towards_client(cx, Due::Refused);
                return false;
            }
            far.is_connected = true;
            far.towards_client(cx, Due::Known);
        }
        // If that fails, so does reading.
        let _ = far.flush(socket);
        self.stage != Stage::Leaving && readiness.readable() && far.read(cx, socket, self.ended)
    }

    /// Continues reading at the server's end.
    pub(super) fn turn_far(&mut self, cx: &mut Cx<'_>) -> bool {
        let (Some(far), Some(socket)) = (&mut self.wire.far, &self.wire.socket) else { return false };
        self.stage != Stage::Leaving && far.read(cx, socket, self.ended)
    }

    /// Something in transit arrives.
    pub(crate) fn due(&mut self, cx: &mut Cx<'_>, what: Due) {
        match what {
            Due::Dial => {
                if let Err(error) = self.dial(cx) {
                    self.why = why::system(&error);
                    if let Some(far) = &mut self.wire.far {
                        far.towards_client(cx, Due::Refused);
                    }
                    return;
                }
                self.watch(cx, true);
            }
            Due::Leave(bytes) => self.leave_bytes(bytes as usize),
            Due::Close => {
                self.keep_spare(cx);
                self.stage = Stage::Gone;
            }
            _ if matches!(self.stage, Stage::Leaving | Stage::Over(_) | Stage::Gone) => {}
            Due::Known => {
                self.begin_speaking(cx);
                if self.stage == Stage::Dialing {
                    self.connected(cx); // nothing was sent
                }
            }
            Due::Refused => {
                let why = std::mem::take(&mut self.why);
                self.fail(Failure::Connect, why);
            }
            Due::Arrived(bytes) => {
                self.wire.arrived(cx, bytes as usize);
                self.received(cx);
            }
            Due::Ended => {
                self.ended = true;
                self.eof(cx);
            }
            Due::Broken => self.broken(why::RESET.into()),
            Due::Open(_) => {}
        }
    }

    /// Handles the client's close arriving at the server; the socket is kept for a new connection.
    fn keep_spare(&mut self, cx: &mut Cx<'_>) {
        let is_over = self.wire.far.as_ref().is_some_and(|far| far.is_read);
        if let Some(socket) = self.wire.socket.take_if(|_| is_over && cx.job.can_dial_again()) {
            cx.spares.extend(dial::finish(socket).ok());
        }
    }

    fn leave_bytes(&mut self, bytes: usize) {
        let (Some(far), Some(socket)) = (&mut self.wire.far, &self.wire.socket) else { return };
        far.arrived = (far.arrived + bytes).min(far.leaving.len());
        // If that fails, so does reading.
        let _ = far.flush(socket);
    }
}
