//! One connection: receive, count the requests, send that many answers.

use std::os::fd::OwnedFd;

use memchr::memmem;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::answer::{Answer, MOST_AT_ONCE};
use crate::frames::Frames;

/// The state of a connection after a turn.
#[derive(PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing to read: wait for more.
    Empty,
    /// Requests were answered, or one is still incomplete.
    Open,
    /// The peer has closed the connection or does not read its responses.
    Over,
}

/// The response to every request.
pub(crate) enum Reply {
    /// HTTP/1.1.
    Http1(Answer),
    /// HTTP/2.
    Http2(Frames),
}

/// A connected client.
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    /// The bytes of an incomplete request; nearly always empty.
    unfinished: Vec<u8>,
    /// Requests answered so far.
    pub(crate) answered: usize,
    /// Over HTTP/2: the preface has been received.
    greeted: bool,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, unfinished: Vec::new(), answered: 0, greeted: false }
    }

    /// One receive and, if it completes any request, one send. `out` is scratch, empty before and after.
    pub(crate) fn turn(&mut self, buffer: &mut [u8], reply: &Reply, out: &mut Vec<u8>) -> Turn {
        let received = match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Turn::Over,
            Ok((received, _)) => received,
            Err(Errno::AGAIN) => return Turn::Empty,
            Err(_) => return Turn::Over,
        };
        let received = &buffer[..received];
        match reply {
            Reply::Http1(answer) => {
                let requests = self.take(received, complete_requests);
                self.answered += requests;
                self.send(answer.times(requests.min(MOST_AT_ONCE)))
            }
            Reply::Http2(frames) => {
                let mut greeted = self.greeted;
                self.answered += self.take(received, |bytes| frames.answer(bytes, &mut greeted, out));
                self.greeted = greeted;
                let turn = self.send(out);
                out.clear();
                turn
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> Turn {
        let mut left = bytes;
        while !left.is_empty() {
            match send(&self.socket, left, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => left = &left[sent..],
                // Rare: a socket buffer that has not grown yet. All connections wait, since the limit has no queues.
                Err(Errno::AGAIN) if wait_for_room(&self.socket) => {}
                Err(_) => return Turn::Over,
            }
        }
        Turn::Open
    }

    /// Passes the bytes to `parse`, which returns how many it consumed and the number of requests in them;
    /// the rest is kept for the next time.
    fn take(&mut self, bytes: &[u8], mut parse: impl FnMut(&[u8]) -> (usize, usize)) -> usize {
        if !self.unfinished.is_empty() {
            self.unfinished.extend_from_slice(bytes);
            let (end, requests) = parse(&self.unfinished);
            self.unfinished.drain(..end);
            return requests;
        }
        let (end, requests) = parse(bytes);
        self.unfinished.extend_from_slice(&bytes[end..]);
        requests
    }
}

/// The end of the last complete request without content, and the number of complete requests.
fn complete_requests(bytes: &[u8]) -> (usize, usize) {
    memmem::find_iter(bytes, b"\r\n\r\n").fold((0, 0), |(_, count), at| (at + 4, count + 1))
}

/// Waits until the peer has read; `false` if it does not within a second.
fn wait_for_room(socket: &OwnedFd) -> bool {
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&second)), Ok(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_whole_and_byte_by_byte() {
        const CASES: &[(&[u8], usize)] = &[
            (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1),
            (b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET", 2),
            (b"GET / HTTP/1.1\r\nHost: a\r\n", 0),
        ];
        for (wire, expected) in CASES {
            let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
            let mut whole = Connection::new(socket.try_clone().unwrap().into());
            assert_eq!(whole.take(wire, complete_requests), *expected, "{wire:?} whole");
            let mut split = Connection::new(socket.into());
            let sum: usize = wire.iter().map(|byte| split.take(&[*byte], complete_requests)).sum();
            assert_eq!(sum, *expected, "{wire:?} by byte");
        }
    }
}
