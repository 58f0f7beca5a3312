//! The client's side of the network: connections that are opened, and a loop that watches them.
//!
//! [`connect`] begins a connection, [`Poller`] tells what became of it and of all the others. Octets go
//! through [`Socket`](crate::socket::Socket), as on the server's side. Here are no protocols, no pool and no
//! deadlines: those are its user's. It needs no runtime; whoever has a thread to spare for connections calls
//! [`Poller::wait`] in a loop.
//!
//! ```
//! use hayami_net::dial::{Peer, Poller, connect};
//! use std::time::Duration;
//!
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let mut poller = Poller::new()?;
//! let socket = connect(&Peer::Tcp(listener.local_addr()?), None)?;
//! poller.watch(&socket, 7, true)?;
//! poller.wait(Some(Duration::from_secs(5)))?;
//! let ready = poller.get(0).expect("the kernel answers itself");
//! assert!(ready.token == 7 && ready.writable && hayami_net::dial::outcome(&socket).is_ok());
//! # std::io::Result::Ok(())
//! ```

mod exact_wait;
mod late_port;
mod poller;

pub use poller::{Poller, Ready};

use crate::socket::Socket;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// Where a connection goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// Begins a connection, from `source` if given. It is made when the socket can be written, unless
/// [`outcome`] says otherwise then; to write before is refused by the kernel with "not now" and does no harm.
/// Over the loopback interface it is mostly made at once.
///
/// # Errors
/// The system has no descriptor or no port left, or knows already that nobody is there.
pub fn connect(peer: &Peer, source: Option<IpAddr>) -> io::Result<Socket> {
    match peer {
        Peer::Tcp(address) => connect_tcp(*address, source),
        Peer::Unix(path) => {
            let fd = open(AddressFamily::UNIX)?;
            begin(rustix::net::connect(&fd, &SocketAddrUnix::new(path.as_path())?))?;
            Ok(Socket::new(fd))
        }
    }
}

/// Whether a connection was made, once its socket can be written.
///
/// # Errors
/// Why it was not.
pub fn outcome(socket: &Socket) -> io::Result<()> {
    rustix::net::sockopt::socket_error(socket.as_fd())?.map_err(Into::into)
}

fn connect_tcp(address: SocketAddr, source: Option<IpAddr>) -> io::Result<Socket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = open(family)?;
    if let Some(source) = source {
        late_port::set(&fd);
        rustix::net::bind(&fd, &SocketAddr::new(source, 0))?;
    }
    begin(rustix::net::connect(&fd, &address))?;
    Ok(Socket::new(fd))
}

fn open(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Requests leave in whole segments as soon as they are written, in one write, so that Nagle's algorithm
/// has nothing to hold back; pipelined ones behind unacknowledged ones are what `TCP_NODELAY` is for.
pub fn send_at_once(socket: &Socket) {
    // A unix socket has no such option, and needs none.
    let _ = rustix::net::sockopt::set_tcp_nodelay(socket.as_fd(), true);
}

fn begin(connected: rustix::io::Result<()>) -> io::Result<()> {
    match connected {
        // EINTR: the connection goes on being made (connect(2)).
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::task::Poll;
    use std::time::Duration;

    /// Waits until the kernel says something about the only socket.
    fn wait(poller: &mut Poller) -> Ready {
        while poller.wait(Some(Duration::from_secs(5))).expect("epoll") == 0 {}
        poller.get(0).expect("an event")
    }

    fn speak(socket: &Socket, mut theirs: impl Read + Write) {
        let mut poller = Poller::new().expect("epoll");
        poller.watch(socket, 1, true).expect("watched");
        assert!(wait(&mut poller).writable);
        outcome(socket).expect("connected");
        assert!(matches!(socket.send(b"hi", false), Poll::Ready(Ok(2))));
        theirs.read_exact(&mut [0; 2]).expect("read");
        theirs.write_all(b"ho").expect("written");
        while !wait(&mut poller).readable {}
        socket.may_read(false);
        let mut buffer = Vec::with_capacity(8);
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(2))));
        drop(theirs);
        while !wait(&mut poller).ended {}
        socket.may_read(true);
        buffer.reserve(8);
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(0))));
    }

    #[test]
    fn tcp_and_unix_sockets_are_spoken_over() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let peer = Peer::Tcp(listener.local_addr().expect("an address"));
        let socket = connect(&peer, None).expect("begun");
        speak(&socket, listener.accept().expect("accepted").0);

        let path = std::env::temp_dir().join(format!("hayami-dial-{}", std::process::id()));
        let listener = UnixListener::bind(&path).expect("bound");
        let socket = connect(&Peer::Unix(path.clone()), None).expect("begun");
        speak(&socket, listener.accept().expect("accepted").0);
        std::fs::remove_file(path).expect("removed");
    }

    #[test]
    fn a_connection_comes_from_the_source_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let peer = Peer::Tcp(listener.local_addr().expect("an address"));
        let source = "127.0.0.9".parse().expect("an address");
        let _socket = connect(&peer, Some(source)).expect("begun");
        assert_eq!(listener.accept().expect("accepted").1.ip(), source);
    }

    #[test]
    fn waiting_is_exact_to_less_than_a_millisecond() {
        let mut poller = Poller::new().expect("epoll");
        let waits = (0..50).map(|_| {
            let began = std::time::Instant::now();
            assert_eq!(poller.wait(Some(Duration::from_micros(200))).expect("epoll"), 0);
            began.elapsed()
        });
        let shortest = waits.min().expect("some");
        assert!(
            shortest >= Duration::from_micros(200) && shortest < Duration::from_micros(900),
            "{shortest:?}"
        );
    }

    #[test]
    fn nobody_there_is_an_error_at_once_or_when_the_socket_can_be_written() {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("an address");
        let refused = connect(&Peer::Tcp(free), None).and_then(|socket| {
            let mut poller = Poller::new()?;
            poller.watch(&socket, 1, true)?;
            wait(&mut poller);
            outcome(&socket)
        });
        assert_eq!(refused.expect_err("nobody listens").kind(), io::ErrorKind::ConnectionRefused);
        assert!(connect(&Peer::Unix("/nonexistent/socket".into()), None).is_err());
    }
}
