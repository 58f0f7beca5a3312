//! The load client: one thread, one epoll, connections that ask and check what comes back.
//!
//! It is used where wrk is not enough: a connection per request, pipelining with latencies, and
//! large files. Every response is checked: status 200, and a Content-Length of the expected
//! number of octets. Latency is from sending a request (with a connection per request: from
//! connecting) to the last octet of its response.

mod connection;
mod response;

pub(crate) use self::response::Responses;

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use self::connection::{Connection, Progress};
use crate::histogram::Histogram;
use crate::pin;

/// What a run of load gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Responses that were complete and right.
    pub(crate) responses: u64,
    /// Everything else: refused and broken connections, other statuses, wrong lengths.
    pub(crate) errors: u64,
    /// Octets received, heads included, those of unfinished responses too.
    pub(crate) octets: u64,
    /// How long it took.
    pub(crate) seconds: f64,
    /// The median latency in microseconds, not a number when nothing came.
    pub(crate) p50_us: f64,
    /// The latency 99 of 100 responses stayed within, in microseconds.
    pub(crate) p99_us: f64,
    /// The mean latency in microseconds, where the tool says it.
    pub(crate) mean_us: f64,
    /// The longest latency in microseconds, where the tool says it.
    pub(crate) slowest_us: f64,
    /// Octets of field blocks received, where the tool says it.
    pub(crate) head_octets: u64,
}

/// What to ask, and how.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The server.
    pub(crate) address: SocketAddrV4,
    /// One whole request.
    pub(crate) request: Vec<u8>,
    /// Connections open at any time.
    pub(crate) connections: usize,
    /// Requests sent at once on each; the next follow when all are answered.
    pub(crate) depth: usize,
    /// Octets of content in every response.
    pub(crate) content: u64,
}

/// More errors than this end a run early: the server is gone, or the machine is out of ports.
const ERRORS_TO_GIVE_UP: u64 = 20_000;
const EVENTS_AT_ONCE: usize = 512;
const READ_BUFFER: usize = 256 * 1024;

/// Makes load for `time` from a thread pinned to `core`.
///
/// # Errors
/// The client itself cannot work (no epoll, no sockets); faults of the server are counted instead.
pub(crate) fn run(load: &Load, time: Duration, core: usize) -> io::Result<Outcome> {
    pin::on_core(core, || Run::start(load)?.until(time))
}

struct Run<'a> {
    load: &'a Load,
    /// `load.depth` requests, as they are sent.
    batch: Vec<u8>,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    histogram: Histogram,
    outcome: Outcome,
    buffer: Vec<u8>,
}

impl<'a> Run<'a> {
    fn start(load: &'a Load) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let batch = load.request.repeat(load.depth);
        let (histogram, outcome) = (Histogram::new(), Outcome::default());
        let (connections, buffer) = (Vec::with_capacity(load.connections), vec![0; READ_BUFFER]);
        Ok(Self { load, batch, epoll, connections, histogram, outcome, buffer })
    }

    fn until(mut self, time: Duration) -> io::Result<Outcome> {
        let start = Instant::now();
        for index in 0..self.load.connections {
            let connection = self.connect(index)?;
            self.connections.push(connection);
        }
        // Short waits, so that a server that falls silent does not hold the run up.
        let patience = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS_AT_ONCE];
        while start.elapsed() < time && self.outcome.errors < ERRORS_TO_GIVE_UP {
            let ready = match epoll::wait(&self.epoll, &mut events, Some(&patience)) {
                Ok((ready, _)) => ready,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in ready.iter() {
                self.turn(event.data.u64() as usize, event.flags)?;
            }
        }
        self.outcome.seconds = start.elapsed().as_secs_f64();
        self.outcome.p50_us = self.histogram.quantile_us(0.50).unwrap_or(f64::NAN);
        self.outcome.p99_us = self.histogram.quantile_us(0.99).unwrap_or(f64::NAN);
        Ok(self.outcome)
    }

    /// Opens a connection in the place `index` and sends the first requests if it can at once.
    fn connect(&self, index: usize) -> io::Result<Connection> {
        let mut connection = Connection::open(self.load)?;
        let sent = connection.send(&self.batch, self.load.depth).unwrap_or(false);
        let flags = if sent { EventFlags::IN } else { EventFlags::IN | EventFlags::OUT };
        epoll::add(&self.epoll, &connection.socket, EventData::new_u64(index as u64), flags)?;
        Ok(connection)
    }

    fn turn(&mut self, index: usize, flags: EventFlags) -> io::Result<()> {
        let connection = &mut self.connections[index];
        if flags.contains(EventFlags::OUT) && connection.is_unsent() {
            match connection.send(&self.batch, self.load.depth) {
                Ok(true) => {
                    let data = EventData::new_u64(index as u64);
                    epoll::modify(&self.epoll, &connection.socket, data, EventFlags::IN)?;
                }
                Ok(false) => return Ok(()),
                Err(_) => return self.replace(index, true),
            }
        }
        self.receive(index)
    }

    /// Reads what is there and acts on it: ask again, wait, or begin anew.
    fn receive(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        let (progress, received) = connection.receive(&mut self.buffer, self.load.content);
        self.outcome.octets += received.octets;
        if received.responses > 0 {
            self.outcome.responses += received.responses;
            self.histogram.record(connection.asked_at.elapsed(), received.responses);
        }
        match progress {
            Progress::Waiting => Ok(()),
            Progress::Answered => match connection.send(&self.batch, self.load.depth) {
                Ok(true) => Ok(()),
                // A request is smaller than any send buffer: that it does not fit is a fault too.
                Ok(false) | Err(_) => self.replace(index, true),
            },
            Progress::Closed => self.replace(index, false),
            Progress::Broken => self.replace(index, true),
        }
    }

    fn replace(&mut self, index: usize, fault: bool) -> io::Result<()> {
        self.outcome.errors += u64::from(fault);
        self.connections[index] = self.connect(index)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
