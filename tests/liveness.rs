//! The kernel looks after connections on which nothing moves: the timers of sockets, as /proc/net/tcp shows them.

use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server, until, until_some};
use std::net::TcpStream;

/// The purpose of a socket's timer, as numbered by the kernel.
const NONE: u8 = 0;
const KEEP_ALIVE: u8 = 2;

/// The timer of an established IPv4 connection between these ports, if given, and its expiry in hundredths of
/// a second.
fn timer(from: Option<u16>, to: Option<u16>) -> Option<(u8, u64)> {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("it is there");
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let port = |column: usize| {
            let (_, port) = columns[column].split_once(':')?;
            u16::from_str_radix(port, 16).ok()
        };
        let fits = |wanted: Option<u16>, column| wanted.is_none() || port(column) == wanted;
        let established = columns[3] == "01";
        let (kind, when) = columns[5].split_once(':')?;
        (established && fits(from, 1) && fits(to, 2))
            .then(|| Some((kind.parse().ok()?, u64::from_str_radix(when, 16).ok()?)))?
    })
}

/// The port at the end of an address.
fn port(address: &str) -> u16 {
    address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
}

/// An upstream and the server in front of it, with these lines at the top.
fn both(dir: &Scratch, lines: &str) -> (Upstream, Server) {
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let paths = format!("/: {{proxy.reverse.url: 'http://{}'}}", upstream.address);
    let server = Server::config(
        dir,
        &format!("num-threads: 1\n{lines}\nhosts: {{default: {{paths: {{{paths}}}}}}}\n"),
    );
    (upstream, server)
}

/// A connection of a client that has had an answer; its own port.
fn client(server: &Server) -> (TcpStream, u16) {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(&server.address).expect("connected");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    let mut answer = [0; 512];
    assert!(stream.read(&mut answer).expect("an answer") > 0);
    let own = stream.local_addr().expect("bound").port();
    (stream, own)
}

#[test]
fn probes_are_sent_to_clients_and_to_upstreams_without_a_word_in_the_configuration() {
    let dir = Scratch::new();
    let (upstream, server) = both(&dir, "http1-request-timeout: 100");
    let (_client, own) = client(&server);
    for (from, to) in [(Some(server.port()), Some(own)), (None, Some(port(&upstream.address)))] {
        let (_, when) = until_some("the timer of keep-alive runs", || {
            timer(from, to).filter(|(kind, _)| *kind == KEEP_ALIVE)
        });
        assert!((1..=6000).contains(&when), "within a minute: {when}");
    }
}

#[test]
fn probes_are_sent_when_and_where_the_configuration_says() {
    let dir = Scratch::new();
    let lines = "http1-request-timeout: 100\ntcp-keepalive: {idle: 1000}\nproxy.tcp-keepalive: OFF\nproxy.tcp-user-timeout: OFF";
    let (upstream, server) = both(&dir, lines);
    let (_client, own) = client(&server);
    let (_, when) = until_some("the timer of keep-alive runs", || {
        timer(Some(server.port()), Some(own)).filter(|(kind, _)| *kind == KEEP_ALIVE)
    });
    assert!((90_000..=100_000).contains(&when), "a thousand seconds: {when}");
    let of_upstream = || timer(None, Some(port(&upstream.address)));
    until("no timer runs for the upstream", || of_upstream().is_some_and(|(kind, _)| kind == NONE));
}
