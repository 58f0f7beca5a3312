//! A worker that sends lines to peers over raw streams, and peers that echo them.

use super::{Server, serve};
use hayami_client::{RawPool, RawStream, Tls};
use hayami_http::{Response, Status};
use hayami_net::dial::Peer;
use hayami_net::service::{Answer, Outcome, Refusal, Request, Service};
use hayami_net::upstream_io::UpstreamIo;
use std::io::{BufRead, ErrorKind, Write};
use std::rc::Rc;
use std::time::Duration;

/// Sends each path as a line to the peer and answers with the line that comes back.
pub(crate) struct Lines {
    outbound: UpstreamIo,
    pool: Rc<RawPool>,
    peer: Peer,
    tls: Option<Tls>,
    keep: Duration,
}

pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);
pub(crate) const LONG: Duration = Duration::from_secs(30);

impl Service for Lines {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        if request.head.path() == b"/idle" {
            return Outcome::Ready(text(format!("idle {}.", self.pool.idle())));
        }
        let line = [request.head.path(), b"\n"].concat();
        let (outbound, pool, peer) = (self.outbound.clone(), Rc::clone(&self.pool), self.peer.clone());
        let (keep, tls) = (self.keep, self.tls.clone());
        Outcome::Later(Box::pin(async move {
            let mut stream = match pool.take(b"lines") {
                Some(stream) => stream,
                None => match RawStream::connect(&outbound, &peer, tls.as_ref(), TIMEOUT).await {
                    Ok(stream) => stream,
                    Err(cause) => return text(format!("not connected: {cause}")),
                },
            };
            let said = say(&mut stream, &line).await;
            let reused = stream.reused();
            if said.is_ok() {
                pool.give(b"lines", stream, keep);
            }
            text(format!("{said:?} reused {reused}"))
        }))
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        text(refusal.to_string())
    }

    fn server_name(&self) -> Option<&[u8]> {
        None
    }
}

fn text(text: String) -> Answer {
    Answer::from(Response::text(Status::OK, text))
}

/// Returns the echoed line, read byte by byte, so that what follows it stays in the stream.
async fn say(stream: &mut RawStream, line: &[u8]) -> Result<String, ErrorKind> {
    stream.write_all(line).await.map_err(|error| error.kind())?;
    let mut all = Vec::new();
    while !all.ends_with(b"\n") {
        if stream.read(1, &mut all).await.map_err(|error| error.kind())? == 0 {
            return Ok(format!("{} and its end", String::from_utf8_lossy(&all).trim()));
        }
    }
    Ok(String::from_utf8_lossy(&all).trim().to_owned())
}

/// A worker that sends lines to this peer.
pub(crate) fn lines(peer: Peer, tls: Option<Tls>, most: usize, keep: Duration) -> Server {
    serve(move |outbound| {
        let pool = RawPool::new(outbound, most);
        Lines { outbound: outbound.clone(), pool, peer, tls, keep }
    })
}

/// Echoes every line except `/silence`; after `/two` it sends another one, and `/end` is the last.
pub(crate) fn echo(mut stream: impl Write, lines: impl BufRead) {
    for line in lines.lines().map_while(Result::ok) {
        let more = if line == "/two" { "unasked\n" } else { "" };
        if line != "/silence" && write!(stream, "{line}\n{more}").is_err() || line == "/end" {
            return;
        }
    }
}
