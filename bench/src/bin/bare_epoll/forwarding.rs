//! The bare forwarding loop: one thread, one epoll, two sockets for each request. A proxy that uses epoll and one
//! system call each to receive and to send, on both sides, cannot cost less, so hayami's proxy is compared with it.
//!
//! It is not a proxy: a request is everything up to an empty line and is forwarded unchanged; a response is a number of
//! bytes given beforehand and is returned unchanged. Connections to the upstream are reused. With `--per-request`, a
//! client connection is closed after its response.

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, sockopt,
};

use crate::poll::{Poll, Serve};
use crate::table::Table;

const READ_BUFFER: usize = 64 * 1024;

/// A connection and its current counterpart.
enum Peer {
    Client { socket: OwnedFd, unfinished: Vec<u8>, upstream: Option<usize> },
    Upstream { socket: OwnedFd, client: Option<usize>, left: usize },
}

pub(crate) struct Forwarding {
    poll: Poll,
    upstream: SocketAddrV4,
    /// Bytes of a whole response, head included.
    bytes: usize,
    per_request: bool,
    peers: Table<Peer>,
    /// Idle connections to the upstream.
    idle: Vec<usize>,
    buffer: Vec<u8>,
}

impl Serve for Forwarding {
    fn poll(&self) -> &Poll {
        &self.poll
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Some(socket) = self.poll.accept()? {
            self.enter(Peer::Client { socket, unfinished: Vec::new(), upstream: None })?;
        }
        Ok(())
    }

    /// One receive, and one send to the other side if that completes a message.
    fn turn(&mut self, at: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(at) else { return Ok(()) };
        let (Peer::Client { socket, .. } | Peer::Upstream { socket, .. }) = &*peer;
        let received = match recv(socket, &mut *self.buffer, RecvFlags::DONTWAIT) {
            Ok((received, _)) if received > 0 => received,
            Err(Errno::AGAIN) => return Ok(()),
            Ok(_) | Err(_) => {
                self.lose(at);
                return Ok(());
            }
        };
        match peer {
            Peer::Client { unfinished, .. } => {
                unfinished.extend_from_slice(&self.buffer[..received]);
                if unfinished.ends_with(b"\r\n\r\n") { self.request(at) } else { Ok(()) }
            }
            Peer::Upstream { client, left, .. } => {
                *left = left.saturating_sub(received);
                let (client, whole) = (*client, *left == 0);
                self.respond(at, client, received, whole);
                Ok(())
            }
        }
    }
}

impl Forwarding {
    /// Binds and listens.
    pub(crate) fn listen(
        address: SocketAddrV4,
        upstream: SocketAddrV4,
        bytes: usize,
        per_request: bool,
    ) -> io::Result<Self> {
        let poll = Poll::listen(address, false)?;
        let (peers, idle, buffer) = (Table::default(), Vec::new(), vec![0; READ_BUFFER]);
        Ok(Self { poll, upstream, bytes, per_request, peers, idle, buffer })
    }

    fn enter(&mut self, peer: Peer) -> io::Result<usize> {
        let at = self.peers.insert(peer);
        if let Some(Peer::Client { socket, .. } | Peer::Upstream { socket, .. }) = self.peers.get(at) {
            self.poll.add(socket, at)?;
        }
        Ok(at)
    }

    /// Sends a client's request to the upstream.
    fn request(&mut self, at: usize) -> io::Result<()> {
        let upstream = match self.idle.pop() {
            Some(upstream) => upstream,
            None => self.connect()?,
        };
        let Some(Peer::Client { unfinished, upstream: other, .. }) = self.peers.get(at) else {
            return Ok(());
        };
        *other = Some(upstream);
        let request = std::mem::take(unfinished);
        let bytes = self.bytes;
        if let Some(Peer::Upstream { socket, client, left }) = self.peers.get(upstream) {
            (*client, *left) = (Some(at), bytes);
            if send(&*socket, &request, SendFlags::NOSIGNAL) != Ok(request.len()) {
                self.lose(upstream);
            }
        }
        if let Some(Peer::Client { unfinished, .. }) = self.peers.get(at) {
            // Reuse the memory.
            *unfinished = request;
            unfinished.clear();
        }
        Ok(())
    }

    fn connect(&mut self) -> io::Result<usize> {
        let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        connect(&socket, &self.upstream)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        self.enter(Peer::Upstream { socket, client: None, left: 0 })
    }

    /// Sends received bytes to the client.
    fn respond(&mut self, at: usize, client: Option<usize>, received: usize, whole: bool) {
        if let Some(client) = client
            && let Some(Peer::Client { socket, upstream, .. }) = self.peers.get(client)
        {
            let sent = send(&*socket, &self.buffer[..received], SendFlags::NOSIGNAL);
            if whole {
                *upstream = None;
            }
            if sent != Ok(received) || whole && self.per_request {
                self.peers.remove(client);
            }
        }
        if whole {
            if let Some(Peer::Upstream { client, .. }) = self.peers.get(at) {
                *client = None;
            }
            self.idle.push(at);
        }
    }

    /// Removes a closed connection and its counterpart.
    fn lose(&mut self, at: usize) {
        let other = match self.peers.get(at) {
            Some(Peer::Client { upstream, .. }) => *upstream,
            Some(Peer::Upstream { client, .. }) => *client,
            None => None,
        };
        self.idle.retain(|idle| *idle != at);
        self.peers.remove(at);
        if let Some(other) = other {
            self.peers.remove(other);
        }
    }
}
