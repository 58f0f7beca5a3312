//! A forwarded request: a worker under valgrind; this process is its client and its upstream.
//!
//! What a worker does depends on what has arrived by the time it polls. So neither the client nor the upstream sends
//! before the worker sleeps.

use crate::worker;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// Starts this program as a proxy by the command, which stands in front of it, and forwards so many requests.
///
/// # Errors
/// The worker does not start, or does not answer.
pub(crate) fn run(mut command: Command, times: u32) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let upstream = listener.local_addr().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let command = command.arg(program).arg("--forward").arg(upstream.to_string());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut proxy =
        command.spawn().map_err(|error| format!("valgrind: {error}; Debian: apt install valgrind"))?;
    let asked = address(&mut proxy).and_then(|address| exchange(&proxy, &listener, &address, times));
    // Its standard input is closed by this, and it ends.
    let ended = proxy.wait().map_err(|error| error.to_string())?;
    asked.map_err(|error| error.to_string())?;
    if ended.success() { Ok(()) } else { Err(format!("the proxy ended with {ended}")) }
}

/// What valgrind runs: a worker that forwards everything to this upstream until standard input ends.
pub(crate) fn forward(upstream: &str) {
    let upstream: SocketAddr = upstream.parse().expect("an address");
    let worker = worker::start(upstream);
    println!("{}", worker.address);
    std::io::stdin().read_to_end(&mut Vec::new()).expect("a pipe");
    worker.stop();
}

fn address(proxy: &mut Child) -> std::io::Result<String> {
    let mut address = String::new();
    BufReader::new(proxy.stdout.take().expect("a pipe")).read_line(&mut address)?;
    match address.trim_end() {
        "" => Err(std::io::Error::other("the proxy does not start under valgrind")),
        address => Ok(address.to_owned()),
    }
}

fn exchange(proxy: &Child, listener: &TcpListener, address: &str, times: u32) -> std::io::Result<()> {
    let mut client = TcpStream::connect(address)?;
    let (mut upstream, content) = (None, [b'x'; 1024]);
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nuser-agent: test\r\naccept: */*\r\n\r\n";
    let head = b"HTTP/1.1 200 OK\r\nServer: u\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n";
    for _ in 0..times {
        send(&mut client, proxy, request)?;
        if upstream.is_none() {
            upstream = Some(listener.accept()?.0);
        }
        let upstream = upstream.as_mut().expect("it is there");
        receive(upstream, b"\r\n\r\n")?;
        send(upstream, proxy, &[&head[..], &content].concat())?;
        receive(&mut client, &content)?;
    }
    Ok(())
}

/// Reads until what has arrived ends with this.
fn receive(stream: &mut TcpStream, end: &[u8]) -> std::io::Result<()> {
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    while !all.ends_with(end) {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err(std::io::Error::other(format!("the proxy ended after {}", all.escape_ascii())));
        }
        all.extend_from_slice(&piece[..count]);
    }
    Ok(())
}

/// Sends, once every thread of the proxy sleeps.
fn send(stream: &mut TcpStream, proxy: &Child, bytes: &[u8]) -> std::io::Result<()> {
    let threads = format!("/proc/{}/task", proxy.id());
    let sleeps = || {
        std::fs::read_dir(&threads).is_ok_and(|mut threads| {
            threads.all(|thread| {
                let stat = thread.and_then(|thread| std::fs::read_to_string(thread.path().join("stat")));
                stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S')))
            })
        })
    };
    while !(sleeps() && sleeps()) {
        std::thread::yield_now();
    }
    stream.write_all(bytes)
}
