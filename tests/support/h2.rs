//! An HTTP/2 client that sends frames as given, valid or not, and returns the received ones (RFC 9113). On
//! its own it only acknowledges SETTINGS and PING, and restores the windows that DATA used up.

use super::hpack::{Decoder, literals};
use super::{Answer, PATIENCE};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

/// The client connection preface (RFC 9113 section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames (RFC 9113 section 6, RFC 9218 section 7.1).
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
    pub(crate) const PRIORITY_UPDATE: u8 = 16;
}

/// Flags of frames; ACK and END_STREAM are the same bit.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 1;
    pub(crate) const END_STREAM: u8 = 1;
    pub(crate) const END_HEADERS: u8 = 4;
    pub(crate) const PADDED: u8 = 8;
}

/// Error codes (RFC 9113 section 7).
pub(crate) mod code {
    pub(crate) const NO_ERROR: u32 = 0;
    pub(crate) const PROTOCOL_ERROR: u32 = 1;
    pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
    pub(crate) const REFUSED_STREAM: u32 = 7;
    pub(crate) const CANCEL: u32 = 8;
    pub(crate) const COMPRESSION_ERROR: u32 = 9;
    pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The 32-bit number at that place of the payload.
    pub(crate) fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.payload[at..at + 4].try_into().expect("four bytes"))
    }
}

/// A frame's bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The field block of a request.
pub(crate) fn request(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let head = [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", path)];
    literals(&[&head, more].concat())
}

/// A HEADERS frame of a whole request without content.
pub(crate) fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, request("GET", path, &[]))
}

/// How a connection ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// Last stream and error code of each GOAWAY.
    pub(crate) goaways: Vec<(u32, u32)>,
    /// Streams that were reset, and their codes.
    pub(crate) resets: Vec<(u32, u32)>,
}

impl End {
    /// The error code of the last GOAWAY.
    pub(crate) fn code(&self) -> Option<u32> {
        self.goaways.last().map(|(_, code)| *code)
    }
}

/// One connection.
pub(crate) struct Wire {
    write: Box<dyn Write + Send>,
    /// The TCP stream, if the connection is one.
    socket: Option<TcpStream>,
    read: Receiver<Vec<u8>>,
    /// Ends with the connection: the process that carries TLS.
    child: Option<Child>,
    buffer: Vec<u8>,
    decoder: Decoder,
    /// Answers that have begun, and whether they are whole.
    answers: HashMap<u32, (Answer, bool)>,
    /// Connection window that is withheld; `None` if it is restored immediately.
    kept: Option<u32>,
    /// Whether the windows of streams are restored.
    credits_streams: bool,
    /// Whether another thread sends by [`Self::pushing`]: then this one only reads.
    mute: bool,
    /// Interim responses: stream, status, the values of `link`.
    pub(crate) interim: Vec<(u32, u16, Vec<String>)>,
    /// The endings received so far.
    pub(crate) end: End,
}

impl Wire {
    /// Connects and sends nothing.
    #[track_caller]
    pub(crate) fn bare(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        let read = stream.try_clone().expect("a second handle");
        let socket = stream.try_clone().expect("a third handle");
        let mut own = Self::over(Box::new(stream), read, None);
        own.socket = Some(socket);
        own
    }

    /// Connects, and sends the preface and empty SETTINGS.
    #[track_caller]
    pub(crate) fn open(address: &str) -> Self {
        Self::bare(address).begun()
    }

    /// The same through a program that carries bytes over TLS between its standard input and output.
    #[track_caller]
    pub(crate) fn through(mut command: std::process::Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let (write, read) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self::over(Box::new(write), read, Some(child)).begun()
    }

