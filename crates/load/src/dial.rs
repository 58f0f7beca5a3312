//! How the generator opens connections: from chosen addresses and ports, reusing sockets of ended
//! connections.

use hayami_net::dial::{Peer, begin, connect, open};
use hayami_net::socket::Socket;
use hayami_net::socket_option;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

/// The requirements for the local end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalEnd {
    /// The source address; `None`: the system chooses.
    pub(crate) source: Option<IpAddr>,
    /// The source port, if it is free and in the local port range; else the system chooses, which is slow if
    /// ten thousand are in use.
    pub(crate) port: Option<u16>,
    /// The client writes as soon as the connection is made: TCP's handshake then ends with those bytes, and
    /// costs a segment less. Without a write the peer learns up to 200 ms late that the connection is made.
    pub(crate) speaks_at_once: bool,
}

/// Starts a connection with these requirements for the local end.
///
/// # Errors
/// The system has no descriptor or no port left, or already knows that there is no listener.
pub(crate) fn connect_from(peer: &Peer, end: LocalEnd) -> io::Result<Socket> {
    let Peer::Tcp(address) = peer else { return connect(peer) };
    let fd = open(peer)?;
    if end.speaks_at_once {
        acknowledge_with_first_bytes(&fd);
    }
    if let Some(source) = end.source {
        choose_port_late(&fd);
        rustix::net::bind(&fd, &SocketAddr::new(source, 0))?;
    }
    if let Some(port) = end.port {
        choose_port(&fd, port);
    }
    match (begin(&fd, address), end.port) {
        (Err(error), Some(_)) if Errno::from_io_error(&error) == Some(Errno::ADDRNOTAVAIL) => {
            choose_port(&fd, 0);
            begin(&fd, address)?;
        }
        (begun, _) => begun?,
    }
    Ok(Socket::new(fd))
}

/// A socket whose connection has ended, for the next one. It is still registered with its poll.
#[derive(Debug)]
pub(crate) struct Spare(OwnedFd);

/// Closes the local end of a connection that the peer has closed, with a FIN as close(2) would, and keeps the
/// socket: this saves a fifth of the kernel's work per connection. For the loopback interface only: elsewhere
/// a lost FIN would not be retransmitted.
///
/// # Errors
/// The connection ended in another way. Then the socket is closed.
pub(crate) fn finish(socket: Socket) -> io::Result<Spare> {
    let fd = socket.into_fd();
    rustix::net::shutdown(&fd, rustix::net::Shutdown::Write)?;
    rustix::net::connect_unspec(&fd)?;
    Ok(Spare(fd))
}

/// Starts a connection with the socket of an earlier one, from its source; from another port if given.
///
/// # Errors
/// As for [`connect_from`], and if the port is not free. Then the socket is closed.
pub(crate) fn connect_again(spare: Spare, address: SocketAddr, port: Option<u16>) -> io::Result<Socket> {
    let Spare(fd) = spare;
    if let Some(port) = port {
        choose_port(&fd, port);
    }
    begin(&fd, &address)?;
    Ok(Socket::new(fd))
}

/// Whether a connection was made, once its socket can be written.
///
/// # Errors
/// Why it was not.
pub(crate) fn outcome(socket: &Socket) -> io::Result<()> {
    rustix::net::sockopt::socket_error(socket.as_fd())?.map_err(Into::into)
}

/// `IP_BIND_ADDRESS_NO_PORT` (ip(7)): a source address without the port that bind(2) would take for it.
///
/// With it the kernel chooses the port when it knows the peer, so that a port can be used once per peer;
/// without it a source address allows 28,000 connections in total.
fn choose_port_late(fd: &OwnedFd) {
    socket_option::set(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
}

/// `TCP_DEFER_ACCEPT` (tcp(7)), which on the connecting side delays the handshake's last segment for 200 ms
/// at most, so that the first bytes written carry it. Linux does the same when a write already waits for the
/// handshake.
fn acknowledge_with_first_bytes(fd: &OwnedFd) {
    socket_option::set(fd, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 1);
}

/// `IP_LOCAL_PORT_RANGE` (ip(7), Linux 6.3): the kernel uses this port and searches for no other. 0: any
/// port.
///
/// The search tries the even ports first, one after another: when 14,000 of them are in use, every further
/// connection costs the kernel a millisecond.
fn choose_port(fd: &OwnedFd, port: u16) {
    const IP_LOCAL_PORT_RANGE: libc::c_int = 51;
    let (port, low_and_high) = (u32::from(port), 0x0001_0001);
    socket_option::set(fd, libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, port * low_and_high);
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_net::poll::{self, Events, Interest, Kind, Readiness, Token};
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener};
    use std::task::Poll;
    use std::time::Duration;

    fn watched(socket: &Socket) -> poll::Poll {
        let poll = poll::Poll::new().expect("a descriptor");
        poll.register(socket, Token::new(Kind::Connection, 0, 0), Interest::Read).expect("watched");
        poll
    }

    /// Waits for an event of the only socket.
    fn wait(poll: &poll::Poll) -> Readiness {
        let mut events = Events::with_capacity(1);
        while events.is_empty() {
            poll.wait(&mut events, Some(Duration::from_secs(5))).expect("no signal");
        }
        events.get(0).expect("an event").1
    }

    #[test]
    fn a_connection_comes_from_the_source_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let peer = Peer::Tcp(listener.local_addr().expect("an address"));
        let source = "127.0.0.9".parse().expect("an address");
        let _socket =
            connect_from(&peer, LocalEnd { source: Some(source), ..LocalEnd::default() }).expect("begun");
        assert_eq!(listener.accept().expect("accepted").1.ip(), source);
    }

    #[test]
    fn a_socket_whose_peer_has_closed_serves_for_the_next_connection_from_the_same_address() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let source = "127.0.0.9".parse().expect("an address");
        let end = LocalEnd { source: Some(source), port: None, speaks_at_once: true };
        let mut socket = connect_from(&Peer::Tcp(address), end).expect("begun");
        let poll = watched(&socket);
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
            while !wait(&poll).ended() {}
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
            let end = LocalEnd { source, port, speaks_at_once: false };
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
        let socket = connect(&Peer::Tcp(address)).expect("begun");
        let theirs = listener.accept().expect("accepted").0;
        assert!(matches!(socket.send(b"hi", false), Poll::Ready(Ok(2))));
        drop(theirs); // with unread bytes: RFC 9293 §3.6.1 wants a reset
        let poll = watched(&socket);
        while !wait(&poll).ended() {}
        assert!(finish(socket).is_err());
    }
}
