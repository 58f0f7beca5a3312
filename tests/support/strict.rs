//! An upstream that records every byte and validates it: the input must be consecutive well-formed requests,
//! by the strictest reading of RFC 9112.

use super::PATIENCE;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request that was complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) content: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
}

impl Request {
    /// All values of a field.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let own = self.fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.as_str()).collect()
    }
}

/// The error in the bytes, other than being incomplete.
type Wrong = String;

#[derive(Default)]
struct Seen {
    requests: Vec<Request>,
    wrong: Option<Wrong>,
}

/// The upstream. It answers every request with `ok`.
pub(crate) struct Recorder {
    pub(crate) address: String,
    seen: Arc<Mutex<Seen>>,
}

impl Recorder {
    /// On a free port of this machine.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let seen = Arc::<Mutex<Seen>>::default();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&shared);
                std::thread::spawn(move || record(stream, &seen));
            }
        });
        Self { address, seen }
    }

    /// The requests since the last call; or the malformed input.
    pub(crate) fn take(&self) -> Result<Vec<Request>, Wrong> {
        let mut seen = self.seen.lock().expect("no panic within");
        match seen.wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(std::mem::take(&mut seen.requests)),
        }
    }
}

fn record(mut stream: TcpStream, seen: &Mutex<Seen>) {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..count]);
        loop {
            match parse(&bytes) {
                Ok(None) => break,
                Ok(Some((request, used))) => {
                    bytes.drain(..used);
                    seen.lock().expect("no panic within").requests.push(request);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
                Err(wrong) => {
                    let shown = bytes.escape_ascii();
                    seen.lock().expect("no panic within").wrong = Some(format!("{wrong}: {shown}"));
                    return;
                }
            }
        }
    }
}

/// The first request and its bytes; `None` if more have to come.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Wrong> {
    let Some((lines, mut used)) = lines(bytes)? else { return Ok(None) };
    let (first, rest) = lines.split_first().ok_or("a head without a request line")?;
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else { return Err("no request line".into()) };
    let visible = target.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token(method) || !visible || target.is_empty() {
        return Err("no method or no target".into());
    }
    let mut request = Request { target: target.to_owned(), fields: fields(rest)?, ..Request::default() };
    if request.all("host").len() != 1 {
        return Err("not one Host".into());
    }
    let content = match (&request.all("content-length")[..], &request.all("transfer-encoding")[..]) {
        ([], []) => Some((Vec::new(), Vec::new(), 0)),
        ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            let length: usize = length.parse().map_err(|_| "no length")?;
            bytes.get(used..used + length).map(|content| (content.to_vec(), Vec::new(), length))
        }
        ([], ["chunked"]) => chunked(&bytes[used..])?,
        _ => return Err("the framing can be read in two ways".into()),
    };
    let Some((content, trailers, len)) = content else { return Ok(None) };
    used += len;
    (request.content, request.trailers) = (content, trailers);
    Ok(Some((request, used)))
}

type Chunked = (Vec<u8>, Vec<(String, String)>, usize);

fn chunked(bytes: &[u8]) -> Result<Option<Chunked>, Wrong> {
    let (mut content, mut used) = (Vec::new(), 0);
    loop {
        let Some(end) = bytes[used..].windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
        let digits = String::from_utf8_lossy(&bytes[used..used + end]).into_owned();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("the chunk size {digits:?}"));
        }
        let size = usize::from_str_radix(&digits, 16).map_err(|_| "a chunk size")?;
        used += end + 2;
        if size == 0 {
            // An empty section is an empty line only.
            if bytes[used..].starts_with(b"\r\n") {
                return Ok(Some((content, Vec::new(), used + 2)));
            }
            let Some((lines, len)) = lines(&bytes[used..])? else { return Ok(None) };
            return Ok(Some((content, fields(&lines)?, used + len)));
        }
        let Some(chunk) = bytes.get(used..used + size + 2) else { return Ok(None) };
        if !chunk.ends_with(b"\r\n") {
            return Err("a chunk that does not end".into());
        }
        content.extend_from_slice(&chunk[..size]);
        used += size + 2;
    }
}

/// The lines before an empty one, and the number of all bytes.
fn lines(bytes: &[u8]) -> Result<Option<(Vec<String>, usize)>, Wrong> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let text = str::from_utf8(&bytes[..end]).map_err(|_| "a head that is no text")?;
    let lines: Vec<String> = text.split("\r\n").map(str::to_owned).collect();
    if lines.iter().any(|line| line.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t')) {
        return Err("control bytes in a head".into());
    }
    Ok(Some((lines, end + 4)))
}

fn fields(lines: &[String]) -> Result<Vec<(String, String)>, Wrong> {
    let field = |line: &String| match line.split_once(':') {
        Some((name, value)) if is_token(name) => Ok((name.to_owned(), value.trim().to_owned())),
        _ => Err(format!("the field line {line:?}")),
    };
    lines.iter().map(field).collect()
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}
