//! TLS handshakes as load: connect, shake hands, say close_notify and close, read to the server's end.
//!
//! Nothing is asked on a connection: the cost is that of accepting, the handshake with its
//! tickets, and closing. The protocol offered is http/1.1, so that no server greets with SETTINGS.
//! A few blocking threads on one core keep the server from sleeping between two handshakes.

use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ClientConfig, ClientConnection, HandshakeKind};

use crate::client::Outcome;
use crate::held;
use crate::histogram::Histogram;
use crate::pin;
use crate::tls::{self, Exchange, Identity, Offer, Tickets};
use crate::workload::Handshake;

/// Handshakes at once.
const THREADS: usize = 16;
/// So many errors of a thread end its part: the server is gone or does not do what is asked.
const ERRORS_TO_GIVE_UP: u64 = 100;

/// Tickets to have before resumed handshakes are measured: h2o gives new ones with full handshakes
/// only, and these would be measured too if they were made in between.
const SUPPLY: usize = 6_000;
/// How long that may take.
const COLLECTING: Duration = Duration::from_secs(10);

/// What a thread did.
struct Part {
    histogram: Histogram,
    octets: u64,
    errors: u64,
    /// The first error.
    fault: Option<String>,
}

/// What shakes hands with one server.
pub(crate) struct Client {
    wanted: Handshake,
    config: Arc<ClientConfig>,
    tickets: Arc<Tickets>,
    address: SocketAddrV4,
    core: usize,
}

impl Client {
    /// For resumed handshakes this collects tickets first, by full ones.
    ///
    /// # Errors
    /// The client cannot be set up, or the server gives no tickets.
    pub(crate) fn prepare(
        wanted: Handshake,
        identity: &Identity,
        address: SocketAddrV4,
        core: usize,
    ) -> Result<Self, String> {
        let exchange = if wanted == Handshake::FullHybrid { Exchange::Hybrid } else { Exchange::X25519 };
        let tickets = Arc::new(Tickets::default());
        let kept = (wanted == Handshake::Resumed).then(|| tickets.clone());
        let config = identity.client(Offer { exchange, protocol: b"http/1.1", tickets: kept })?;
        let client = Self { wanted, config, tickets, address, core };
        if wanted == Handshake::Resumed {
            client.collect()?;
        }
        Ok(client)
    }

    fn collect(&self) -> Result<(), String> {
        let end = Instant::now() + COLLECTING;
        self.tickets.collect(true);
        self.shake_all(Handshake::Full, || self.tickets.count() >= SUPPLY || Instant::now() >= end)?;
        self.tickets.collect(false);
        if self.tickets.count() == 0 { Err("the server gives no tickets".to_owned()) } else { Ok(()) }
    }

    /// Shakes hands for `time`, or until there are no tickets left. A handshake that is not of the
    /// wanted kind is an error.
    ///
    /// # Errors
    /// No thread had any success: the first reason.
    pub(crate) fn run(&self, time: Duration) -> Result<Outcome, String> {
        let end = Instant::now() + time;
        let is_out = || self.wanted == Handshake::Resumed && self.tickets.count() == 0;
        self.shake_all(self.wanted, || Instant::now() >= end || is_out())
    }

    /// All threads, until `is_over`.
    fn shake_all(&self, wanted: Handshake, is_over: impl Fn() -> bool + Sync) -> Result<Outcome, String> {
        let start = Instant::now();
        let parts = pin::on_core(self.core, || {
            Ok(thread::scope(|scope| {
                let work = || self.shake_until(wanted, &is_over);
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
                threads.into_iter().map(join).collect::<Vec<_>>()
            }))
        });
        let mut sum = Part::new();
        for part in parts.map_err(|error| format!("client: {error}"))? {
            sum.add(part);
        }
        match sum.fault {
            Some(reason) if sum.histogram.total() == 0 => Err(format!("no handshake succeeds: {reason}")),
            _ => Ok(sum.outcome(start.elapsed())),
        }
    }

    /// One thread, one connection after the other.
    fn shake_until(&self, wanted: Handshake, is_over: &(impl Fn() -> bool + Sync)) -> Part {
        let mut part = Part::new();
        while !is_over() && part.errors < ERRORS_TO_GIVE_UP {
            let start = Instant::now();
            let shaken =
                shake(&self.config, self.address, &mut part.octets).map_err(|error| error.to_string());
            match shaken.and_then(|kind| check(kind, wanted)) {
                Ok(()) => part.histogram.record(start.elapsed(), 1),
                Err(reason) => {
                    part.errors += 1;
                    part.fault.get_or_insert(reason);
                }
            }
        }
        part
    }
}

impl Part {
    fn new() -> Self {
        Self { histogram: Histogram::new(), octets: 0, errors: 0, fault: None }
    }

    fn add(&mut self, other: Self) {
        self.histogram.add(&other.histogram);
        self.octets += other.octets;
        self.errors += other.errors;
        self.fault = self.fault.take().or(other.fault);
    }

    fn outcome(&self, time: Duration) -> Outcome {
        Outcome {
            responses: self.histogram.total(),
            errors: self.errors,
            octets: self.octets,
            seconds: time.as_secs_f64(),
            p50_us: self.histogram.quantile_us(0.50).unwrap_or(f64::NAN),
            p99_us: self.histogram.quantile_us(0.99).unwrap_or(f64::NAN),
            ..Outcome::default()
        }
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The client offers one key exchange only, so what is left to check is resumption.
fn check(kind: HandshakeKind, wanted: Handshake) -> Result<(), String> {
    match (kind, wanted) {
        (HandshakeKind::Resumed, Handshake::Resumed) => Ok(()),
        (HandshakeKind::Full, Handshake::Full | Handshake::FullHybrid) => Ok(()),
        (other, _) => Err(format!("the handshake was {other:?}")),
    }
}

/// Connections that end by a goodbye of ours stay in TIME-WAIT for a minute. They are spread over source
/// addresses that no other workload uses, so that none runs out of ports.
fn next_source() -> usize {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    (16 + MADE.fetch_add(1, Ordering::Relaxed) % 64) * held::PER_SOURCE
}

/// One connection from its beginning to its end.
fn shake(config: &Arc<ClientConfig>, address: SocketAddrV4, octets: &mut u64) -> io::Result<HandshakeKind> {
    let mut socket = held::connect(address, next_source())?;
    let mut tls = ClientConnection::new(config.clone(), tls::name()).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        *octets += tls.complete_io(&mut socket)?.0 as u64;
    }
    tls.send_close_notify();
    while tls.wants_write() {
        tls.write_tls(&mut socket)?;
    }
    // h2o takes no notice of a close_notify alone.
    socket.shutdown(Shutdown::Write)?;
    // Tickets come behind the handshake (RFC 8446 §4.6.1): they are work of the server, and ours to keep.
    loop {
        match tls.read_tls(&mut socket) {
            Ok(0) => break,
            Ok(received) => *octets += received as u64,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            Err(error) => return Err(error),
        }
        tls.process_new_packets().map_err(io::Error::other)?;
    }
    tls.handshake_kind().ok_or_else(|| io::Error::other("the handshake did not end"))
}
