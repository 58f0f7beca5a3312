//! TLS handshakes as load: connect, shake hands, say close_notify and close, read to the server's end.
//!
//! Nothing is asked on a connection: the cost is that of accepting, the handshake with its
//! tickets, and closing. The protocol offered is http/1.1, so that no server greets with SETTINGS.
//! A few blocking threads on one core keep the server from sleeping between two handshakes.

use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ClientConfig, ClientConnection, HandshakeKind};

use crate::client::Outcome;
use crate::held;
use crate::histogram::Histogram;
use crate::pin;
use crate::tls::{self, Exchange, Identity, Offer};
use crate::workload::Handshake;

/// Handshakes at once.
const THREADS: usize = 16;
/// More errors of a thread than this end its part: the server is gone or does not do what is asked.
const ERRORS_TO_GIVE_UP: u64 = 100;

/// What a thread did.
struct Part {
    histogram: Histogram,
    octets: u64,
    errors: u64,
}

/// Shakes hands for `time` from `core`. A handshake that is not of the wanted kind is an error.
///
/// # Errors
/// The client cannot be set up, or no thread had any success: with the first reason.
pub(crate) fn run(
    wanted: Handshake,
    identity: &Identity,
    address: SocketAddrV4,
    time: Duration,
    core: usize,
) -> Result<Outcome, String> {
    let configs: Result<Vec<_>, String> = (0..THREADS).map(|_| identity.client(offer(wanted))).collect();
    let configs = configs?;
    let start = Instant::now();
    let parts = pin::on_core(core, || Ok(parts(&configs, wanted, address, time)));
    let parts = parts.map_err(|error| format!("client: {error}"))?;
    let mut sum = Part { histogram: Histogram::new(), octets: 0, errors: 0 };
    let mut reason = None;
    for (part, fault) in parts {
        sum.histogram.add(&part.histogram);
        sum.octets += part.octets;
        sum.errors += part.errors;
        reason = reason.or(fault);
    }
    match reason {
        Some(reason) if sum.histogram.total() == 0 => Err(format!("no handshake succeeds: {reason}")),
        _ => Ok(outcome(&sum, start.elapsed())),
    }
}

fn outcome(sum: &Part, time: Duration) -> Outcome {
    Outcome {
        responses: sum.histogram.total(),
        errors: sum.errors,
        octets: sum.octets,
        seconds: time.as_secs_f64(),
        p50_us: sum.histogram.quantile_us(0.50).unwrap_or(f64::NAN),
        p99_us: sum.histogram.quantile_us(0.99).unwrap_or(f64::NAN),
        ..Outcome::default()
    }
}

fn offer(wanted: Handshake) -> Offer {
    let exchange = if wanted == Handshake::FullHybrid { Exchange::Hybrid } else { Exchange::X25519 };
    Offer { exchange, protocol: b"http/1.1", resume: wanted == Handshake::Resumed }
}

/// All threads' parts, each with the first fault it met.
fn parts(
    configs: &[Arc<ClientConfig>],
    wanted: Handshake,
    address: SocketAddrV4,
    time: Duration,
) -> Vec<(Part, Option<String>)> {
    let end = Instant::now() + time;
    let part = |config| move || part(config, wanted, address, end);
    thread::scope(|scope| {
        let threads: Vec<_> = configs.iter().map(|config| scope.spawn(part(config))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

fn part(
    config: &Arc<ClientConfig>,
    wanted: Handshake,
    address: SocketAddrV4,
    end: Instant,
) -> (Part, Option<String>) {
    let mut part = Part { histogram: Histogram::new(), octets: 0, errors: 0 };
    let mut fault = None;
    if wanted == Handshake::Resumed {
        // The first brings the ticket; it is not counted, whatever becomes of it.
        let _ = shake(config, address, &mut part.octets);
    }
    while Instant::now() < end && part.errors < ERRORS_TO_GIVE_UP {
        let start = Instant::now();
        let checked = shake(config, address, &mut part.octets).map_err(|error| error.to_string());
        match checked.and_then(|kind| check(kind, wanted).map(|()| start.elapsed())) {
            Ok(took) => part.histogram.record(took, 1),
            Err(reason) => {
                part.errors += 1;
                fault.get_or_insert(reason);
            }
        }
    }
    (part, fault)
}

/// The client offers one key exchange only, so what is left to check is resumption.
fn check(kind: HandshakeKind, wanted: Handshake) -> Result<(), String> {
    match (kind, wanted) {
        (HandshakeKind::Resumed, Handshake::Resumed) => Ok(()),
        (HandshakeKind::Full, Handshake::Full | Handshake::FullHybrid) => Ok(()),
        (other, _) => Err(format!("the handshake was {other:?}")),
    }
}

/// One connection from its beginning to its end.
fn shake(config: &Arc<ClientConfig>, address: SocketAddrV4, octets: &mut u64) -> io::Result<HandshakeKind> {
    let mut socket = held::connect(address, 0)?;
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
