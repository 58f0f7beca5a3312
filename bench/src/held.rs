//! Connections that are held open: for the memory of idle ones, and for a fixed number of requests.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::client::Responses;

/// A source address has some 28,000 ports; each gets no more than this many connections.
pub(crate) const PER_SOURCE: usize = 4_000;
/// Connections opened before the first of them is waited for; fits any listener's backlog.
const AT_ONCE: usize = 100;
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a response was like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Octets of the whole response.
    pub(crate) octets: usize,
}

/// Connections that can be opened in any number, and stay.
pub(crate) trait Hold {
    /// Opens `count` connections, a batch at a time.
    ///
    /// # Errors
    /// The first batch that fails, with how many there were; or all take longer than `limit`.
    fn open(&mut self, address: SocketAddrV4, count: usize, limit: Duration) -> Result<(), String>;

    /// How many the server has not closed.
    fn alive(&self) -> usize;
}

/// Open keep-alive connections to one server.
pub(crate) struct Held {
    streams: Vec<TcpStream>,
    request: Vec<u8>,
    content: u64,
    buffer: Vec<u8>,
}

impl Held {
    /// No connections yet; each response must have `content` octets of content.
    pub(crate) fn new(request: Vec<u8>, content: u64) -> Self {
        Self { streams: Vec::new(), request, content, buffer: vec![0; 256 * 1024] }
    }

    fn open_batch(&mut self, address: SocketAddrV4, mut batch: Range<usize>) -> std::io::Result<()> {
        for index in batch.clone() {
            self.streams.push(connect(address, index)?);
            self.ask(index)?;
        }
        batch.try_for_each(|index| self.read_answer(index).map(drop))
    }

    /// Lets all connections ask once, all before the first answer is read.
    ///
    /// # Errors
    /// The first that fails.
    pub(crate) fn ask_all(&mut self) -> Result<(), String> {
        let all = 0..self.streams.len();
        all.clone().try_for_each(|index| self.ask(index)).map_err(|error| error.to_string())?;
        all.clone().try_for_each(|index| self.read_answer(index).map(drop)).map_err(|error| error.to_string())
    }

    fn ask(&self, index: usize) -> std::io::Result<()> {
        (&self.streams[index]).write_all(&self.request)
    }

    fn read_answer(&mut self, index: usize) -> std::io::Result<Answer> {
        let mut responses = Responses::new();
        let mut octets = 0;
        loop {
            let received = self.streams[index].read(&mut self.buffer)?;
            if received == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            octets += received;
            let complete = responses.feed(&self.buffer[..received], self.content);
            match complete.map_err(|fault| std::io::Error::other(format!("wrong response: {fault:?}")))? {
                0 => {}
                _ => return Ok(Answer { octets }),
            }
        }
    }
}

impl Hold for Held {
    /// Each connection also asks once.
    fn open(&mut self, address: SocketAddrV4, count: usize, limit: Duration) -> Result<(), String> {
        in_batches(count, limit, |batch| self.open_batch(address, batch))
    }

    fn alive(&self) -> usize {
        self.streams.iter().filter(|stream| is_open(stream)).count()
    }
}

/// Opens `count` connections by batches that `open` opens.
///
/// # Errors
/// The first batch that fails; or all take longer than `limit`.
pub(crate) fn in_batches(
    count: usize,
    limit: Duration,
    mut open: impl FnMut(Range<usize>) -> std::io::Result<()>,
) -> Result<(), String> {
    let start = Instant::now();
    for before in (0..count).step_by(AT_ONCE) {
        let after = count.min(before + AT_ONCE);
        open(before..after)
            .map_err(|error| format!("connections {before} to {after} of {count}: {error}"))?;
        if start.elapsed() > limit {
            return Err(format!("only {after} of {count} connections after {limit:?}"));
        }
    }
    Ok(())
}

/// Whether the peer has neither closed nor sent anything that was not read.
pub(crate) fn is_open(stream: &TcpStream) -> bool {
    let quiet = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let _ = stream.set_nonblocking(false);
    matches!(quiet, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// Asks once on a connection of its own: what does a response look like?
///
/// # Errors
/// The server does not answer with a 200 of the right length.
pub(crate) fn probe(address: SocketAddrV4, request: Vec<u8>, content: u64) -> Result<Answer, String> {
    let mut held = Held::new(request, content);
    let asked = connect(address, 0).and_then(|stream| {
        held.streams.push(stream);
        held.ask(0)?;
        held.read_answer(0)
    });
    asked.map_err(|error| format!("first request: {error}"))
}

/// Connects from 127.0.0.1, 127.0.0.2 … so that ports do not run out.
pub(crate) fn connect(address: SocketAddrV4, index: usize) -> std::io::Result<TcpStream> {
    let source = Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + (index / PER_SOURCE) as u32);
    let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A port may serve several source addresses, and the end of a race leaves none in TIME-WAIT
    // (a close that resets): the next server's connections need them.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    net::bind(&socket, &SocketAddrV4::new(source, 0))?;
    net::connect(&socket, &address)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}
