//! Just enough of an HTTP/2 client to check a server before a race and to hold idle connections:
//! one request at a time, no HPACK decoder (a status of 200 is one octet in every server's answer).
//! The load itself is h2load's.

mod frame;
mod held;
mod transport;

pub(crate) use self::held::{Greeted, probe};

use std::io::{self, Read, Write};

use self::frame::{Frame, Kind};
use self::transport::Transport;
use crate::held::Answer;

/// A connection with at most one request in flight.
struct Connection {
    transport: Transport,
    /// The identifier of the next request: odd, ascending (RFC 9113 §5.1.1).
    next: u32,
}

/// What a request asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `:path`.
    pub(crate) target: &'static str,
    /// `:authority`.
    pub(crate) authority: String,
    pub(crate) secure: bool,
    /// Octets of content that the response must have.
    pub(crate) content: u64,
}

impl Connection {
    /// Over a transport on which nothing was sent but TLS's own.
    fn new(transport: Transport) -> Self {
        Self { transport, next: 1 }
    }

    /// Sends the preface (RFC 9113 §3.4).
    fn greet(&mut self) -> io::Result<()> {
        self.transport.write_all(&frame::greeting())?;
        self.transport.flush()
    }

    fn ask(&mut self, request: &Request) -> io::Result<()> {
        self.transport.write_all(&frame::request(self.next, request))?;
        self.next += 2;
        self.transport.flush()
    }

    /// Reads until the server has sent its SETTINGS and acknowledged ours.
    fn settle(&mut self) -> io::Result<()> {
        let (mut theirs, mut acknowledged) = (false, false);
        while !(theirs && acknowledged) {
            let frame = self.read_frame()?;
            if frame.kind == Kind::Settings {
                acknowledged |= frame.is_acknowledgement();
                theirs |= !frame.is_acknowledgement();
            }
        }
        Ok(())
    }

    /// Reads the response to the last request.
    fn read_answer(&mut self, content: u64) -> io::Result<Answer> {
        let (mut octets, mut received) = (0, 0);
        loop {
            let frame = self.read_frame()?;
            if frame.stream != self.next - 2 {
                continue;
            }
            octets += frame::HEAD + frame.payload.len();
            match frame.kind {
                Kind::Headers if !frame.is_ok() => return Err(wrong("the status is not 200".to_owned())),
                Kind::Data => received += frame.payload.len() as u64,
                Kind::Reset => return Err(wrong(format!("RST_STREAM {:02x?}", frame.payload))),
                _ => {}
            }
            if frame.ends_stream() {
                break;
            }
        }
        if received == content {
            Ok(Answer { octets })
        } else {
            Err(wrong(format!("{received} octets of content")))
        }
    }

    /// Reads one frame and does what the connection needs at once.
    fn read_frame(&mut self) -> io::Result<Frame> {
        let mut head = [0; frame::HEAD];
        self.transport.read_exact(&mut head)?;
        let mut frame = Frame::new(&head);
        self.transport.read_exact(&mut frame.payload)?;
        match frame.kind {
            Kind::Settings if !frame.is_acknowledgement() => {
                self.transport.write_all(&frame::SETTINGS_ACKNOWLEDGED)?;
                self.transport.flush()?;
            }
            Kind::GoAway => return Err(wrong(format!("GOAWAY {:02x?}", frame.payload))),
            _ => {}
        }
        Ok(frame)
    }
}

fn wrong(what: String) -> io::Error {
    io::Error::other(format!("wrong response: {what}"))
}
