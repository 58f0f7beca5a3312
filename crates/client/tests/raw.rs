//! Raw streams and their pool, against peers that echo lines; for TLS see `tls`.

mod calls;

use calls::lines::*;
use calls::*;
use hayami_net::dial::Peer;
use std::io::BufReader;
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

fn echo_tcp(_: usize, stream: TcpStream) {
    let read = stream.try_clone().expect("cloned");
    echo(stream, BufReader::new(read));
}

fn await_idle(server: &Server, count: usize) {
    let want = format!("idle {count}.");
    while !server.ask("GET", "/idle").contains(&want) {
        std::thread::yield_now();
    }
}

#[test]
fn a_stream_is_used_again_until_its_peer_ends() {
    let (address, opened) = upstream(echo_tcp);
    let server = lines(Peer::Tcp(address), None, 10, LONG);
    for (path, want) in [("/a", "Ok(\"/a\") reused 0"), ("/b", "Ok(\"/b\") reused 1"), ("/end", "reused 2")] {
        let got = server.ask("GET", path);
        assert!(got.ends_with(want), "{got}");
    }
    await_idle(&server, 0);
    assert!(server.ask("GET", "/c").ends_with("Ok(\"/c\") reused 0"));
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    server.stop();
}

#[test]
fn what_was_not_asked_for_and_what_has_waited_too_long_is_not_kept() {
    let (address, opened) = upstream(echo_tcp);
    let server = lines(Peer::Tcp(address), None, 10, LONG);
    server.ask("GET", "/two");
    await_idle(&server, 0);
    server.stop();
    let server = lines(Peer::Tcp(address), None, 10, TIMEOUT);
    server.ask("GET", "/a");
    await_idle(&server, 0);
    assert!(server.ask("GET", "/a").ends_with("reused 0"));
    assert_eq!(opened.load(Ordering::SeqCst), 3);
    server.stop();
}

#[test]
fn a_pool_for_none_keeps_none() {
    let (address, _) = upstream(echo_tcp);
    let server = lines(Peer::Tcp(address), None, 0, LONG);
    server.ask("GET", "/a");
    assert!(server.ask("GET", "/idle").contains("idle 0."));
    server.stop();
}

#[test]
fn a_peer_that_says_nothing_is_not_waited_for_without_end() {
    let (address, _) = upstream(echo_tcp);
    let server = lines(Peer::Tcp(address), None, 10, LONG);
    let got = server.ask("GET", "/silence");
    assert!(got.ends_with("Err(TimedOut) reused 0"), "{got}");
    server.stop();
}

#[test]
fn a_peer_that_is_not_there_is_an_error() {
    let address =
        std::net::TcpListener::bind("127.0.0.1:0").expect("bound").local_addr().expect("an address");
    let server = lines(Peer::Tcp(address), None, 10, LONG);
    let got = server.ask("GET", "/a");
    assert!(got.contains("not connected: Connection refused"), "{got}");
    server.stop();
}

#[test]
fn a_unix_socket_is_a_peer_like_others() {
    let path = PathBuf::from(format!("/tmp/hayami-raw-{}", std::process::id()));
    let listener = UnixListener::bind(&path).expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let read = stream.try_clone().expect("cloned");
            echo(stream, BufReader::new(read));
        }
    });
    let server = lines(Peer::Unix(path.clone()), None, 10, LONG);
    assert!(server.ask("GET", "/a").ends_with("Ok(\"/a\") reused 0"));
    assert!(server.ask("GET", "/b").ends_with("Ok(\"/b\") reused 1"));
    server.stop();
    std::fs::remove_file(&path).expect("removed");
}
