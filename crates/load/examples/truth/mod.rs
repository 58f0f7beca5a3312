//! A server of known behaviour that records its own times, for the examples that check the generator's
//! figures.

use hayami_load::plan::{
    Address, Expect, KeepAlive, Plan, Protocol, RequestTemplate, Target, TlsOptions, Until, Weighted,
};
use hayami_net::poll::{Events, Interest, Kind, Poll, Token};
use rustix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The steady clock, nanoseconds.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A request, by the server's clock: nanoseconds of the steady clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// It was read.
    pub(crate) asked: u64,
    /// Its answer was about to be written.
    pub(crate) answered: u64,
    /// The client's end of the connection was seen; 0 if it stayed.
    #[allow(dead_code)] // used by only one of the examples
    pub(crate) ended: u64,
}

/// How a server behaves.
#[derive(Clone, Copy)]
pub(crate) struct Behaviour {
    /// How long it works on the request of a number, in nanoseconds.
    pub(crate) work: fn(u64) -> u64,
    /// It closes after each answer.
    pub(crate) closes: bool,
}

/// A server on a separate thread that never sleeps, so that wake-ups don't distort its times.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Vec<Seen>>>,
}

impl Server {
    pub(crate) fn start(behaviour: Behaviour) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        rustix::net::listen(&listener, 20_000)?; // as far as net.core.somaxconn allows
        listener.set_nonblocking(true)?;
        let (address, stop) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let asked_to_stop = stop.clone();
        let thread = thread::spawn(move || Loop::new(listener, behaviour)?.run(&asked_to_stop));
        Ok(Self { address, stop, thread })
    }

    /// Its records, in the order in which connections ended, or of the answers on kept ones.
    pub(crate) fn stop(self) -> io::Result<Vec<Seen>> {
        self.stop.store(true, Relaxed);
        self.thread.join().expect("it does not panic")
    }
}

struct Loop {
    listener: TcpListener,
    behaviour: Behaviour,
    poll: Poll,
    connections: HashMap<u32, (TcpStream, Seen)>,
    accepted: u32,
    requests: u64,
    /// When an answer is due, and on which connection.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    seen: Vec<Seen>,
}

impl Loop {
    fn new(listener: TcpListener, behaviour: Behaviour) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.register(&listener, Token::new(Kind::Listener, 0, 0), Interest::Level)?;
        let (connections, due, seen) = (HashMap::new(), BinaryHeap::new(), Vec::new());
        Ok(Self { listener, behaviour, poll, connections, accepted: 0, requests: 0, due, seen })
    }

    fn run(mut self, stop: &AtomicBool) -> io::Result<Vec<Seen>> {
        let mut events = Events::with_capacity(128);
        while !stop.load(Relaxed) {
            self.poll.wait(&mut events, Some(Duration::ZERO))?;
            for (token, _) in (0..events.len()).filter_map(|index| events.get(index)) {
                match token.kind() {
                    Kind::Listener => self.accept()?,
                    _ => self.read(token.slot() as u32),
                }
            }
            while self.due.peek().is_some_and(|Reverse((due, _))| *due <= now()) {
                if let Some(Reverse((_, token))) = self.due.pop() {
                    self.answer(token);
                }
            }
        }
        Ok(self.seen)
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            self.accepted += 1;
            let token = Token::new(Kind::Connection, self.accepted, 0);
            self.poll.register(&stream, token, Interest::Read)?;
            self.connections.insert(self.accepted, (stream, Seen::default()));
        }
        Ok(())
    }

    fn read(&mut self, token: u32) {
        let Some((stream, seen)) = self.connections.get_mut(&token) else { return };
        let mut bytes = [0; 4096];
        loop {
            match stream.read(&mut bytes) {
                // The generator writes a request at once, and one after the other.
                Ok(1..) => {
                    seen.asked = now();
                    self.due.push(Reverse((seen.asked + (self.behaviour.work)(self.requests), token)));
                    self.requests += 1;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => break,
            }
        }
        let ended = Seen { ended: now(), ..*seen };
        self.seen.extend((self.behaviour.closes && seen.answered > 0).then_some(ended));
        self.connections.remove(&token);
    }

    fn answer(&mut self, token: u32) {
        let Some((stream, seen)) = self.connections.get_mut(&token) else { return };
        seen.answered = now();
        let head: &[u8] = if self.behaviour.closes {
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi"
        } else {
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
        };
        let _ = stream.write_all(head); // if the client is gone, so is the connection soon
        if self.behaviour.closes {
            let _ = stream.shutdown(Shutdown::Write);
        } else {
            self.seen.push(*seen);
        }
    }
}

/// A plan of small requests, on one thread.
pub(crate) fn plan(address: SocketAddr, connections: usize, requests: u64) -> Plan {
    let request = RequestTemplate {
        method: "GET".into(),
        target: "/".into(),
        authority: address.to_string(),
        fields: Vec::new(),
        body: None,
    };
    let target = Target {
        name: address.to_string(),
        address: Address::Tcp(address),
        secure: false,
        host: "localhost".into(),
        requests: vec![Weighted { weight: 1.0, request }],
    };
    Plan {
        targets: vec![target],
        connections,
        threads: 1,
        streams: 1,
        pipeline: 1,
        until: Until::Requests(requests),
        warm_up: Duration::ZERO,
        ramp_up: Duration::ZERO,
        rate: None,
        protocol: Protocol::Auto,
        keep_alive: KeepAlive::On,
        expect: Expect::default(),
        distance: None,
        tls: TlsOptions { verify: false, ..TlsOptions::default() },
        sources: Vec::new(),
        timeout: Duration::from_secs(10),
        rounds: 1,
    }
}

/// The number after an option of the command line.
pub(crate) fn number(name: &str, default: f64) -> f64 {
    let args: Vec<String> = std::env::args().collect();
    let value = args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    value.map_or(default, |text| text.parse().expect(name))
}

/// That share of the times is at most so long.
pub(crate) fn quantile(times: &mut [u64], share: f64) -> Duration {
    times.sort_unstable();
    let at = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len().max(1));
    Duration::from_nanos(times.get(at - 1).copied().unwrap_or(0))
}
