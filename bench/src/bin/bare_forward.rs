//! The bare forwarding loop: one thread, one epoll, two sockets for each request. No proxy that uses epoll and a system call
//! to receive and one to send, on both sides, can cost less, so this is what hayami's proxy is held against.
//!
//! It is not a proxy: a request is whatever ends in an empty line, and goes on as it came; a response is as many bytes as
//! were said beforehand, and goes back as it came. Connections to the upstream are kept and used again. With
//! `--per-request`, a client's connection is closed after its response.

use clap::Parser;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, sockopt,
};
use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::process::ExitCode;

/// The data of the listener's events; the slab never grows that far.
const LISTENER: u64 = u64::MAX;
const EVENTS_AT_ONCE: usize = 512;
const READ_BUFFER: usize = 64 * 1024;

/// The limit of the races of proxies.
#[derive(Parser)]
struct Options {
    /// Port to listen on, at 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// Address of the upstream.
    #[arg(long)]
    upstream: SocketAddrV4,
    /// Bytes of a whole response, head included.
    #[arg(long)]
    bytes: usize,
    /// Close the client's connection after one response.
    #[arg(long)]
    per_request: bool,
}

/// A connection, and what stands on its other side at the moment.
enum Peer {
    Client { socket: OwnedFd, unfinished: Vec<u8>, upstream: Option<usize> },
    Upstream { socket: OwnedFd, client: Option<usize>, left: usize },
}

struct Forwarder {
    options: Options,
    epoll: OwnedFd,
    listener: OwnedFd,
    peers: Vec<Option<Peer>>,
    free: Vec<usize>,
    /// Connections to the upstream without a request.
    idle: Vec<usize>,
    buffer: Vec<u8>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let port = options.port;
    match Forwarder::listen(options).and_then(Forwarder::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bare_forward: port {port}: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Forwarder {
    fn listen(options: Options) -> io::Result<Self> {
        let listener = new_socket(SocketFlags::NONBLOCK)?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        net::bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, options.port))?;
        net::listen(&listener, 4096)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let (peers, free, idle, buffer) = (Vec::new(), Vec::new(), Vec::new(), vec![0; READ_BUFFER]);
        Ok(Self { options, epoll, listener, peers, free, idle, buffer })
    }

    fn run(mut self) -> io::Result<()> {
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
                    at => self.turn(at as usize)?,
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => {
                    self.enter(Peer::Client { socket, unfinished: Vec::new(), upstream: None })?;
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Registers a connection with epoll, for as long as it lives.
    fn enter(&mut self, peer: Peer) -> io::Result<usize> {
        let at = self.free.pop().unwrap_or_else(|| {
            self.peers.push(None);
            self.peers.len() - 1
        });
        let (Peer::Client { socket, .. } | Peer::Upstream { socket, .. }) = &peer;
        epoll::add(&self.epoll, socket, EventData::new_u64(at as u64), EventFlags::IN)?;
        self.peers[at] = Some(peer);
        Ok(at)
    }

    /// Closing the descriptor takes it out of epoll.
    fn close(&mut self, at: usize) {
        if self.peers[at].take().is_some() {
            self.free.push(at);
        }
    }

    /// One receive, and one send on the other side if that makes something whole.
    fn turn(&mut self, at: usize) -> io::Result<()> {
        let Some(peer) = &mut self.peers[at] else { return Ok(()) };
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

    /// Sends a client's request to the upstream.
    fn request(&mut self, at: usize) -> io::Result<()> {
        let upstream = match self.idle.pop() {
            Some(upstream) => upstream,
            None => self.connect()?,
        };
        let Some(Peer::Client { unfinished, upstream: other, .. }) = &mut self.peers[at] else {
            return Ok(());
        };
        *other = Some(upstream);
        let request = std::mem::take(unfinished);
        let bytes = self.options.bytes;
        if let Some(Peer::Upstream { socket, client, left }) = &mut self.peers[upstream] {
            (*client, *left) = (Some(at), bytes);
            if send(&*socket, &request, SendFlags::NOSIGNAL) != Ok(request.len()) {
                self.lose(upstream);
            }
        }
        if let Some(Peer::Client { unfinished, .. }) = &mut self.peers[at] {
            // The memory is used again.
            *unfinished = request;
            unfinished.clear();
        }
        Ok(())
    }

    fn connect(&mut self) -> io::Result<usize> {
        let socket = new_socket(SocketFlags::empty())?;
        connect(&socket, &self.options.upstream)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        self.enter(Peer::Upstream { socket, client: None, left: 0 })
    }

    /// Sends what was received to the client.
    fn respond(&mut self, at: usize, client: Option<usize>, received: usize, whole: bool) {
        if let Some(client) = client
            && let Some(Peer::Client { socket, upstream, .. }) = &mut self.peers[client]
        {
            let sent = send(&*socket, &self.buffer[..received], SendFlags::NOSIGNAL);
            if whole {
                *upstream = None;
            }
            if sent != Ok(received) || whole && self.options.per_request {
                self.close(client);
            }
        }
        if whole {
            if let Some(Peer::Upstream { client, .. }) = &mut self.peers[at] {
                *client = None;
            }
            self.idle.push(at);
        }
    }

    /// A connection is gone, and what stands on its other side with it.
    fn lose(&mut self, at: usize) {
        let other = match &self.peers[at] {
            Some(Peer::Client { upstream, .. }) => *upstream,
            Some(Peer::Upstream { client, .. }) => *client,
            None => None,
        };
        self.idle.retain(|idle| *idle != at);
        self.close(at);
        if let Some(other) = other {
            self.close(other);
        }
    }
}

fn new_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    Ok(net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?)
}
