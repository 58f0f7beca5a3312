//! One POST over HTTP, with a deadline for the whole of it (RFC 6960 appendix A).

use hayami_h1::{Client, ClientEvent, Limits, RequestContent};
use hayami_http::{FieldSection, ResponseHead, Status};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long request and response may take, without the name lookup.
const TIME: Duration = Duration::from_secs(10);
/// The largest response accepted. Typical ones have one to three thousand bytes.
const LARGEST: usize = 64 * 1024;

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Responder<'a> {
    authority: &'a str,
    host: &'a str,
    port: u16,
    path: &'a str,
}

/// Posts a request to the responder at `url`, and returns the content of the response.
pub(super) fn post(url: &str, request: &[u8]) -> Result<Vec<u8>, String> {
    let responder = responder(url).ok_or("its URL is not of the form http://HOST[:PORT]/PATH")?;
    let deadline = Instant::now() + TIME;
    let mut stream = connect(&responder, deadline)?;
    let mut client = Client::new();
    stream.write_all(&head_and_content(&mut client, &responder, request)).map_err(|e| e.to_string())?;
    answer(&mut client, &mut stream, deadline)
}

fn responder(url: &str) -> Option<Responder<'_>> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let is_clean = url.bytes().all(|byte| byte.is_ascii_graphic()) && !authority.contains('@');
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (is_clean && !host.is_empty()).then_some(Responder { authority, host, port, path })
}

fn connect(responder: &Responder<'_>, deadline: Instant) -> Result<TcpStream, String> {
    let addresses = (responder.host, responder.port).to_socket_addrs().map_err(|e| e.to_string())?;
    let mut error = "it has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(stream) => {
                stream.set_write_timeout(Some(left(deadline)?)).map_err(|e| e.to_string())?;
                return Ok(stream);
            }
            Err(e) => error = e.to_string(),
        }
    }
    Err(error)
}

fn head_and_content(client: &mut Client, responder: &Responder<'_>, request: &[u8]) -> Vec<u8> {
    let mut fields = FieldSection::default();
    fields.append(b"host", responder.authority.as_bytes());
    fields.append(b"content-type", b"application/ocsp-request");
    fields.append(b"accept", b"application/ocsp-response");
    let (mut out, content) = (Vec::new(), RequestContent::Length(request.len() as u64));
    let sent = client.send_last_head(b"POST", responder.path.as_bytes(), &fields, content, &mut out);
    debug_assert!(sent.is_ok(), "the first request of a connection");
    client.send_content(request, &mut out);
    out
}

fn answer(client: &mut Client, stream: &mut TcpStream, deadline: Instant) -> Result<Vec<u8>, String> {
    let limits = Limits { content: LARGEST as u64, ..Limits::default() };
    let (mut input, mut content) = (Vec::<u8>::new(), Vec::new());
    let mut head = ResponseHead::new(Status::OK);
    loop {
        let received = client.receive(&limits, &input, &mut head).map_err(|fault| format!("{fault:?}"))?;
        match received.event {
            ClientEvent::Content(range) => content.extend_from_slice(&input[range]),
            ClientEvent::End => return Ok(content),
            ClientEvent::Response(_) if head.status().code() != 200 => {
                return Err(format!("it answers with status {}", head.status().code()));
            }
            ClientEvent::More if !read(stream, &mut input, deadline)? => {
                let end = client.receive_eof().map_err(|fault| format!("{fault:?}"))?;
                return if end == ClientEvent::End {
                    Ok(content)
                } else {
                    Err("it returned an empty response".into())
                };
            }
            _ => {}
        }
        if content.len() > LARGEST {
            return Err("its response is too long".into());
        }
        input.drain(..received.consumed);
    }
}

/// Appends the next bytes; `false` at the end.
fn read(stream: &mut TcpStream, input: &mut Vec<u8>, deadline: Instant) -> Result<bool, String> {
    let mut bytes = [0; 4096];
    stream.set_read_timeout(Some(left(deadline)?)).map_err(|e| e.to_string())?;
    match stream.read(&mut bytes) {
        Ok(count) => {
            input.extend_from_slice(&bytes[..count]);
            Ok(count > 0)
        }
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Err("it doesn't answer in time".into()),
        Err(e) => Err(e.to_string()),
    }
}

fn left(deadline: Instant) -> Result<Duration, String> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err("it doesn't answer in time".into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_responders() {
        for (url, want) in [
            ("http://ocsp.example.org", Some(("ocsp.example.org", 80, "/"))),
            ("http://ocsp.example.org/a/b", Some(("ocsp.example.org", 80, "/a/b"))),
            ("http://ocsp.example.org:8080/", Some(("ocsp.example.org", 8080, "/"))),
            ("http://[::1]:8080/a:b", Some(("::1", 8080, "/a:b"))),
            ("http://[::1]/", Some(("::1", 80, "/"))),
            ("https://ocsp.example.org/", None),
            ("http://", None),
            ("http://a:b/", None),
            ("http://user@a/", None),
            ("http://a/\r\nx: y", None),
            ("ldap://a/", None),
        ] {
            let found = responder(url).map(|responder| (responder.host, responder.port, responder.path));
            assert_eq!(found, want, "{url}");
        }
    }
}
