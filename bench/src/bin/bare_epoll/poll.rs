//! The event loop: level-triggered epoll; the data of an event is the connection's index.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::defer_accept;

/// The data of the listener's events; no connection table grows that large.
const LISTENER: u64 = u64::MAX;
const EVENTS_AT_ONCE: usize = 512;

/// The listener and the one epoll for it and all connections.
pub(crate) struct Poll {
    epoll: OwnedFd,
    listener: OwnedFd,
}

/// A server driven by the loop.
pub(crate) trait Serve {
    /// Its listener and epoll.
    fn poll(&self) -> &Poll;

    /// Accepts pending connections.
    fn accept(&mut self) -> io::Result<()>;

    /// Handles a readable connection.
    fn turn(&mut self, index: usize) -> io::Result<()>;
}

impl Poll {
    /// Binds and listens. With `defer_accept`, a connection is reported only with its first bytes.
    pub(crate) fn listen(address: SocketAddrV4, defer_accept: bool) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        if defer_accept {
            defer_accept::set(&listener)?;
        }
        net::bind(&listener, &address)?;
        net::listen(&listener, 4096)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self { epoll, listener })
    }

    /// Registers a connection, for as long as its descriptor is open.
    pub(crate) fn add(&self, socket: &OwnedFd, index: usize) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(index as u64), EventFlags::IN)?)
    }

    /// The next pending connection, if any.
    pub(crate) fn accept(&self) -> io::Result<Option<OwnedFd>> {
        loop {
            match net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => return Ok(Some(socket)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Serves until a signal ends the process.
pub(crate) fn run(mut server: impl Serve) -> io::Result<()> {
    let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS_AT_ONCE];
    loop {
        let ready = match epoll::wait(&server.poll().epoll, &mut events, None) {
            Ok((ready, _)) => ready,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for event in ready.iter() {
            match event.data.u64() {
                LISTENER => server.accept()?,
                index => server.turn(index as usize)?,
            }
        }
    }
}
