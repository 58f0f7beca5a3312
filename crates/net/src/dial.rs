//! Outgoing connections.
//!
//! [`connect`] starts one; the event loop that watches it reports when it is established. Bytes are transferred by
//! [`Socket`], as for accepted connections. There are no protocols, pools or deadlines here: those are up to the
//! caller.
//!
//! ```
//! use hayami_net::dial::{Peer, connect};
//! use hayami_net::poll::{Events, Interest, Kind, Poll, Token};
//! use std::time::Duration;
//!
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let (poll, mut events) = (Poll::new()?, Events::with_capacity(8));
//! let socket = connect(&Peer::Tcp(listener.local_addr()?))?;
//! poll.register(&socket, Token::new(Kind::Upstream, 7, 0), Interest::ReadWrite)?;
//! poll.wait(&mut events, Some(Duration::from_secs(5)))?;
//! let (token, readiness) = events.get(0).expect("the kernel answers itself");
//! assert!(token.slot() == 7 && readiness.writable());
//! # std::io::Result::Ok(())
//! ```

use crate::socket::Socket;
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// Starts a connection. It is established when the socket becomes writable; earlier writes return EAGAIN and do no
/// harm. Over the loopback interface it is usually established at once.
///
/// # Errors
/// The system has no descriptor or port left, or already knows that nothing listens there.
pub fn connect(peer: &Peer) -> io::Result<Socket> {
    let fd = open(peer)?;
    match peer {
        Peer::Tcp(address) => begin(&fd, address)?,
        Peer::Unix(path) => {
            begin(&fd, &SocketAddrUnix::new(path.as_path())?).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => missing(path),
                _ => error,
            })?
        }
    }
    Ok(Socket::new(fd))
}

/// Creates a socket for a connection to `peer`.
///
/// # Errors
/// The system has no descriptor left.
pub fn open(peer: &Peer) -> io::Result<OwnedFd> {
    let family = match peer {
        Peer::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Peer::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Peer::Unix(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Starts a connection on a socket.
///
/// # Errors
/// As for [`connect`].
pub fn begin(fd: &OwnedFd, address: &impl SocketAddrArg) -> io::Result<()> {
    match rustix::net::connect(fd, address) {
        // EINTR: the connection is established asynchronously (connect(2)).
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// An error that says what is missing at the path of a Unix socket.
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

/// Disables Nagle's algorithm (`TCP_NODELAY`). A request is sent in one write, which Nagle's algorithm would not
/// delay, except for pipelined requests behind unacknowledged ones.
pub fn send_at_once(socket: &Socket) {
    // Unix sockets have no such option and need none.
    let _ = rustix::net::sockopt::set_tcp_nodelay(socket.as_fd(), true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::{self, Events, Interest, Kind, Readiness, Token};
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::task::Poll;
    use std::time::Duration;

    /// Waits for an event of the only socket.
    fn wait(poll: &poll::Poll) -> Readiness {
        let mut events = Events::with_capacity(1);
        while events.is_empty() {
            poll.wait(&mut events, Some(Duration::from_secs(5))).expect("no signal");
        }
        events.get(0).expect("an event").1
    }

    fn watched(socket: &Socket) -> poll::Poll {
        let poll = poll::Poll::new().expect("a descriptor");
        poll.register(socket, Token::new(Kind::Upstream, 0, 0), Interest::ReadWrite).expect("watched");
        poll
    }

    fn speak(socket: &Socket, mut theirs: impl Read + Write) {
        let poll = watched(socket);
        assert!(wait(&poll).writable());
        assert!(matches!(socket.send(b"hi", false), Poll::Ready(Ok(2))));
        theirs.read_exact(&mut [0; 2]).expect("read");
        theirs.write_all(b"ho").expect("written");
        loop {
            let readiness = wait(&poll);
            socket.may(readiness);
            if readiness.readable() {
                break;
            }
        }
        let mut buffer = Vec::with_capacity(8);
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(2))));
        drop(theirs);
        while !socket.has_ended() {
            socket.may(wait(&poll));
        }
        buffer.reserve(8);
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(0))));
    }

    #[test]
    fn tcp_and_unix_sockets_are_spoken_over() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let peer = Peer::Tcp(listener.local_addr().expect("an address"));
        let socket = connect(&peer).expect("begun");
        speak(&socket, listener.accept().expect("accepted").0);

        let path = std::env::temp_dir().join(format!("hayami-dial-{}", std::process::id()));
        let listener = UnixListener::bind(&path).expect("bound");
        let socket = connect(&Peer::Unix(path.clone())).expect("begun");
        speak(&socket, listener.accept().expect("accepted").0);
        std::fs::remove_file(path).expect("removed");
    }

    #[test]
    fn nobody_there_is_an_error_at_once_or_when_the_socket_can_be_written() {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("an address");
        let refused = connect(&Peer::Tcp(free)).and_then(|socket| {
            wait(&watched(&socket));
            match socket.send(&[], false) {
                Poll::Ready(sent) => sent,
                Poll::Pending => Ok(0),
            }
        });
        assert_eq!(refused.expect_err("nobody listens").kind(), io::ErrorKind::ConnectionRefused);
        let missing = connect(&Peer::Unix("/nonexistent/socket".into())).expect_err("nothing is there");
        assert!(missing.to_string().contains("the directory /nonexistent of the socket"), "{missing}");
    }
}
