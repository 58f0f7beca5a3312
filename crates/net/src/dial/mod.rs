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
mod option;
mod poller;

pub use poller::{Poller, Ready};

use crate::socket::Socket;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where a connection goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// What is asked of our end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OurEnd {
    /// The address that it comes from, if the system shall not choose.
    pub source: Option<IpAddr>,
    /// The port that it comes from if it is free and of the range for such ports; else the system chooses. That takes
    /// long if ten thousand are in use.
    pub port: Option<u16>,
    /// We write as soon as the connection is made: TCP's handshake then ends with those octets, and costs a segment
    /// less. Where nothing is written the peer learns up to 200 ms late that the connection is made.
    pub speaks_at_once: bool,
}

/// Begins a connection, from `source` if given. It is made when the socket can be written, unless
/// [`outcome`] says otherwise then; to write before is refused by the kernel with "not now" and does no harm.
/// Over the loopback interface it is mostly made at once.
///
/// # Errors
/// The system has no descriptor or no port left, or knows already that nobody is there.
pub fn connect(peer: &Peer, source: Option<IpAddr>) -> io::Result<Socket> {
    connect_from(peer, OurEnd { source, ..OurEnd::default() })
}

/// The same with everything that can be asked of our end.
///
/// # Errors
/// As of [`connect`].
pub fn connect_from(peer: &Peer, end: OurEnd) -> io::Result<Socket> {
    match peer {
        Peer::Tcp(address) => connect_tcp(*address, end),
        Peer::Unix(path) => {
            let fd = open(AddressFamily::UNIX)?;
            match rustix::net::connect(&fd, &SocketAddrUnix::new(path.as_path())?) {
                Err(Errno::NOENT) => Err(missing(path)),
                connected => begin(connected).map(|()| Socket::new(fd)),
            }
        }
    }
}

/// What is missing where a unix socket should be.
#[cold]
fn missing(socket: &Path) -> io::Error {
    let text = match socket.parent() {
        Some(directory) if !directory.is_dir() => {
            format!("the directory {} of the socket does not exist", directory.display())
        }
        _ => format!("the socket {} does not exist (is the application running?)", socket.display()),
    };
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// A socket whose connection is over, for the next one. What it was watched by is still so.
#[derive(Debug)]
pub struct Spare(OwnedFd);

/// Closes our end of a connection that the peer has closed, with a FIN as close(2) would, and keeps the socket: what
/// the kernel does for a connection becomes a fifth less. For the loopback interface only: elsewhere nobody would
/// repeat a FIN that gets lost.
///
/// # Errors
/// The connection had come to another end. The socket is closed then.
pub fn finish(socket: Socket) -> io::Result<Spare> {
    let fd = socket.into_fd();
    rustix::net::shutdown(&fd, rustix::net::Shutdown::Write)?;
    rustix::net::connect_unspec(&fd)?;
    Ok(Spare(fd))
}

/// Begins a connection with the socket of an earlier one, from its source; from another port if given.
///
/// # Errors
/// As of [`connect`], and if the port is not free. The socket is closed then.
pub fn connect_again(spare: Spare, address: SocketAddr, port: Option<u16>) -> io::Result<Socket> {
    let Spare(fd) = spare;
    if let Some(port) = port {
        option::choose_port(&fd, port);
    }
    begin(rustix::net::connect(&fd, &address))?;
    Ok(Socket::new(fd))
}

/// Whether a connection was made, once its socket can be written.
///
/// # Errors
/// Why it was not.
pub fn outcome(socket: &Socket) -> io::Result<()> {
    rustix::net::sockopt::socket_error(socket.as_fd())?.map_err(Into::into)
}

fn connect_tcp(address: SocketAddr, end: OurEnd) -> io::Result<Socket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = open(family)?;
    if end.speaks_at_once {
        option::acknowledge_with_first_octets(&fd);
    }
    if let Some(source) = end.source {
        option::choose_port_late(&fd);
        rustix::net::bind(&fd, &SocketAddr::new(source, 0))?;
    }
    if let Some(port) = end.port {
        option::choose_port(&fd, port);
    }
    match (rustix::net::connect(&fd, &address), end.port) {
        (Err(Errno::ADDRNOTAVAIL), Some(_)) => {
            option::choose_port(&fd, 0);
            begin(rustix::net::connect(&fd, &address))?;
        }
        (connected, _) => begin(connected)?,
    }
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
    use std::net::{Shutdown, TcpListener};
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

    #[test]
    fn a_socket_whose_peer_has_closed_serves_for_the_next_connection_from_the_same_address() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let source = "127.0.0.9".parse().expect("an address");
        let end = OurEnd { source: Some(source), port: None, speaks_at_once: true };
        let mut socket = connect_from(&Peer::Tcp(address), end).expect("begun");
        let mut poller = Poller::new().expect("epoll");
        poller.watch(&socket, 1, false).expect("watched");
        let mut ports = Vec::new();
        for _ in 0..3 {
            assert!(
                matches!(socket.send(b"hi", false), Poll::Ready(Ok(2))),
                "over loopback it is made at once"
            );
            let (mut theirs, from) = listener.accept().expect("accepted");
            assert_eq!(from.ip(), source);
            ports.push(from.port());
            theirs.read_exact(&mut [0; 2]).expect("read");
            theirs.write_all(b"ho").and_then(|()| theirs.shutdown(Shutdown::Write)).expect("closed");
            while !wait(&mut poller).ended {}
            let mut buffer = Vec::with_capacity(8);
            assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(2))));
            let spare = finish(socket).expect("closed");
            socket = connect_again(spare, address, None).expect("begun again");
            assert_eq!(theirs.read(&mut [0; 2]).expect("a FIN, and no reset"), 0);
        }
        ports.dedup();
        assert_eq!(ports.len(), 3, "the server's end of the last one is in TIME-WAIT");
    }

    #[test]
    fn a_port_is_taken_if_it_is_free_and_another_one_if_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let peer = Peer::Tcp(listener.local_addr().expect("an address"));
        let source = "127.0.0.8".parse().ok();
        let connect_from = |port| {
            let end = OurEnd { source, port, speaks_at_once: false };
            let socket = connect_from(&peer, end).expect("begun");
            (socket, listener.accept().expect("accepted").1.port())
        };
        let (first, port) = connect_from(None);
        drop(first);
        let (_second, of_second) = connect_from(Some(port + 2));
        let (_third, of_third) = connect_from(Some(of_second));
        assert_ne!(of_third, of_second, "in use");
    }

    #[test]
    fn a_connection_that_was_reset_is_not_followed_by_another_one() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let socket = connect(&Peer::Tcp(address), None).expect("begun");
        let theirs = listener.accept().expect("accepted").0;
        assert!(matches!(socket.send(b"hi", false), Poll::Ready(Ok(2))));
        drop(theirs); // with octets that nobody read: RFC 9293 §3.6.1 wants a reset
        let mut poller = Poller::new().expect("epoll");
        poller.watch(&socket, 1, false).expect("watched");
        while !wait(&mut poller).ended {}
        assert!(finish(socket).is_err());
    }
}
