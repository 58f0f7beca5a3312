//! One connection of the load client.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::Load;
use super::response::Responses;

/// Where a connection stands after reading.
pub(super) enum Progress {
    /// More is to come.
    Waiting,
    /// All that was asked is answered, and the connection stays.
    Answered,
    /// The server closed after answering, as it announced or may (RFC 9112 §9.5): begin anew.
    Closed,
    /// The server closed too early, or answered something wrong.
    Broken,
}

/// What one reading gave.
#[derive(Default)]
pub(super) struct Received {
    pub(super) octets: u64,
    pub(super) responses: u64,
}

pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    /// When the requests in flight were sent; with a connection per request, when it was opened.
    pub(super) asked_at: Instant,
    /// Requests not yet answered.
    in_flight: usize,
    /// Batches sent so far.
    batches: u64,
    responses: Responses,
}

impl Connection {
    pub(super) fn open(load: &Load) -> io::Result<Self> {
        let asked_at = Instant::now();
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        match net::connect(&socket, &load.address) {
            // A refusal shows as a fault when the request is sent.
            Ok(()) | Err(Errno::INPROGRESS | Errno::CONNREFUSED) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self { socket, asked_at, in_flight: 0, batches: 0, responses: Responses::new() })
    }

    /// Whether the first requests still wait for the connection to be there.
    pub(super) fn is_unsent(&self) -> bool {
        self.batches == 0
    }

    /// Sends a batch of `depth` requests; `false` when the socket is not ready for it.
    pub(super) fn send(&mut self, batch: &[u8], depth: usize) -> Result<bool, Errno> {
        if self.batches > 0 {
            self.asked_at = Instant::now();
        }
        match net::send(&self.socket, batch, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == batch.len() => {
                self.in_flight = depth;
                self.batches += 1;
                Ok(true)
            }
            Ok(_) => Err(Errno::MSGSIZE),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads until there is no more, or the answers are complete on a connection that stays.
    pub(super) fn receive(&mut self, buffer: &mut [u8], content: u64) -> (Progress, Received) {
        let mut received = Received::default();
        loop {
            let octets = match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((octets @ 1.., _)) => octets,
                Err(Errno::AGAIN) => return (Progress::Waiting, received),
                Err(Errno::INTR) => continue,
                // A server that closes with pipelined requests unread resets (RFC 9112 §9.6).
                Ok((0, _)) | Err(_) if self.in_flight == 0 => return (Progress::Closed, received),
                Ok(_) | Err(_) => return (Progress::Broken, received),
            };
            received.octets += octets as u64;
            let Ok(complete) = self.responses.feed(&buffer[..octets], content) else {
                return (Progress::Broken, received);
            };
            if complete > self.in_flight {
                return (Progress::Broken, received);
            }
            received.responses += complete as u64;
            self.in_flight -= complete;
            if self.responses.announced_close() {
                // The server answers nothing after this one (RFC 9112 §9.6): what else was pipelined
                // is not a fault. Its end of the connection is read next, so that it closes first.
                self.in_flight = 0;
            } else if self.in_flight == 0 {
                return (Progress::Answered, received);
            }
        }
    }
}
