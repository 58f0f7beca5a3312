//! The first bytes of a connection, and the parts of a ClientHello that are needed before the handshake
//! begins.
//!
//! rustls reads and validates the message again; a damaged one yields nothing here.

use std::borrow::Cow;

/// The kind of the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The beginning of a handshake message.
    Incomplete,
    /// A whole handshake message, or something that never becomes one.
    Handshake,
    /// A request of HTTP.
    PlainHttp,
    /// A handshake message in an unreasonable number of small records.
    TooLong,
    /// Neither.
    NotTls,
}

/// The content type of handshake messages (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// The longest ClientHello that is collected here; with post-quantum key shares they have 2 KB. Longer ones
/// are left to rustls.
const LONGEST: usize = 16 * 1024;

/// Bytes of records that are taken for a ClientHello. One of 2 KB may come in records of a single byte, as
/// censorship circumvention tools send it.
const MOST: usize = 2 * LONGEST;

/// The progress of scanning the first message: no byte is scanned twice, in however many pieces it arrives.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Where the first record begins that was not whole.
    at: usize,
    /// Bytes of the message in the earlier records, and its first four.
    len: usize,
    head: [u8; 4],
}

impl Scan {
    /// Judges the bytes of a connection that sent nothing else: those of the call before, and more.
    pub(crate) fn judge(&mut self, bytes: &[u8]) -> First {
        match bytes {
            [] => First::Incomplete,
            // Methods are tokens in upper case in practice (RFC 9110 §9.1), also that of HTTP/2's preface.
            [b'A'..=b'Z', ..] => First::PlainHttp,
            // Alerts and other misplaced records are left to rustls.
            [20..=24, ..] => self.advance(bytes),
            _ => First::NotTls,
        }
    }

    fn advance(&mut self, bytes: &[u8]) -> First {
        let mut rest = Fragments(bytes.get(self.at..).unwrap_or_default());
        while !is_whole(self.head, self.len) {
            let fragment = if self.at > MOST { Fragment::Incomplete } else { rest.next() };
            match fragment {
                Fragment::Incomplete if bytes.len() > MOST => return First::TooLong,
                Fragment::Incomplete => return First::Incomplete,
                Fragment::Other => return First::Handshake,
                Fragment::Of(part) => self.take(part),
            }
            self.at = bytes.len() - rest.0.len();
        }
        First::Handshake
    }

    fn take(&mut self, part: &[u8]) {
        if let Some(head) = self.head.get_mut(self.len..) {
            let known = head.len().min(part.len());
            head[..known].copy_from_slice(&part[..known]);
        }
        self.len += part.len();
    }
}

/// The handshake message at the front of `bytes`, which [`Scan::judge`] found to be whole.
pub(crate) fn message(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut fragments = Fragments(bytes);
    let mut held = Vec::new();
    loop {
        match fragments.next() {
            Fragment::Of(part) if held.is_empty() && is_whole_message(part) => {
                return Some(Cow::Borrowed(part));
            }
            Fragment::Of(part) => held.extend_from_slice(part),
            Fragment::Incomplete | Fragment::Other => return None,
        }
        if is_whole_message(&held) {
            return Some(Cow::Owned(held));
        }
    }
}

/// Whether a message that begins with `head` and has `len` bytes so far is complete, or too long to wait for.
fn is_whole(head: [u8; 4], len: usize) -> bool {
    len >= 4 && len - 4 >= announced(head).min(LONGEST)
}

/// The length of a message's content.
fn announced([_, a, b, c]: [u8; 4]) -> usize {
    usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c)
}

/// Whether a message is complete, or too long to wait for.
fn is_whole_message(message: &[u8]) -> bool {
    message.first_chunk().is_some_and(|head| is_whole(*head, message.len()))
}

/// The content of handshake records, one after the other.
struct Fragments<'a>(&'a [u8]);

enum Fragment<'a> {
    Of(&'a [u8]),
    Incomplete,
    /// A record of another type, or an illegal one (RFC 8446 §5.1).
    Other,
}

