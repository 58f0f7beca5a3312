//! A connection with a deadline: lines and counted bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The longest line of an answer. Both protocols answer with some 20 bytes; errors are a sentence.
const LINE: usize = 1024;
/// The largest value accepted. Sessions have about 200 bytes, with client certificates about 8,000.
const VALUE: usize = 1 << 20;

/// A connection to a store.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    input: Vec<u8>,
    deadline: Instant,
}

impl Wire {
    /// Connects to the first of `addresses` that accepts.
    pub(super) fn connect(addresses: &[SocketAddr], deadline: Instant) -> io::Result<Self> {
        let mut error = io::Error::new(io::ErrorKind::NotFound, "its name is not resolved yet");
        for address in addresses {
            match TcpStream::connect_timeout(address, left(deadline)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self { stream, input: Vec::new(), deadline });
                }
                Err(e) => error = e,
            }
        }
        Err(error)
    }

    /// An existing connection.
    #[cfg(feature = "fuzzing")]
    pub(super) fn over(stream: TcpStream, time: Duration) -> Self {
        Self { stream, input: Vec::new(), deadline: Instant::now() + time }
    }

    /// Sets the deadline of the call that begins now.
    pub(super) fn until(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    pub(super) fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(left(self.deadline)?))?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(in_time(e)),
            }
        }
        Ok(())
    }

    /// The next line, without its CRLF.
    pub(super) fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut looked = 0;
        loop {
            if let Some(at) = self.input[looked..].windows(2).position(|pair| pair == b"\r\n") {
                let mut line: Vec<u8> = self.input.drain(..looked + at + 2).collect();
                line.truncate(looked + at);
                return Ok(line);
            }
            if self.input.len() > LINE {
                return Err(super::broken(&self.input));
            }
            looked = self.input.len().saturating_sub(1);
            self.receive()?;
        }
    }

    /// The next `len` bytes, and the CRLF after them.
    pub(super) fn value(&mut self, len: usize) -> io::Result<Vec<u8>> {
        if len > VALUE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("sends a value of {len} bytes")));
        }
        while self.input.len() < len + 2 {
            self.receive()?;
        }
        let mut value: Vec<u8> = self.input.drain(..len + 2).collect();
        if !value.ends_with(b"\r\n") {
            return Err(super::broken(&value[len..]));
        }
        value.truncate(len);
        Ok(value)
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut bytes = [0; 4096];
        loop {
            self.stream.set_read_timeout(Some(left(self.deadline)?))?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.input.extend_from_slice(&bytes[..count]);
                    return Ok(());
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(in_time(e)),
            }
        }
    }
}

/// The time that is left; an error if there is none.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(late()) } else { Ok(left) }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "doesn't answer in time")
}

/// Linux returns EAGAIN when a socket's timeout expires (socket(7)).
fn in_time(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => late(),
        _ => error,
    }
}
