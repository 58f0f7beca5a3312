//! One connection: receive, count the requests, send as many answers.

use std::os::fd::OwnedFd;

use memchr::memmem;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::answer::{Answer, MOST_AT_ONCE};

/// What became of a connection after a turn.
#[derive(PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing to read: wait for more.
    Empty,
    /// Requests were answered, or one is not complete yet.
    Open,
    /// The peer is gone, or it does not read what it asked for.
    Over,
}

/// A connected client.
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    /// The octets of a request whose end has not come yet; nearly always empty.
    unfinished: Vec<u8>,
    /// Requests answered so far.
    pub(crate) answered: usize,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, unfinished: Vec::new(), answered: 0 }
    }

    /// One receive and, if it completes any request, one send.
    pub(crate) fn turn(&mut self, buffer: &mut [u8], answer: &Answer) -> Turn {
        let received = match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Turn::Over,
            Ok((received, _)) => received,
            Err(Errno::AGAIN) => return Turn::Empty,
            Err(_) => return Turn::Over,
        };
        let requests = self.count(&buffer[..received]);
        if requests == 0 {
            return Turn::Open;
        }
        self.answered += requests;
        let octets = answer.times(requests.min(MOST_AT_ONCE));
        // A short send means a peer that does not read; the limit is not measured with those.
        match send(&self.socket, octets, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == octets.len() => Turn::Open,
            _ => Turn::Over,
        }
    }

    /// The requests completed by `octets`; a remainder is kept.
    fn count(&mut self, octets: &[u8]) -> usize {
        if !self.unfinished.is_empty() {
            self.unfinished.extend_from_slice(octets);
            let (requests, end) = complete_requests(&self.unfinished);
            self.unfinished.drain(..end);
            return requests;
        }
        let (requests, end) = complete_requests(octets);
        self.unfinished.extend_from_slice(&octets[end..]);
        requests
    }
}

/// How many requests without content are complete, and where the last one ends.
fn complete_requests(octets: &[u8]) -> (usize, usize) {
    memmem::find_iter(octets, b"\r\n\r\n").fold((0, 0), |(count, _), at| (count + 1, at + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_whole_and_octet_by_octet() {
        const CASES: &[(&[u8], usize)] = &[
            (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1),
            (b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET", 2),
            (b"GET / HTTP/1.1\r\nHost: a\r\n", 0),
        ];
        for (wire, expected) in CASES {
            let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
            let mut whole = Connection::new(socket.try_clone().unwrap().into());
            assert_eq!(whole.count(wire), *expected, "{wire:?} whole");
            let mut split = Connection::new(socket.into());
            let sum: usize = wire.iter().map(|octet| split.count(&[*octet])).sum();
            assert_eq!(sum, *expected, "{wire:?} by octet");
        }
    }
}
