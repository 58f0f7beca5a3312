//! Upstream servers of a test: each connection follows a script, good or bad, on threads of this process.

use super::PATIENCE;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A server on a free local port. Dropping it stops listening, and panics if one of its scripts did.
pub(crate) struct Upstream {
    /// `127.0.0.1:40000`
    pub(crate) address: String,
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

/// The input received so far.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    /// Connections whose script is not over.
    open: AtomicUsize,
    /// Bytes that were sent.
    sent: AtomicUsize,
    stop: AtomicBool,
    /// Scripts that panicked before the end of the test; the messages are in its output.
    panics: AtomicUsize,
    requests: Mutex<Vec<Asked>>,
}

/// A request as it came over the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Request line and field lines, without the empty one.
    pub(crate) head: String,
    /// The content, without its framing.
    pub(crate) content: Vec<u8>,
    /// The trailer section.
    pub(crate) trailers: String,
}

impl Asked {
    /// The request line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// All values of a field.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        pairs.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }
}

/// A connection as its script sees it.
pub(crate) struct Conn {
    stream: TcpStream,
    buffer: Vec<u8>,
    seen: Arc<Seen>,
}

/// A response with this content.
pub(crate) fn ok(content: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{content}", content.len())
}

impl Upstream {
    /// Every connection follows the script; it is closed when the script ends.
    pub(crate) fn scripted(script: impl Fn(&mut Conn) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", script)
    }

    /// The same at a certain address.
    pub(crate) fn at(address: &str, script: impl Fn(&mut Conn) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let (seen, script) = (Arc::new(Seen::default()), Arc::new(script));
        let shared = Arc::clone(&seen);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.stop.load(Ordering::SeqCst) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::SeqCst);
                shared.open.fetch_add(1, Ordering::SeqCst);
                let (seen, script) = (Arc::clone(&shared), Arc::clone(&script));
                std::thread::spawn(move || {
                    let mut conn = Conn::new(stream, Arc::clone(&seen));
                    let ended = catch_unwind(AssertUnwindSafe(|| script(&mut conn)));
                    if ended.is_err() && !seen.stop.load(Ordering::SeqCst) {
                        seen.panics.fetch_add(1, Ordering::SeqCst);
                    }
                    drop(conn);
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, seen, thread: Some(thread) }
    }

    /// Answers every request with these bytes and keeps the connection.
    pub(crate) fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::scripted(move |conn| {
            while conn.request().is_some() {
                conn.send(&bytes);
            }
        })
    }

    /// Answers every request with its own content.
    pub(crate) fn echo() -> Self {
        Self::scripted(|conn| {
            while let Some(asked) = conn.request() {
                let length = asked.content.len();
                conn.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"));
                conn.send(&asked.content);
            }
        })
    }

    /// Connections that came so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Connections whose script is not over.
    pub(crate) fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    /// Bytes that it got rid of.
    pub(crate) fn sent(&self) -> usize {
        self.seen.sent.load(Ordering::SeqCst)
    }

    /// The requests that were read as a whole.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.seen.requests.lock().expect("no panic within").clone()
    }

    /// The last of them.
    #[track_caller]
    pub(crate) fn last(&self) -> Asked {
        self.requests().pop().expect("a request came")
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let panics = self.seen.panics.load(Ordering::SeqCst);
        self.seen.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(&self.address);
        let _ = self.thread.take().expect("there is one").join();
        assert!(panics == 0 || std::thread::panicking(), "{panics} scripts of the upstream panicked");
    }
}

#[test]
#[should_panic = "1 scripts of the upstream panicked"]
fn a_script_that_panics_fails_its_test() {
    let upstream = Upstream::scripted(|_| panic!("what came is not what was wanted"));
    let mut stream = TcpStream::connect(&upstream.address).expect("connected");
    assert_eq!(stream.read(&mut [0]).expect("the connection is closed"), 0);
    super::until("the script is over", || upstream.connections() == 1 && upstream.open() == 0);
}

impl Conn {
    fn new(stream: TcpStream, seen: Arc<Seen>) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, buffer: Vec::new(), seen }
    }

    /// The next request with its content; `None` if the connection ends.
    pub(crate) fn request(&mut self) -> Option<Asked> {
        let mut asked = Asked { head: self.head()?, ..Asked::default() };
        if let Some(length) = asked.all("content-length").first() {
            let length = length.parse().expect("a length");
            asked.content = self.take(length)?;
        } else if asked.all("transfer-encoding") == ["chunked"] {
            self.chunks(&mut asked)?;
        }
        self.seen.requests.lock().expect("no panic within").push(asked.clone());
        Some(asked)
    }

    /// The next request's head; its content is not read.
    pub(crate) fn head(&mut self) -> Option<String> {
        let head = self.until(b"\r\n\r\n")?;
        Some(String::from_utf8_lossy(&head).into_owned())
    }

    /// This many arbitrary bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        self.take(count)
    }

    /// Sends. A closed peer is no error here.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let bytes = bytes.as_ref();
        self.seen.sent.fetch_add(bytes.len(), Ordering::SeqCst);
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends, and closes for sending, in one segment.
    pub(crate) fn send_last(&mut self, bytes: impl AsRef<[u8]>) {
        rustix::net::sockopt::set_tcp_cork(&self.stream, true).expect("an option of TCP");
        self.send(bytes);
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// Whether the peer has closed; waits for it.
    pub(crate) fn is_closed(&mut self) -> bool {
        while self.receive() {}
        true
    }

    /// The next chunk; empty at the end of the content, before the trailer section.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.until(b"\r\n")?;
        let digits = String::from_utf8_lossy(&line).into_owned();
        let size = usize::from_str_radix(&digits, 16).expect("a chunk size");
        let chunk = self.take(size)?;
        if size > 0 {
            assert_eq!(self.until(b"\r\n")?, b"", "a chunk ends");
        }
        Some(chunk)
    }

    /// The trailer section.
    pub(crate) fn trailers(&mut self) -> Option<String> {
        let mut trailers = String::new();
        loop {
            let line = self.until(b"\r\n")?;
            if line.is_empty() {
                return Some(trailers);
            }
            trailers += &format!("{}\n", String::from_utf8_lossy(&line));
        }
    }

    fn chunks(&mut self, asked: &mut Asked) -> Option<()> {
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                break;
            }
            asked.content.extend(chunk);
        }
        asked.trailers = self.trailers()?;
        Some(())
    }

    /// The bytes up to `end`, which is consumed as well.
    pub(crate) fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                let found = self.take(at)?;
                self.take(end.len())?;
                return Some(found);
            }
            if !self.receive() {
                return None;
            }
        }
    }

    fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < bytes {
            if !self.receive() {
                return None;
            }
        }
        Some(self.buffer.drain(..bytes).collect())
    }

    fn receive(&mut self) -> bool {
        let mut piece = vec![0; 64 * 1024];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(count) => {
                    self.buffer.extend_from_slice(&piece[..count]);
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

/// A port of this machine without a listener.
pub(crate) fn unused_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").to_string()
}
