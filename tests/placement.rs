//! Which worker serves a connection: all workers have about the same number, whichever queue connections
//! arrive at.

use crate::support::tls::{self, wire};
use crate::support::{Scratch, Server, until};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Descriptors that each epoll of the server watches: those of workers change by their connections.
fn watched(server: &Server) -> HashMap<String, usize> {
    let fds = format!("/proc/{}/fdinfo", server.id());
    let entries = fs::read_dir(fds).expect("the server runs").flatten();
    let count = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        let count = text.lines().filter(|line| line.starts_with("tfd:")).count();
        (count > 0).then(|| (entry.file_name().to_string_lossy().into_owned(), count))
    };
    entries.filter_map(count).collect()
}

/// Connections of each worker that has some more than `before`, once there are `all` of them.
fn connections(server: &Server, before: &HashMap<String, usize>, all: usize) -> Vec<usize> {
    let mut added = Vec::new();
    until("all connections are watched", || {
        let now = watched(server);
        let more = |(fd, count): (&String, &usize)| count.checked_sub(before.get(fd).copied().unwrap_or(0));
        added = now.iter().filter_map(more).filter(|more| *more > 0).collect();
        added.iter().sum::<usize>() == all
    });
    added
}

fn server(dir: &Scratch, workers: usize) -> Server {
    dir.write("site/index.html", "page");
    Server::config(dir, &format!("num-threads: {workers}\n{}", tls::HOSTS))
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Opens connections, one after the other or all at once, and sends a request on each.
fn open(server: &Server, connections: usize, at_once: bool) -> Vec<TcpStream> {
    let connect = || {
        let mut stream = TcpStream::connect(&server.address).expect("connected");
        stream.write_all(REQUEST).expect("sent");
        stream
    };
    let read = |stream: &mut TcpStream| assert!(stream.read(&mut [0; 1024]).expect("an answer") > 0);
    let mut streams = Vec::new();
    for _ in 0..connections {
        let mut stream = connect();
        if !at_once {
            read(&mut stream);
        }
        streams.push(stream);
    }
    if at_once {
        streams.iter_mut().for_each(read);
    }
    streams
}

/// The busiest worker's connections as a multiple of its fair share, on average and at worst.
fn busiest(workers: usize, all: usize, at_once: bool) -> (f64, f64) {
    let dir = Scratch::new();
    let server = server(&dir, workers);
    let idle = watched(&server);
    let shares: Vec<f64> = (0..20)
        .map(|_| {
            let streams = open(&server, all, at_once);
            let most = connections(&server, &idle, all).into_iter().max().expect("some");
            drop(streams);
            until("all connections have ended", || watched(&server) == idle);
            most as f64 * workers as f64 / all as f64
        })
        .collect();
    let worst = shares.iter().copied().fold(0.0, f64::max);
    (shares.iter().sum::<f64>() / shares.len() as f64, worst)
}

#[test]
fn the_busiest_worker_has_hardly_more_than_its_share_of_few_connections() {
    for (workers, all) in [(4, 8), (8, 32)] {
        for at_once in [false, true] {
            let (average, worst) = busiest(workers, all, at_once);
            let figures =
                format!("{all} connections, {workers} workers, at once: {at_once}: {average} {worst}");
            assert!(average <= 1.2 && worst <= 1.5, "{figures}");
        }
    }
}

#[test]
fn new_connections_go_to_the_worker_whose_connections_have_ended() {
    let dir = Scratch::new();
    let server = server(&dir, 4);
    let idle = watched(&server);
    let mut streams = open(&server, 40, false);
    let full = connections(&server, &idle, 40);
    assert!(full.iter().all(|count| (9..=11).contains(count)), "{full:?}");
    streams.truncate(8);
    connections(&server, &idle, 8);
    let more = open(&server, 32, false);
    let full = connections(&server, &idle, 40);
    assert!(full.len() == 4 && full.iter().all(|count| *count <= 12), "{full:?}");
    drop((streams, more));
}

#[test]
fn connections_that_are_handed_over_keep_their_protocols() {
    let dir = Scratch::new();
    dir.write("site/index.html", "page");
    let server = tls::site(&dir, "", "num-threads: 4\n");
    let idle = watched(&server);
    let mut wires: Vec<_> = (0..8).map(|_| wire(&server.address, &[])).collect();
    for wire in &mut wires {
        assert_eq!(wire.get(1, "/").answer(1).text(), "page");
    }
    let counts = connections(&server, &idle, 8);
    assert!(counts.iter().all(|count| *count <= 3), "{counts:?}");
}

#[test]
fn no_connection_is_lost_by_workers_that_end() {
    let dir = Scratch::new();
    let mut server = server(&dir, 4);
    let held = open(&server, 6, true);
    let mut late: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).expect("connected");
            stream.write_all(REQUEST).expect("sent");
            stream
        })
        .collect();
    server.signal(rustix::process::Signal::TERM);
    for stream in &mut late {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answered, and closed in order");
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&answer));
    }
    drop(held);
    assert_eq!(server.wait().code(), Some(0));
}
