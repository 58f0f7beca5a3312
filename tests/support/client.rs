//! A client that sends bytes unchanged and reads the responses.

use super::{Answer, PATIENCE};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// One connection.
pub(crate) struct Client {
    stream: TcpOrUnix,
    /// Bytes received but not yet consumed.
    buffer: Vec<u8>,
    closed: bool,
}

enum TcpOrUnix {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Client {
    /// Connects to an address.
    pub(crate) fn connect(address: &str) -> Self {
        let stream =
            TcpStream::connect(address).unwrap_or_else(|e| panic!("cannot connect to {address}: {e}"));
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self { stream: TcpOrUnix::Tcp(stream), buffer: Vec::new(), closed: false }
    }

    /// The port of this end.
    pub(crate) fn local_port(&self) -> u16 {
        match &self.stream {
            TcpOrUnix::Tcp(stream) => stream.local_addr().expect("connected").port(),
            TcpOrUnix::Unix(_) => panic!("a unix socket has no port"),
        }
    }

    /// Connects to a unix socket.
    pub(crate) fn connect_unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self { stream: TcpOrUnix::Unix(stream), buffer: Vec::new(), closed: false }
    }

    /// Sets the read timeout.
    pub(crate) fn patience(&mut self, time: std::time::Duration) -> &mut Self {
        match &self.stream {
            TcpOrUnix::Tcp(stream) => stream.set_read_timeout(Some(time)).expect("a timeout"),
            TcpOrUnix::Unix(stream) => stream.set_read_timeout(Some(time)).expect("a timeout"),
        }
        self
    }

    /// Sends. A server that has already closed is no error here: its responses show why.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = match &mut self.stream {
            TcpOrUnix::Tcp(stream) => stream.write_all(bytes.as_ref()),
            TcpOrUnix::Unix(stream) => stream.write_all(bytes.as_ref()),
        };
        self
    }

    /// Closes the sending direction.
    pub(crate) fn finish(&mut self) -> &mut Self {
        let _ = match &self.stream {
            TcpOrUnix::Tcp(stream) => stream.shutdown(Shutdown::Write),
            TcpOrUnix::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
        self
    }

    /// The next response.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.answer_to(false)
    }

    /// The response to a HEAD request.
    #[track_caller]
    pub(crate) fn answer_to_head(&mut self) -> Answer {
        self.answer_to(true)
    }

    #[track_caller]
    fn answer_to(&mut self, head: bool) -> Answer {
        loop {
            if let Some((answer, used)) = Answer::parse(&self.buffer, head, self.closed) {
                self.buffer.drain(..used);
                return answer;
            }
            let text = String::from_utf8_lossy(&self.buffer[..self.buffer.len().min(500)]).into_owned();
            assert!(!self.closed, "closed in the middle of a response: {text:?}");
            self.receive();
        }
    }

    /// All responses until the server closes.
    #[track_caller]
    pub(crate) fn answers(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        self.rest();
        while !self.buffer.is_empty() {
            answers.push(self.answer());
        }
        answers
    }

    /// Waits until the server closes; returns the bytes received before.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> &[u8] {
        while !self.closed {
            self.receive();
        }
        &self.buffer
    }

    /// Whether the server has closed after everything that was taken. Waits for it.
    #[track_caller]
    pub(crate) fn is_closed(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Receives once; at least `len` bytes are in the buffer afterwards, or the server has closed.
    #[track_caller]
    pub(crate) fn receive_at_least(&mut self, len: usize) -> usize {
        while self.buffer.len() < len && !self.closed {
            self.receive();
        }
        self.buffer.len()
    }

    /// Receives until this text has arrived; nothing is consumed.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> &mut Self {
        while !self.buffer.windows(text.len()).any(|window| window == text.as_bytes()) {
            assert!(!self.closed, "closed before {text:?} came");
            self.receive();
        }
        self
    }

    /// The head of a response that has begun; nothing is taken.
    #[track_caller]
    pub(crate) fn head(&self) -> Answer {
        Answer::parse(&self.buffer, true, false).expect("a head has come").0
    }

    #[track_caller]
    fn receive(&mut self) {
        let mut piece = vec![0; 256 * 1024];
        let received = match &mut self.stream {
            TcpOrUnix::Tcp(stream) => stream.read(&mut piece),
            TcpOrUnix::Unix(stream) => stream.read(&mut piece),
        };
        match received {
            Ok(0) => self.closed = true,
            Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
            // Unread data would turn the close into a reset.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.closed = true,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("nothing came and the connection stayed open: {error}"),
        }
    }
}
