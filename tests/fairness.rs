//! One client that keeps a worker busy, and the other clients of the same worker.

use crate::support::h2::{PREFACE, flag, frame, kind, request};
use crate::support::{Scratch, Server};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What another client may wait for its answer in half of all cases: the rest is left to a busy machine.
const MEDIAN: Duration = Duration::from_millis(100);

fn server(dir: &Scratch) -> Server {
    dir.write("site/index.html", "front").write("site/ten", "0123456789");
    Server::config(dir, "num-threads: 1\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n")
}

/// Sends pieces without a pause, and reads the responses, while another client makes its requests.
#[track_caller]
fn others_are_served_while(server: &Server, mut stream: TcpStream, mut next: impl FnMut() -> Vec<u8> + Send) {
    let mut reading = stream.try_clone().expect("a second handle");
    let done = AtomicBool::new(false);
    let mut waits = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| while reading.read(&mut [0; 1 << 16]).is_ok_and(|count| count > 0) {});
        let writing = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                stream.write_all(&next()).expect("it is not cut off");
            }
            stream.shutdown(Shutdown::Both).expect("open until now");
        });
        for _ in 0..20 {
            let begun = Instant::now();
            assert_eq!(server.get("/ten").text(), "0123456789");
            waits.push(begun.elapsed());
        }
        done.store(true, Ordering::Relaxed);
        writing.join().expect("it sends to the end");
    });
    waits.sort();
    assert!(waits[waits.len() / 2] < MEDIAN, "{waits:?}");
}

#[test]
fn a_client_that_pipelines_without_pause_does_not_hold_up_others() {
    let dir = Scratch::new();
    let server = server(&dir);
    let stream = TcpStream::connect(&server.address).expect("connected");
    let requests = b"GET /ten HTTP/1.1\r\nHost: a\r\n\r\n".repeat(10_000);
    others_are_served_while(&server, stream, || requests.clone());
}

#[test]
fn a_client_that_uploads_in_small_frames_does_not_hold_up_others() {
    let dir = Scratch::new();
    let server = server(&dir);
    let mut stream = TcpStream::connect(&server.address).expect("connected");
    stream.write_all(&[PREFACE, &frame(kind::SETTINGS, 0, 0, [])].concat()).expect("sent");
    let mut number = 1;
    // Each is answered with 405 and discarded.
    others_are_served_while(&server, stream, || {
        number += 2;
        let head = frame(kind::HEADERS, flag::END_HEADERS, number, request("POST", "/ten", &[]));
        let content = frame(kind::DATA, 0, number, [0; 50]).repeat(1000);
        [head, content, frame(kind::DATA, flag::END_STREAM, number, [0; 50])].concat()
    });
}

/// Requests a compressed page on 100 streams of a connection, with windows for all of it; the responses are read.
fn asks_for_compression(server: &Server, coding: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).expect("connected");
    let largest = i32::MAX as u32;
    let windows = [&[0, 4][..], &largest.to_be_bytes()].concat();
    let more = (largest - 65_535).to_be_bytes();
    let mut bytes =
        [PREFACE, &frame(kind::SETTINGS, 0, 0, windows), &frame(kind::WINDOW_UPDATE, 0, 0, more)].concat();
    for number in 0..100 {
        let head = request("GET", "/page.txt", &[("accept-encoding", coding)]);
        bytes.extend(frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 2 * number + 1, head));
    }
    stream.write_all(&bytes).expect("sent");
    stream
}

#[test]
fn clients_that_ask_for_much_compression_do_not_hold_up_others() {
    for coding in ["gzip", "br", "zstd"] {
        let dir = Scratch::new();
        let text: Vec<u8> = (0..1_u32 << 20)
            .flat_map(|number| number.wrapping_mul(2_654_435_761).to_string().into_bytes())
            .collect();
        dir.write("site/page.txt", &text).write("site/ten", "0123456789");
        let site = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}";
        let server = Server::config(&dir, &format!("num-threads: 1\ncompress: ON\n{site}\n"));
        let clients: Vec<TcpStream> = (0..4).map(|_| asks_for_compression(&server, coding)).collect();
        let mut waits = Vec::new();
        std::thread::scope(|scope| {
            for client in &clients {
                scope.spawn(move || {
                    let mut client = client;
                    while client.read(&mut [0; 1 << 16]).is_ok_and(|count| count > 0) {}
                });
            }
            for _ in 0..20 {
                let begun = Instant::now();
                assert_eq!(server.get("/ten").text(), "0123456789");
                waits.push(begun.elapsed());
            }
            clients.iter().for_each(|client| client.shutdown(Shutdown::Both).expect("open until now"));
        });
        waits.sort();
        assert!(waits[waits.len() / 2] < MEDIAN, "{coding}: {waits:?}");
    }
}
