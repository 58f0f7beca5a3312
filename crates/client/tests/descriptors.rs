//! Calls when the process is out of descriptors. A separate binary, since no other test could run meanwhile.

mod calls;

use calls::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;

const WITHOUT: &str = "Failure(connecting: Too many open files";

/// The content of the response to a request on a persistent connection.
fn ask(stream: &mut TcpStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
    let head = read_head(stream).expect("a head");
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let mut content = vec![0; length.and_then(|digits| digits.parse().ok()).expect("a length")];
    stream.read_exact(&mut content).expect("content");
    String::from_utf8(content).expect("text")
}

#[test]
fn without_descriptors_a_call_fails_at_once_and_works_again_when_there_are_some() {
    let (address, opened) = always(OK);
    let server = server(origin(&[address]));
    let mut client = server.connect();
    // From here on, the worker only lacks the connection to the upstream.
    assert!(ask(&mut client, "/counters").contains("opened: 0"));
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..limit }).expect("lowered");
    let taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!taken.is_empty());
    for _ in 0..3 {
        let got = ask(&mut client, "/a");
        assert!(got.contains(WITHOUT) && got.contains("again true"), "{got}");
    }
    drop(taken);
    setrlimit(Resource::Nofile, limit).expect("as before");
    assert_eq!(ask(&mut client, "/a"), "hello");
    assert_eq!(opened.load(std::sync::atomic::Ordering::SeqCst), 1);
    server.await_counters("opened: 1, reused: 0, failed: 3, resumed: 0 } idle 1 in flight 0");
    server.stop();
}
