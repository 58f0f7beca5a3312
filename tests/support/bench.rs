//! `hayami bench` and its output, and a server that records its requests.

use super::{Finished, Launch, Scratch};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Runs `hayami bench -q` with these arguments until it ends.
#[track_caller]
pub(crate) fn bench(words: &[&str]) -> Finished {
    Launch::new([&["bench", "-q"], words].concat()).finish()
}

/// The same, as JSON; with its exit code.
#[track_caller]
pub(crate) fn measured(words: &[&str]) -> (Value, i32) {
    let dir = Scratch::new();
    let file = dir.text("report.json");
    let ended = bench(&[&["--json", &file], words].concat());
    let report = serde_json::from_str(&dir.read("report.json"));
    (report.unwrap_or_else(|error| panic!("{error}: {ended:?}")), ended.code)
}

/// The totals of the first target.
pub(crate) fn total(report: &Value) -> &Value {
    &report["targets"][0]["total"]
}

/// All warnings, a line each.
pub(crate) fn warnings(report: &Value) -> String {
    let all = report["warnings"].as_array().expect("a list");
    all.iter().map(|text| text.as_str().expect("a text").to_owned() + "\n").collect()
}

/// Sends the same response to every request, and records the requests.
pub(crate) struct Recorder {
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    got: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// Answers with these bytes.
    pub(crate) fn new(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let got = Arc::new(Mutex::new(Vec::new()));
        let shared = got.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, answer, &shared));
            }
        });
        Self { url, got }
    }

    /// Heads and contents of the requests, in the order of their arrival.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.got.lock().expect("no panic within").clone()
    }
}

fn serve(mut stream: TcpStream, answer: &str, got: &Mutex<Vec<String>>) {
    let mut buffer = String::new();
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        buffer.push_str(&String::from_utf8_lossy(&bytes[..count]));
        while let Some(end) = whole(&buffer) {
            got.lock().expect("no panic within").push(buffer.drain(..end).collect());
            if stream.write_all(answer.as_bytes()).is_err() || answer.contains("close\r\n") {
                return;
            }
        }
    }
}

/// Where the first request ends, if it is all there.
fn whole(text: &str) -> Option<usize> {
    let head = text.find("\r\n\r\n")? + 4;
    let lower = text[..head].to_ascii_lowercase();
    let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let end = head + length.unwrap_or(0);
    (text.len() >= end).then_some(end)
}
