//! The loop: level-triggered epoll, connections in a slab whose index is the event's data.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::connection::{Connection, Reply, Turn};
use crate::count::Count;
use crate::defer_accept;

/// The data of the listener's events; the slab never grows that far.
const LISTENER: u64 = u64::MAX;
const EVENTS_AT_ONCE: usize = 512;
const READ_BUFFER: usize = 64 * 1024;

/// The listener, its connections, and the one epoll for all.
pub(crate) struct EventLoop {
    epoll: OwnedFd,
    listener: OwnedFd,
    reply: Reply,
    per_request: bool,
    count: Option<Count>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    buffer: Vec<u8>,
    /// Scratch for what a turn sends.
    out: Vec<u8>,
}

impl EventLoop {
    /// Binds and listens.
    pub(crate) fn listen(
        address: SocketAddrV4,
        reply: Reply,
        per_request: bool,
        count: Option<Count>,
    ) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        if per_request {
            defer_accept::set(&listener)?;
        }
        net::bind(&listener, &address)?;
        net::listen(&listener, 4096)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let (connections, free, buffer, out) = (Vec::new(), Vec::new(), vec![0; READ_BUFFER], Vec::new());
        Ok(Self { epoll, listener, reply, per_request, count, connections, free, buffer, out })
    }

    /// Serves until a signal ends the process.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS_AT_ONCE];
        loop {
            let ready = match epoll::wait(&self.epoll, &mut events, None) {
                Ok((ready, _)) => ready,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in ready.iter() {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    index => self.turn(index as usize),
                }
            }
        }
    }

    /// Accepts all that wait. In the mode of a connection per request a connection is read first:
    /// TCP_DEFER_ACCEPT lets us see it only with its request, so it is over before epoll knows of it.
    fn accept(&mut self) -> io::Result<()> {
        loop {
            let socket = match net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
            {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
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
            self.register(connection)?;
        }
    }

    fn register(&mut self, connection: Connection) -> io::Result<()> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let data = EventData::new_u64(index as u64);
        epoll::add(&self.epoll, &connection.socket, data, EventFlags::IN)?;
        self.connections[index] = Some(connection);
        Ok(())
    }

    fn turn(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else { return };
        let turn = connection.turn(&mut self.buffer, &self.reply, &mut self.out);
        if turn == Turn::Over || (self.per_request && connection.answered > 0) {
            self.connections[index] = None; // Closing the descriptor takes it out of epoll.
            self.free.push(index);
        }
    }
}