impl<'a> Fragments<'a> {
    fn next(&mut self) -> Fragment<'a> {
        match *self.0 {
            [kind, ..] if kind != HANDSHAKE => Fragment::Other,
            [_, version, ..] if version != 3 => Fragment::Other,
            [_, _, _, high, low, ref rest @ ..] => {
                let len = usize::from(high) << 8 | usize::from(low);
                // "Zero-length fragments of Handshake types" are forbidden (RFC 8446 §5.1).
                if len == 0 || len > 16 * 1024 {
                    return Fragment::Other;
                }
                let Some(part) = rest.get(..len) else { return Fragment::Incomplete };
                self.0 = &rest[len..];
                Fragment::Of(part)
            }
            _ => Fragment::Incomplete,
        }
    }
}

/// The fields read from a ClientHello (RFC 8446 §4.1.2).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hello<'a> {
    name: Option<&'a [u8]>,
    pub(crate) session_id: &'a [u8],
    /// It prefers a raw public key to a certificate (RFC 7250 §4.1).
    prefers_raw_public_key: bool,
    /// It offers TLS 1.3.
    pub(crate) is_tls13: bool,
    /// It carries a TLS 1.2 ticket: its session ID is arbitrary (RFC 5077 §3.4).
    pub(crate) has_ticket: bool,
    /// The identity of the first pre-shared key: a ticket.
    pub(crate) first_identity: Option<&'a [u8]>,
}

impl<'a> Hello<'a> {
    /// Reads a handshake message; `None` if it's malformed or not a ClientHello.
    pub(crate) fn read(message: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(message);
        if fields.number(1)? != usize::from(CLIENT_HELLO) {
            return None;
        }
        let mut fields = Fields(fields.vector(3)?);
        fields.take(2 + 32)?; // legacy_version, random
        let mut hello = Self { session_id: fields.vector(1)?, ..Self::default() };
        fields.vector(2)?; // cipher_suites
        fields.vector(1)?; // legacy_compression_methods
        if fields.0.is_empty() {
            return Some(hello);
        }
        let mut extensions = Fields(fields.vector(2)?);
        while !extensions.0.is_empty() {
            let (kind, content) = (extensions.number(2)?, extensions.vector(2)?);
            hello.note(kind, content);
        }
        Some(hello)
    }

    /// The name in lower case, if there is a valid one.
    pub(crate) fn server_name(&self) -> Option<Box<str>> {
        std::str::from_utf8(self.name?).ok().map(|name| name.to_ascii_lowercase().into())
    }

    /// Whether a raw public key is to be presented, if there is one. In TLS 1.2 their messages have another form
    /// (RFC 7250 §3), which rustls doesn't support.
    pub(crate) fn wants_raw_public_key(&self) -> bool {
        self.is_tls13 && self.prefers_raw_public_key
    }

    fn note(&mut self, kind: usize, content: &'a [u8]) {
        let mut fields = Fields(content);
        match kind {
            // server_name (RFC 6066 §3): a list, whose entries of type 0 are names.
            0 => {
                let list = fields.vector(2).unwrap_or_default();
                let mut list = Fields(list);
                if list.number(1) == Some(0) {
                    self.name = list.vector(2);
                }
            }
            // server_certificate_type (RFC 7250 §3): X.509 is 0, a raw public key 2, in order of preference.
            20 => {
                let types = fields.vector(1).unwrap_or_default();
                let first = types.iter().find(|kind| matches!(kind, 0 | 2));
                self.prefers_raw_public_key = first == Some(&2);
            }
            // session_ticket (RFC 5077 §3.2): empty if the client requests one.
            35 => self.has_ticket = !content.is_empty(),
            // supported_versions (RFC 8446 §4.2.1)
            43 => self.is_tls13 = fields.vector(1).is_some_and(|all| all.chunks(2).any(|one| one == [3, 4])),
            // pre_shared_key (§4.2.11): identities with their ages, then binders.
            41 => self.first_identity = fields.vector(2).and_then(|identities| Fields(identities).vector(2)),
            _ => {}
        }
    }
}

