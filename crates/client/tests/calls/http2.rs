//! Scripted HTTP/2 upstreams.

use hayami_h2::{Body, Config, ErrorCode, Event, Key, RequestContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;

/// The server side of a connection.
pub(crate) struct Conn {
    pub(crate) stream: TcpStream,
    config: Config,
    server: Server<()>,
    input: Vec<u8>,
    out: Vec<u8>,
    head: RequestHead,
}

/// A received event.
#[derive(Debug)]
pub(crate) enum Came {
    /// A request: its stream, method and path, and whether content follows.
    Request(Key, String, bool),
    Content(Key, Vec<u8>, bool),
    /// The end of content and the first trailer.
    End(Key, Option<String>),
    Reset(Key, ErrorCode),
    GoAway,
    /// The connection ended, or the peer violated the protocol.
    Closed,
}

/// An upstream that runs `act` on each connection.
pub(crate) fn upstream(
    config: Config,
    act: impl Fn(usize, &mut Conn) + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    super::upstream(move |number, stream| {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        let (mut server, mut out) = (Server::new(&config), Vec::new());
        server.start(&config, &mut out);
        let (input, head) = (Vec::new(), RequestHead::default());
        act(number, &mut Conn { stream, config, server, input, out, head });
    })
}

/// An upstream that answers every request with the number of its connection.
pub(crate) fn always() -> (SocketAddr, Arc<AtomicUsize>) {
    upstream(Config::default(), |number, conn| conn.answer_all(number))
}

impl Conn {
    /// Sends pending output and returns the next event.
    pub(crate) fn next(&mut self) -> Came {
        loop {
            let received = self.server.receive(&self.config, 0, &self.input, &mut self.head, &mut self.out);
            let Ok(received) = received else {
                self.flush();
                return Came::Closed;
            };
            let came = match received.event {
                Event::More => {
                    self.input.drain(..received.consumed);
                    self.flush();
                    let mut piece = [0; 65_536];
                    match self.stream.read(&mut piece) {
                        Ok(0) | Err(_) => return Came::Closed,
                        Ok(bytes) => self.input.extend_from_slice(&piece[..bytes]),
                    }
                    continue;
                }
                Event::Request { key, content } => Some(Came::Request(
                    key,
                    format!(
                        "{} {}",
                        String::from_utf8_lossy(self.head.method_name()),
                        String::from_utf8_lossy(self.head.target())
                    ),
                    content != RequestContent::None,
                )),
                Event::Content { key, start, len, end } => {
                    let bytes = self.input[start..start + len].to_vec();
                    self.server.release_connection_window(&self.config, key, len, &mut self.out);
                    Some(Came::Content(key, bytes, end))
                }
                Event::End { key, trailers } => {
                    let first = trailers.and_then(|trailers| {
                        let (name, value) = trailers.iter().next()?;
                        Some(format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
                    });
                    Some(Came::End(key, first))
                }
                Event::Reset { key, code, .. } => Some(Came::Reset(key, code)),
                Event::PeerGoesAway => Some(Came::GoAway),
                Event::Handled | Event::TooLarge { .. } => None,
            };
            self.input.drain(..received.consumed);
            if let Some(came) = came {
                return came;
            }
        }
    }

    /// The next request; `None` if the connection ends first.
    pub(crate) fn request(&mut self) -> Option<(Key, String)> {
        loop {
            match self.next() {
                Came::Request(key, line, _) => return Some((key, line)),
                Came::Closed => return None,
                _ => {}
            }
        }
    }

    /// The authority of the last request.
    pub(crate) fn authority(&self) -> String {
        String::from_utf8_lossy(self.head.authority()).into_owned()
    }

    /// Reads a request's content to its end, releasing window as it arrives; returns its length and the first trailer.
    pub(crate) fn content(&mut self, of: Key) -> (usize, Option<String>) {
        let mut sum = 0;
        loop {
            match self.next() {
                Came::Content(key, bytes, end) if key == of => {
                    sum += bytes.len();
                    self.server.release_stream_window(&self.config, key, bytes.len(), &mut self.out);
                    if end {
                        return (sum, None);
                    }
                }
                Came::End(key, trailer) if key == of => return (sum, trailer),
                Came::Closed => panic!("closed after {sum} bytes"),
                _ => {}
            }
        }
    }

    /// Releases stream window.
    pub(crate) fn release_stream_window(&mut self, key: Key, bytes: usize) {
        self.server.release_stream_window(&self.config, key, bytes, &mut self.out);
    }

    /// Sends a response head.
    pub(crate) fn head(
        &mut self,
        key: Key,
        status: u16,
        length: Option<u64>,
        fields: &[(&str, &str)],
    ) -> Body {
        let status = Status::new(status).expect("a status");
        let mut head = ResponseHead::new(status);
        fields.iter().for_each(|(name, value)| head.append(name.as_bytes(), value.as_bytes()));
        self.server.send_head(key, &head, length, &FieldSection::default(), 0, &mut self.out)
    }

    pub(crate) fn interim(&mut self, key: Key, status: u16) {
        let status = Status::new(status).expect("a status");
        self.server.send_interim(key, status, &FieldSection::default(), &mut self.out);
    }

    /// Sends content within the window; returns how many bytes were sent.
    pub(crate) fn data(&mut self, key: Key, bytes: &[u8], end: bool) -> usize {
        let room = self.server.room(key).min(bytes.len());
        self.server.send_data(key, &bytes[..room], end && room == bytes.len(), &mut self.out);
        self.flush();
        room
    }

    pub(crate) fn trailers(&mut self, key: Key, name: &str, value: &str) {
        let mut trailers = FieldSection::default();
        trailers.append(name.as_bytes(), value.as_bytes());
        self.server.send_trailers(key, &trailers, &mut self.out);
        self.flush();
    }

    /// Sends a complete response.
    pub(crate) fn answer(&mut self, key: Key, text: &str) {
        self.head(key, 200, Some(text.len() as u64), &[]);
        self.data(key, text.as_bytes(), true);
    }

    /// Answers all requests with this connection number.
    pub(crate) fn answer_all(&mut self, number: usize) {
        while let Some((key, _)) = self.request() {
            self.answer(key, &format!("connection {number}"));
        }
    }

    pub(crate) fn reset(&mut self, key: Key, code: ErrorCode) {
        self.server.reset(key, code, &mut self.out);
        self.flush();
    }

    /// Sends GOAWAY with this last stream identifier.
    pub(crate) fn go_away(&mut self, last: u32, code: u32) {
        let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
        self.frame(GOAWAY, 0, 0, &payload);
    }

    /// Sends a handmade frame.
    pub(crate) fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = (payload.len() as u32).to_be_bytes();
        self.out.extend([length[1], length[2], length[3], kind, flags]);
        self.out.extend(stream.to_be_bytes());
        self.out.extend(payload);
        self.flush();
    }

    pub(crate) fn flush(&mut self) {
        // Ignore errors: the peer may be gone.
        let _ = self.stream.write_all(&self.out);
        self.out.clear();
    }
}