    fn over(
        write: Box<dyn Write + Send>,
        mut from: impl Read + Send + 'static,
        child: Option<Child>,
    ) -> Self {
        // One piece at most waits here: a client that does not look does not receive for ever.
        let (give, read) = sync_channel(1);
        std::thread::spawn(move || {
            let mut piece = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                if give.send(piece[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let (buffer, decoder) = (Vec::new(), Decoder::default());
        Self {
            write,
            socket: None,
            read,
            child,
            buffer,
            decoder,
            answers: HashMap::new(),
            kept: None,
            credits_streams: true,
            mute: false,
            interim: Vec::new(),
            end: End::default(),
        }
    }

    fn begun(mut self) -> Self {
        self.send(PREFACE).frame(kind::SETTINGS, 0, 0, []);
        self
    }

    /// Sends. A server that has already closed is no error here: its responses show why.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        if self.mute {
            return self;
        }
        let _ = self.write.write_all(bytes.as_ref()).and_then(|()| self.write.flush());
        self
    }

    /// Sends a frame.
    pub(crate) fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: impl AsRef<[u8]>) -> &mut Self {
        self.send(frame(kind, flags, stream, payload))
    }

    /// Another handle to send by, while this one reads.
    pub(crate) fn pushing(&mut self) -> TcpStream {
        self.mute = true;
        self.socket.as_ref().and_then(|socket| socket.try_clone().ok()).expect("a connection of TCP")
    }

    /// The status of an answer that has begun.
    pub(crate) fn status(&self, stream: u32) -> Option<u16> {
        self.answers.get(&stream).map(|(answer, _)| answer.status)
    }

    /// Sends a GET request.
    pub(crate) fn get(&mut self, stream: u32, path: &str) -> &mut Self {
        self.send(get(stream, path))
    }

    /// Sends the head of a request; the last frame of the stream if `end`.
    pub(crate) fn ask(
        &mut self,
        stream: u32,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        end: bool,
    ) -> &mut Self {
        let flags = flag::END_HEADERS | if end { flag::END_STREAM } else { 0 };
        self.frame(kind::HEADERS, flags, stream, request(method, path, more))
    }

    /// The next frame; `None` when the server has closed.
    ///
    /// # Panics
    /// Nothing comes and the connection stays open.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.take() {
                self.note(&frame);
                return Some(frame);
            }
            match self.read.recv_timeout(PATIENCE) {
                Ok(piece) => self.buffer.extend_from_slice(&piece),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("nothing came and the connection stayed open"),
            }
        }
    }

    fn take(&mut self) -> Option<Frame> {
        let head = self.buffer.get(..9)?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        assert!(len <= 16384, "no frame is longer than SETTINGS_MAX_FRAME_SIZE lets it be");
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let (kind, flags) = (head[3], head[4]);
        let payload = self.buffer.get(9..9 + len)?.to_vec();
        self.buffer.drain(..9 + len);
        Some(Frame { kind, flags, stream, payload })
    }

    fn note(&mut self, frame: &Frame) {
        match frame.kind {
            kind::SETTINGS | kind::PING if frame.flags & flag::ACK == 0 => {
                let echo: &[u8] = if frame.kind == kind::PING { &frame.payload } else { &[] };
                self.frame(frame.kind, flag::ACK, 0, echo);
            }
            kind::GOAWAY => self.end.goaways.push((frame.number(0), frame.number(4))),
            kind::RST_STREAM => self.end.resets.push((frame.stream, frame.number(0))),
            kind::HEADERS => self.note_head(frame),
            kind::DATA => self.note_content(frame),
            _ => {}
        }
    }

    fn note_head(&mut self, frame: &Frame) {
        assert!(frame.flags & flag::END_HEADERS != 0, "the heads of the tests fit into one frame");
        let fields = self.decoder.read(&frame.payload);
        let end = frame.flags & flag::END_STREAM != 0;
        if let Some((answer, whole)) = self.answers.get_mut(&frame.stream).filter(|(_, whole)| !whole) {
            // Trailers.
            answer.fields.extend(fields);
            *whole = end;
            return;
        }
        let status = fields.iter().find(|(name, _)| name == ":status");
        let status = status.map_or(0, |(_, status)| status.parse().expect("a status"));
        let answer = Answer { status, fields, content: Vec::new() };
        if (100..200).contains(&status) {
            let links = answer.all("link").into_iter().map(str::to_owned).collect();
            self.interim.push((frame.stream, status, links));
        } else {
            self.answers.insert(frame.stream, (answer, end));
        }
    }

    fn note_content(&mut self, frame: &Frame) {
        let (answer, whole) = self.answers.get_mut(&frame.stream).expect("HEADERS come before DATA");
        assert!(!*whole, "nothing comes after END_STREAM");
        answer.content.extend_from_slice(&frame.payload);
        *whole = frame.flags & flag::END_STREAM != 0;
        let credit = (frame.payload.len() as u32).to_be_bytes();
        if !frame.payload.is_empty() && !*whole && self.credits_streams {
            self.frame(kind::WINDOW_UPDATE, 0, frame.stream, credit);
        }
        if let Some(kept) = &mut self.kept {
            *kept += frame.payload.len() as u32;
        } else if !frame.payload.is_empty() {
            self.frame(kind::WINDOW_UPDATE, 0, 0, credit);
        }
    }

    /// The head of a response of HTTP/1.1, before frames begin.
    #[track_caller]
    pub(crate) fn line_head(&mut self) -> String {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
                return String::from_utf8_lossy(&head).into_owned();
            }
            self.buffer.extend(self.read.recv_timeout(PATIENCE).expect("a head comes"));
        }
    }

    /// The whole answer on a stream.
    ///
    /// # Panics
    /// The stream is reset, or the connection closed, before.
    #[track_caller]
    pub(crate) fn answer(&mut self, stream: u32) -> Answer {
        while !self.answers.get(&stream).is_some_and(|(_, whole)| *whole) {
            let reset = self.end.resets.iter().find(|(own, _)| *own == stream);
            assert!(reset.is_none(), "stream {stream} is reset: {reset:?}");
            assert!(self.next().is_some(), "closed before the answer to {stream}: {:?}", self.end);
        }
        self.answers.remove(&stream).expect("it is there").0
    }

    /// The next frame of that type.
    #[track_caller]
    pub(crate) fn next_of(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.next().unwrap_or_else(|| panic!("closed before a frame {kind}: {:?}", self.end));
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// Stops restoring the connection window, and reads until that much of it is used up.
    #[track_caller]
    pub(crate) fn held(&mut self, bytes: u32) -> &mut Self {
        self.kept = Some(0);
        while self.kept < Some(bytes) {
            self.next_of(kind::DATA);
        }
        self
    }

    /// Stops restoring stream windows.
    pub(crate) fn without_credit(mut self) -> Self {
        self.credits_streams = false;
        self
    }

    /// Grants the withheld credit, and from now on all credit at once.
    pub(crate) fn release(&mut self) -> &mut Self {
        let kept = self.kept.take().unwrap_or_default();
        self.frame(kind::WINDOW_UPDATE, 0, 0, kept.to_be_bytes())
    }

    /// Reads all remaining bytes until the server closes.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> &[u8] {
        loop {
            match self.read.recv_timeout(PATIENCE) {
                Ok(piece) => self.buffer.extend_from_slice(&piece),
                Err(RecvTimeoutError::Disconnected) => return &self.buffer,
                Err(RecvTimeoutError::Timeout) => panic!("the connection stayed open"),
            }
        }
    }

    /// Waits until a stream is reset; the code. `None` if the connection ends instead.
    #[track_caller]
    pub(crate) fn reset_of(&mut self, stream: u32) -> Option<u32> {
        loop {
            if let Some((_, code)) = self.end.resets.iter().find(|(own, _)| *own == stream) {
                return Some(*code);
            }
            self.next()?;
        }
    }

    /// Reads on until the server closes; how it ended.
    #[track_caller]
    pub(crate) fn closed(&mut self) -> &End {
        while self.next().is_some() {}
        &self.end
    }

    /// A PING comes back: the server is past everything sent before.
    #[track_caller]
    pub(crate) fn ping(&mut self) -> &mut Self {
        self.frame(kind::PING, 0, 0, b"hayami!!");
        loop {
            let frame = self.next_of(kind::PING);
            if frame.flags & flag::ACK != 0 && frame.payload == b"hayami!!" {
                return self;
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
