//! A pool of idle raw streams.

use super::raw_stream::RawStream;
use hayami_net::clock::Millis;
use hayami_net::upstream_io::{Driver, SocketHandle, UpstreamIo};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// One worker's idle streams, each under a key that its user chose. Keys must differ for streams that must
/// not be confused: by peer, TLS settings and authenticated identity.
pub struct RawPool {
    outbound: UpstreamIo,
    most: usize,
    /// The most recently used one is last.
    idle: RefCell<Vec<(Box<[u8]>, RawStream)>>,
}

impl RawPool {
    /// Creates a pool for at most `most` streams.
    pub fn new(outbound: &UpstreamIo, most: usize) -> Rc<Self> {
        Rc::new(Self { outbound: outbound.clone(), most, idle: RefCell::default() })
    }

    /// Number of idle streams.
    pub fn idle(&self) -> usize {
        self.idle.borrow().len()
    }

    /// Takes the most recently used stream under this key. According to the kernel, its peer has sent nothing
    /// meanwhile and has not closed it.
    pub fn take(&self, key: &[u8]) -> Option<RawStream> {
        loop {
            let at = self.idle.borrow().iter().rposition(|(own, _)| **own == *key)?;
            let (_, mut stream) = self.idle.borrow_mut().remove(at);
            let late = stream.channel.wire.is_late();
            stream.channel.wire.set_deadline(Millis::NEVER);
            if !late && stream.channel.is_quiet() {
                stream.reused += 1;
                return Some(stream);
            }
        }
    }

    /// Returns a stream to the pool for at most `keep`. A stream with unread bytes or closed by its peer is
    /// closed instead. If the pool is full, the stream idle for longest is closed.
    pub fn give(self: &Rc<Self>, key: &[u8], mut stream: RawStream, keep: Duration) {
        stream.channel.settle();
        let wire = &stream.channel.wire;
        if self.most == 0 || keep.is_zero() || !is_fit(&stream) || self.outbound.watch(wire).is_err() {
            return;
        }
        wire.driven_by(self);
        wire.set_deadline(self.outbound.clock().millis().after(keep));
        stream.input.release(self.outbound.pool());
        stream.channel.release();
        let mut idle = self.idle.borrow_mut();
        let oldest = (idle.len() >= self.most).then(|| idle.remove(0));
        idle.push((key.into(), stream));
        drop((idle, oldest));
    }
}

fn is_fit(stream: &RawStream) -> bool {
    stream.input.is_empty() && stream.channel.is_at_rest()
}

impl Driver for RawPool {
    /// A stream has been closed by its peer, has unsolicited bytes or has timed out; or it has a TLS message
    /// that does not end it.
    fn on_event(self: Rc<Self>, socket: &SocketHandle) {
        let at =
            self.idle.borrow().iter().position(|(_, stream)| std::ptr::eq(&*stream.channel.wire, socket));
        let Some(at) = at else { return };
        let (key, mut stream) = self.idle.borrow_mut().remove(at);
        if socket.is_late() {
            return;
        }
        stream.channel.settle();
        if is_fit(&stream) {
            self.idle.borrow_mut().insert(at, (key, stream));
        }
    }

    fn turn(self: Rc<Self>) {}

    fn queues(&self) -> bool {
        false
    }

    fn collapse(&self) {}
}
