//! Raw streams that wait for their next user.

use super::raw_stream::RawStream;
use hayami_net::clock::Millis;
use hayami_net::upstream_io::{Driver, SocketHandle, UpstreamIo};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Streams of one worker that wait, each under the key that its user gave it. What a key says is the users' affair; it must
/// tell apart what must not be confused: peer, TLS, whom the stream was authenticated as.
pub struct RawPool {
    outbound: UpstreamIo,
    most: usize,
    /// The one that was used last at the end.
    idle: RefCell<Vec<(Box<[u8]>, RawStream)>>,
}

impl RawPool {
    /// A pool for at most so many streams.
    pub fn new(outbound: &UpstreamIo, most: usize) -> Rc<Self> {
        Rc::new(Self { outbound: outbound.clone(), most, idle: RefCell::default() })
    }

    /// Streams that wait.
    pub fn idle(&self) -> usize {
        self.idle.borrow().len()
    }

    /// A stream under this key, the one that was used last. Its peer has sent nothing meanwhile, and has not closed it,
    /// as far as the kernel knows.
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

    /// Keeps a stream for the next user with this key, for as long as `keep`. It is closed instead if bytes have come that
    /// its user has not read, or if its peer has ended. A full pool closes the stream that has waited longest.
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
    /// A stream has ended, has bytes that nothing asked for, or has waited for too long; or TLS has something to say that
    /// ends nothing.
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
