//! Targets of the decoders: request heads and chunked content.

use hayami_h1::{Event, Fault, Limits, RequestContent, Server};
use hayami_http::{Known, RequestHead, Version};

/// A request head gives the same result whole and byte by byte; an accepted one obeys RFC 9112, and httparse
/// reads the same from it.
pub fn request_head(bytes: &[u8]) {
    for limits in [Limits::default(), crate::SMALL] {
        let whole = first_request(&limits, bytes, bytes.len().max(1));
        assert_eq!(first_request(&limits, bytes, 1), whole);
        let Ok(Some((head_end, content, lines))) = whole else { continue };
        let mut head = RequestHead::default();
        let taken = &bytes[..head_end];
        Server::new().receive(&limits, taken, &mut head).expect("the same bytes were taken before");
        check_head(&head, content);
        compare_with_httparse(taken, &head);
        assert_eq!(lines.len(), head.fields().len());
    }
}

type Lines = Vec<(Vec<u8>, Vec<u8>)>;

/// Index behind the first request head, what follows it and its lines, received `step` bytes at a time.
fn first_request(
    limits: &Limits,
    bytes: &[u8],
    step: usize,
) -> Result<Option<(usize, RequestContent, Lines)>, Fault> {
    let (mut server, mut head) = (Server::new(), RequestHead::default());
    let (mut consumed, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + step).min(bytes.len());
        let received = server.receive(limits, &bytes[consumed..end], &mut head)?;
        consumed += received.consumed;
        match received.event {
            Event::Request(content) => {
                let lines = head.fields().iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
                return Ok(Some((consumed, content, lines)));
            }
            event => assert_eq!(event, Event::More),
        }
    }
    Ok(None)
}

fn check_head(head: &RequestHead, content: RequestContent) {
    let is_tchar = |o: &u8| o.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(o);
    assert!(!head.method_name().is_empty() && head.method_name().iter().all(is_tchar));
    assert!(!head.target().is_empty() && head.target().iter().all(u8::is_ascii_graphic));
    assert!(!head.target().contains(&b'#'));
    let hosts = head.fields().get_all(Known::Host).count();
    assert!(hosts == 1 || (hosts == 0 && head.version() == Version::Http10));
    for (name, value) in head.fields().iter() {
        assert!(!name.is_empty() && name.iter().all(is_tchar));
        assert!(!value.iter().any(|o| (*o < 0x20 && *o != b'\t') || *o == 0x7f));
        assert_eq!(value, value.trim_ascii());
    }
    let lengths = head.fields().get_all(Known::ContentLength).count();
    let codings = head.fields().get_all(Known::TransferEncoding).count();
    assert!(lengths <= 1 && codings <= 1 && lengths + codings <= 1);
    assert_eq!(content == RequestContent::Chunked, codings == 1);
}

/// httparse is laxer than we are; but what we take, it must take and read the same way.
fn compare_with_httparse(taken: &[u8], head: &RequestHead) {
    let mut fields = vec![httparse::EMPTY_HEADER; head.fields().len()];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(taken) {
        Ok(status) => assert_eq!(status, httparse::Status::Complete(taken.len())),
        // It knows no minor versions above 1, which RFC 9110 §2.5 lets us take as 1.1.
        Err(httparse::Error::Version) => return,
        Err(error) => panic!("httparse refuses what we take: {error}"),
    }
    assert_eq!(parsed.method.map(str::as_bytes), Some(head.method_name()));
    assert_eq!(parsed.path.map(str::as_bytes), Some(head.target()));
    let theirs = parsed.headers.iter().map(|field| (field.name.as_bytes(), field.value));
    assert!(theirs.eq(head.fields().iter()));
}

/// Chunked content gives the same result whole and byte by byte; accepted content equals the output of a
/// plain, slow decoder.
pub fn chunked(bytes: &[u8]) {
    for limits in [Limits::default(), crate::SMALL] {
        let whole = content_of(&limits, bytes, bytes.len().max(1));
        assert_eq!(content_of(&limits, bytes, 1), whole);
        if let Ok(Some((content, consumed))) = whole {
            assert_eq!(plain_decoder(bytes), Some((content, consumed)));
        }
    }
}

const CHUNKED_HEAD: &[u8] = b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The content and the bytes it took; `None` if it is not complete.
fn content_of(limits: &Limits, bytes: &[u8], step: usize) -> Result<Option<(Vec<u8>, usize)>, Fault> {
    let (mut server, mut head) = (Server::new(), RequestHead::default());
    server.receive(limits, CHUNKED_HEAD, &mut head).expect("the head is valid");
    let (mut content, mut consumed, mut end) = (Vec::new(), 0, 0);
    while end < bytes.len() {
        end = (end + step).min(bytes.len());
        loop {
            let received = server.receive(limits, &bytes[consumed..end], &mut head)?;
            match received.event {
                Event::Content(range) => content.extend_from_slice(&bytes[consumed..end][range]),
                Event::End => return Ok(Some((content, consumed + received.consumed))),
                event => assert_eq!(event, Event::More),
            }
            consumed += received.consumed;
            if received.consumed == 0 || consumed == end {
                break;
            }
        }
    }
    Ok(None)
}

fn plain_decoder(mut rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (total, mut content) = (rest.len(), Vec::new());
    let line = |rest: &mut &[u8]| {
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        *rest = &rest[end + 2..];
        Some(line)
    };
    loop {
        let text = line(&mut rest)?;
        let digits = text.split([';', ' ', '\t']).next()?;
        let size = usize::from_str_radix(digits, 16).ok()?;
        if size == 0 {
            break;
        }
        content.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?.strip_prefix(b"\r\n")?;
    }
    while !line(&mut rest)?.is_empty() {}
    Some((content, total - rest.len()))
}
