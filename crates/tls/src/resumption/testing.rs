//! For tests: collected reports, and real stores on separate ports.

use super::{RemoteKind, RemoteStore, Report};
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A report that collects its lines.
pub(crate) struct Said {
    pub(crate) report: Report,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

pub(crate) fn said() -> Said {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let to = lines.clone();
    Said { report: Arc::new(move |_, line| to.lock().unwrap().push(line)), lines }
}

/// Waits until `is_so`, ten seconds at most: threads in the background need their time.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited ten seconds until {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A memcached or Redis that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) settings: RemoteStore,
}

impl Server {
    pub(crate) fn start(kind: RemoteKind) -> Self {
        Self::start_at(kind, free_port())
    }

    pub(crate) fn start_at(kind: RemoteKind, port: u16) -> Self {
        let settings = RemoteStore { kind, host: "127.0.0.1".into(), port, password: None };
        let number = port.to_string();
        let mut command = match kind {
            RemoteKind::Memcached => {
                program("memcached", &["-l", "127.0.0.1", "-U", "0", "-u", "nobody", "-p", &number])
            }
            RemoteKind::Redis => {
                let quiet = ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port", &number];
                program("redis-server", &quiet)
            }
        };
        let child = command.spawn();
        let child = child.unwrap_or_else(|e| {
            panic!("this test needs memcached and redis-server (apt-get install memcached redis-server): {e}")
        });
        wait_until("the store is there", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, settings }
    }

    pub(crate) fn stop(mut self) -> u16 {
        self.end();
        self.settings.port
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A port without a listener.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).unwrap().port()
}

/// A server that answers every line with `answer`, or, without one, never answers.
pub(crate) fn odd_server(kind: RemoteKind, answer: Option<&'static [u8]>) -> RemoteStore {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            match answer {
                None => held.push(stream),
                Some(answer) => drop(std::thread::spawn(move || answer_lines(stream, answer))),
            }
        }
    });
    RemoteStore { kind, host: "127.0.0.1".into(), port, password: None }
}

fn answer_lines(mut stream: TcpStream, answer: &[u8]) {
    let Ok(input) = stream.try_clone() else { return };
    for line in BufReader::new(input).split(b'\n') {
        if line.is_err() || std::io::Write::write_all(&mut stream, answer).is_err() {
            return;
        }
    }
}
