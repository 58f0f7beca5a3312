//! The target of what a peer sends once a TLS handshake is over, in both roles.

use crate::Decisions;
use crate::tls::{ACCEPTOR, CONNECTOR};
use hayami_tls::fuzzing::Unruly;
use hayami_tls::{ClientSession, Fault, Progress, Session};

/// Bytes that one end sends besides content: an alert, a key update and tickets.
const MOST_SAID: usize = 2_048;
/// Records without content in a row that are taken.
const MOST_IDLE: usize = 32;
const APPLICATION_DATA: u8 = 23;

/// One end, whichever role it is in.
trait End: Unruly {
    fn receive(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault>;
    fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>);
    fn close(&mut self, out: &mut Vec<u8>);
}

macro_rules! ends {
    ($($session:ty)*) => {$(
        impl End for $session {
            fn receive(
                &mut self,
                input: &mut Vec<u8>,
                plain: &mut Vec<u8>,
                out: &mut Vec<u8>,
            ) -> Result<Progress, Fault> {
                <$session>::receive(self, input, plain, out)
            }

            fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
                <$session>::seal(self, plain, out);
            }

            fn close(&mut self, out: &mut Vec<u8>) {
                <$session>::close(self, out);
            }
        }
    )*};
}

ends!(Session ClientSession);

/// An end with what it has received.
struct Side {
    end: Box<dyn End>,
    input: Vec<u8>,
    plain: Vec<u8>,
    /// Records that have not been delivered.
    out: Vec<u8>,
    /// Content that it has put into records.
    sealed: Vec<u8>,
    /// Records in a row that brought no content.
    idle: usize,
    /// It has said goodbye.
    is_closed: bool,
    /// The other end has.
    has_heard_goodbye: bool,
    is_over: bool,
}

impl Side {
    fn new(end: Box<dyn End>) -> Self {
        let (input, plain, out, sealed) = Default::default();
        let (is_closed, has_heard_goodbye, is_over) = Default::default();
        Self { end, input, plain, out, sealed, idle: 0, is_closed, has_heard_goodbye, is_over }
    }

    /// Takes bytes of the other end, whole or one at a time. A session that is over stays over.
    fn receive(&mut self, bytes: &[u8], by_byte: bool) {
        for piece in bytes.chunks(if by_byte { 1 } else { bytes.len().max(1) }) {
            self.input.extend_from_slice(piece);
            match self.end.receive(&mut self.input, &mut self.plain, &mut self.out) {
                Ok(progress) => {
                    assert!(!self.is_over, "a session that is over goes on: {progress:?}");
                    self.has_heard_goodbye |= matches!(progress, Progress::PeerClosed);
                }
                Err(_) => self.is_over = true,
            }
        }
    }

    fn seal(&mut self, content: &[u8]) {
        self.end.seal(content, &mut self.out);
        self.note(content);
    }

    fn note(&mut self, content: &[u8]) {
        if !self.is_closed && !self.is_over {
            self.sealed.extend_from_slice(content);
            self.idle = if content.is_empty() { self.idle + 1 } else { 0 };
        }
    }

    fn close(&mut self) {
        self.end.close(&mut self.out);
        self.is_closed = true;
    }
}

/// Two ends with a finished handshake between them: the one that keeps the rules, then the other.
fn joined(attacker_is_server: bool, old: bool) -> (Side, Side) {
    let name = if old { "tls12.old" } else { "localhost" };
    let (mut server, mut client) =
        (Session::new(&ACCEPTOR), ClientSession::new(&CONNECTOR, name).expect("a name"));
    let (mut to_server, mut to_client, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    client.start(&mut to_server);
    while !to_server.is_empty() || !to_client.is_empty() {
        let mut out = Vec::new();
        server.receive(&mut to_server, &mut plain, &mut to_client).expect("a client's handshake");
        client.receive(&mut to_client, &mut plain, &mut out).expect("a server's handshake");
        to_server.append(&mut out);
    }
    assert!(server.info().is_some() && client.info().is_some() && plain.is_empty());
    match attacker_is_server {
        true => (Side::new(Box::new(client)), Side::new(Box::new(server))),
        false => (Side::new(Box::new(server)), Side::new(Box::new(client))),
    }
}

/// Whatever records a peer seals with the right keys, content comes out as it went in and in no other order; nothing
/// comes out of records that were changed on the way; a session that is over stays over; a peer that is not sent content
/// costs no memory for answers; and an end that keeps the rules is understood by the other.
pub fn tls_records(bytes: &[u8]) {
    let Some((first, program)) = bytes.split_first() else { return };
    let (mut honest, mut attacker) = joined(first & 1 != 0, first & 2 != 0);
    let (by_byte, mut is_changed) = (first & 4 != 0, false);
    let mut program = Decisions::of(program);
    while !program.is_empty() && !honest.is_over {
        match program.next() % 8 {
            0 => attacker.seal(program.piece()),
            1 => {
                // Behind content, type 0 is padding, and another byte would be the type (RFC 8446 §5.2).
                let (kind, content) = (program.next().max(1), program.piece());
                attacker.end.seal_as(kind, content, &mut attacker.out);
                attacker.note(if kind == APPLICATION_DATA { content } else { b"" });
                is_changed |= kind != APPLICATION_DATA;
            }
            2 => {
                attacker.end.change_key(program.next() & 1 != 0, &mut attacker.out);
                attacker.note(b"");
            }
            3 => honest.seal(&vec![b'h'; usize::from(program.next()) * 64]),
            4 => {
                let (at, with) = (usize::from(program.next()), program.next());
                if let Some(byte) = attacker.out.get_mut(at) {
                    *byte ^= with;
                    is_changed |= with != 0;
                }
            }
            5 => {
                attacker.out.extend_from_slice(program.piece());
                is_changed = true;
            }
            6 => honest.close(),
            _ => deliver(&mut honest, &mut attacker, by_byte, is_changed),
        }
        is_changed |= attacker.idle > MOST_IDLE;
    }
    deliver(&mut honest, &mut attacker, by_byte, is_changed);
}

/// Carries what both have said, and compares what came out with what went in.
fn deliver(honest: &mut Side, attacker: &mut Side, by_byte: bool, is_changed: bool) {
    let (said, before) = (std::mem::take(&mut attacker.out), honest.out.len());
    honest.receive(&said, by_byte);
    assert!(honest.out.len() - before <= MOST_SAID, "{} bytes of answers", honest.out.len() - before);
    assert!(attacker.sealed.starts_with(&honest.plain), "something else came out than went in");
    if !is_changed {
        assert!(!honest.is_over && honest.plain == attacker.sealed, "content that keeps the rules is lost");
    }
    let said = std::mem::take(&mut honest.out);
    let was_over = attacker.is_over;
    attacker.receive(&said, false);
    assert!(was_over || attacker.plain == honest.sealed, "what we say is not understood");
}
