//! One query to one name server: by UDP, and by TCP if the response is too long or the UDP response cannot be trusted
//! (RFC 1035 §4.2, RFC 7766).

use super::message::{Answer, Kind, Question, Reply};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Timeout of a server, for UDP and TCP each; then the next one is queried.
const PATIENCE: Duration = Duration::from_secs(2);

/// Without EDNS the longest UDP response is 512 bytes (RFC 1035 §4.2.1); some servers send more.
const LONGEST: usize = 4096;

/// Datagrams that match no query before a spoofing attempt is assumed (RFC 5452 §9.2).
const MOST_FOREIGN: usize = 32;

/// Servers that do not echo the query name with its original letter case.
static FOLDING: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());

/// Maximum number of such servers remembered.
const MOST_FOLDING: usize = 16;

/// Queries a server.
///
/// # Errors
/// The server has not answered in time, or failed; `InvalidInput`: the text is not a valid name.
pub(super) fn ask(server: SocketAddr, name: &str, kind: Kind) -> io::Result<Answer> {
    let folds = remembered().contains(&server);
    let question = question(name, kind, !folds)?;
    match by_udp(server, &question)? {
        Reply::Answer(answer, exact) if exact || folds => Ok(answer),
        Reply::Failed(why) => Err(io::Error::new(ErrorKind::InvalidData, why)),
        // Either spoofed, or the server folds names to lower case: a TCP response cannot be spoofed.
        Reply::Answer(..) => believe(by_tcp(server, &question), server, name, kind),
        // Or a spoofing attempt.
        Reply::Truncated(_) | Reply::Foreign => by_tcp(server, &question),
    }
}

/// Remembers a server that folds names; if it does not support TCP, queries it again in lower case.
fn believe(answer: io::Result<Answer>, server: SocketAddr, name: &str, kind: Kind) -> io::Result<Answer> {
    {
        let mut folding = remembered();
        if folding.len() < MOST_FOLDING && !folding.contains(&server) {
            folding.push(server);
        }
    }
    let Err(_) = answer else { return answer };
    let question = question(name, kind, false)?;
    match by_udp(server, &question)? {
        Reply::Answer(answer, _) => Ok(answer),
        Reply::Failed(why) => Err(io::Error::new(ErrorKind::InvalidData, why)),
        Reply::Truncated(_) | Reply::Foreign => answer,
    }
}

fn remembered() -> std::sync::MutexGuard<'static, Vec<SocketAddr>> {
    FOLDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A query with a random ID and random letter case.
fn question(name: &str, kind: Kind, mixed: bool) -> io::Result<Question> {
    // Keyed with random numbers from the system.
    let random = RandomState::new();
    let case = (0..4u64).flat_map(|word| {
        let bits = random.hash_one(word);
        (0..64).map(move |bit| bits >> bit & 1 == 1)
    });
    Question::new(random.hash_one("id") as u16, name, kind, case.take(if mixed { 256 } else { 0 }))
}

/// The first datagram from the server that answers the query; `Foreign` if too many do not match. The system picks a
/// random port for each query.
fn by_udp(server: SocketAddr, question: &Question) -> io::Result<Reply> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    // Only datagrams from this server are received, and a closed port is reported at once.
    socket.connect(server)?;
    socket.send(&question.query())?;
    let until = Instant::now() + PATIENCE;
    let mut bytes = vec![0; LONGEST];
    for _ in 0..MOST_FOREIGN {
        let length = loop {
            socket.set_read_timeout(Some(left(until)?))?;
            match socket.recv(&mut bytes) {
                Ok(length) => break length,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        };
        match question.read(&bytes[..length]) {
            Reply::Foreign => {}
            reply => return Ok(reply),
        }
    }
    Ok(Reply::Foreign)
}

/// The server's response over TCP, which cannot be spoofed blindly.
fn by_tcp(server: SocketAddr, question: &Question) -> io::Result<Answer> {
    let until = Instant::now() + PATIENCE;
    let mut stream = TcpStream::connect_timeout(&server, left(until)?)?;
    stream.set_write_timeout(Some(left(until)?))?;
    let query = question.query();
    let length = u16::try_from(query.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes()[..], &query].concat())?;
    let mut length = [0; 2];
    fill(&mut stream, &mut length, until)?;
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
    fill(&mut stream, &mut bytes, until)?;
    let odd = |what: &str| Err(io::Error::new(ErrorKind::InvalidData, what));
    match question.read(&bytes) {
        Reply::Answer(answer, _) => Ok(answer),
        Reply::Failed(why) => odd(&why),
        Reply::Truncated(_) => odd("the response is truncated even over TCP"),
        Reply::Foreign => odd("the response does not match the query"),
    }
}

/// Fills `bytes`, however slowly they arrive, but not beyond the deadline.
fn fill(stream: &mut TcpStream, mut bytes: &mut [u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(bytes) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes = &mut bytes[count..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The time left; never zero, which would mean no timeout.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}