/// Numbers and vectors (RFC 8446 §3) from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// A vector after its length of `bytes` bytes.
    fn vector(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let len = self.number(bytes)?;
        self.take(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_tls_from_http() {
        for (bytes, what) in [
            (&b""[..], First::Incomplete),
            (b"GET / HTTP/1.1\r\n", First::PlainHttp),
            (b"P", First::PlainHttp),
            (b"\x16", First::Incomplete),
            (b"\x16\x03\x01\x00\x05\x01\x00\x00\x01", First::Incomplete),
            (b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", First::Handshake),
            (b"\x16\x03\x01\x00\x04\x01\x00\x00\x01\x16\x03\x01\x00\x01\x00", First::Handshake),
            (b"\x16\x03\x01\x00\x04\x01\x00\x00\x01\x17\x03\x01\x00\x01\x00", First::Handshake),
            (b"\x16\x02", First::Handshake),
            (b"\x16\x03\x01\x00\x00", First::Handshake),
            (b"\x16\x03\x01\xff\xff", First::Handshake),
            (b"\x15\x03\x01\x00\x02\x02\x28", First::Handshake),
            (b"\x80\x2e\x01", First::NotTls),
            (b"get /", First::NotTls),
        ] {
            assert_eq!(Scan::default().judge(bytes), what, "{bytes:?} whole");
            let mut scan = Scan::default();
            let judged = (0..=bytes.len()).map(|end| scan.judge(&bytes[..end]));
            let end = judged.skip(1).find(|what| *what != First::Incomplete).unwrap_or(First::Incomplete);
            assert_eq!(end, what, "{bytes:?} byte by byte");
        }
    }

    #[test]
    fn no_record_is_looked_at_twice() {
        let records = |len: u32| {
            (0..len).map(|at| [22, 3, 1, 0, 1, if at < 4 { [1, 0, 0x14, 0][at as usize] } else { 7 }])
        };
        let wire = records(4 + 0x1400).flatten().collect::<Vec<_>>();
        let (mut scan, mut seen) = (Scan::default(), Vec::new());
        for byte in &wire {
            assert_eq!(scan.judge(&seen), First::Incomplete);
            seen.push(*byte);
            // The bytes already scanned may be anything now, except for the very first.
            let whole = (seen.len() - 1) / 6 * 6;
            seen[1.min(whole)..whole].fill(0xff);
        }
        assert_eq!(
            [scan.judge(&seen), scan.judge(&seen)],
            [First::Handshake; 2],
            "asked again after a lookup"
        );
        assert_eq!(scan.at, wire.len());
    }

    #[test]
    fn a_hello_in_tiny_records_has_an_end() {
        let wire: Vec<u8> = [22, 3, 1, 0, 1, 1].repeat(MOST / 6 + 2);
        let mut scan = Scan::default();
        let end = (0..wire.len()).find(|end| scan.judge(&wire[..*end]) != First::Incomplete);
        assert_eq!(end, Some(MOST + 1));
        assert_eq!(scan.judge(&wire[..MOST + 1]), First::TooLong);
        // In records of the greatest size, one is never too long: rustls judges it.
        let large = [&[22, 3, 1, 0x40, 0][..], &[1; 16 * 1024]].concat();
        assert_eq!(Scan::default().judge(&large), First::Incomplete);
        assert_eq!(Scan::default().judge(&large.repeat(2)), First::Handshake);
    }

    #[test]
    fn a_message_in_pieces_is_put_together() {
        let bytes = b"\x16\x03\x01\x00\x04\x01\x00\x00\x02\x16\x03\x01\x00\x02\xaa\xbb\x16";
        assert_eq!(message(bytes).as_deref(), Some(&b"\x01\x00\x00\x02\xaa\xbb"[..]));
    }

    #[test]
    fn a_hello_that_is_cut_off_says_nothing() {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([2, 0xaa, 0xbb]); // session id
        body.extend([0, 2, 0x13, 1, 1, 0]); // suites, compression
        let extensions = [
            &[0, 0, 0, 8, 0, 6, 0, 0, 3, b'a', b'.', b'B'][..],
            &[0, 35, 0, 1, 0x99],
            &[0, 43, 0, 5, 4, 3, 4, 3, 3],
            &[0, 41, 0, 9, 0, 7, 0, 1, 0x77, 0, 0, 0, 0],
        ]
        .concat();
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(&extensions);
        let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
        let hello = Hello::read(&message).expect("a hello");
        assert_eq!(hello.server_name().as_deref(), Some("a.b"));
        assert_eq!((hello.session_id, hello.is_tls13, hello.has_ticket), (&[0xaa, 0xbb][..], true, true));
        assert_eq!(hello.first_identity, Some(&[0x77][..]));
        for len in 0..message.len() {
            assert_eq!(Hello::read(&message[..len]), None, "{len} bytes");
        }
    }
}
