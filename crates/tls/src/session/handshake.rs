//! The handshake: all code that uses rustls' state machine.
//!
//! rustls 0.24 replaces the unbuffered interface used here by another; only this file has to change then.

use super::open::Open;
use super::records::{HEADER, TAG, whole};
use super::role::RustlsRole;
use crate::{Fault, Info};
use rustls::Error;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError, WriteTraffic};

/// Maximum bytes of records that hold an incomplete message. rustls accepts messages of 64 KiB; unless
/// records are tiny, their records are little more.
const MOST_HELD: usize = 128 * 1024;

pub struct Handshake<S: RustlsRole> {
    connection: S::Connection,
    /// Incomplete input. It stays here, since rustls keeps offsets into it.
    rest: Vec<u8>,
    server_name: Option<Box<str>>,
    /// Set once data may be sent, which early data allows before the handshake ends.
    info: Option<Box<Info>>,
    /// The last `receive` delivered early data.
    has_early_data: bool,
    peer_closed: bool,
    closed: bool,
}

/// The progress of a handshake.
pub(crate) enum Step {
    /// It needs more bytes.
    Blocked,
    /// Answers to early data may go out.
    MayAnswer { first: bool },
    /// The handshake is complete.
    Done { first: bool },
}

/// What remains to do after a step of rustls' state machine.
enum Left {
    More,
    Blocked,
    Writable,
}

impl<S: RustlsRole> Handshake<S> {
    /// `server_name`: the name in the ClientHello, which rustls doesn't expose in this interface.
    pub(crate) fn new(connection: S::Connection, server_name: Option<Box<str>>) -> Self {
        Self {
            connection,
            rest: Vec::new(),
            server_name,
            info: None,
            has_early_data: false,
            peer_closed: false,
            closed: false,
        }
    }

    /// Takes whole records from `input`, until there is none or the handshake is complete. One at a time:
    /// input after a client's last one is for this crate's record layer, since rustls would start on a
    /// partial ticket.
    pub(crate) fn receive(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Step, Fault> {
        self.has_early_data = false;
        let mut taken = 0;
        let step = self.take_records(input, &mut taken, plain, out);
        input.drain(..taken);
        step
    }

    fn take_records(
        &mut self,
        input: &[u8],
        taken: &mut usize,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Step, Fault> {
        let (mut may_answer, mut began) = (false, false);
        loop {
            let left = &input[*taken..];
            let len = match whole(left) {
                Ok(len) => len.unwrap_or(0),
                Err(_) => left.len(), // rustls has the alert for it
            };
            let is_alone = self.rest.is_empty();
            self.rest.extend_from_slice(&left[..len]);
            *taken += len;
            match self.advance(plain, out)? {
                Step::Done { first } => return Ok(Step::Done { first: first || began }),
                Step::MayAnswer { first } => (may_answer, began) = (true, first || began),
                // rustls skips refused early data (RFC 8446 §4.2.10), but leaves it in front of the following
                // input, and counts it against its limit each time it sees it.
                Step::Blocked if is_alone && self.rest.len() == len && is_wiped(&self.rest) => {
                    self.rest.clear()
                }
                Step::Blocked if self.rest.len() > MOST_HELD => return Err(Fault::TooManyIdleRecords),
                Step::Blocked => {}
            }
            if len == 0 || *taken == input.len() {
                return Ok(if may_answer { Step::MayAnswer { first: began } } else { Step::Blocked });
            }
        }
    }

    fn advance(&mut self, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<Step, Fault> {
        loop {
            match self.step(plain, out) {
                Ok(Left::More) => {}
                Ok(Left::Blocked) => return Ok(Step::Blocked),
                Ok(Left::Writable) => return self.writable(),
                Err(error) => {
                    self.flush_alert(out);
                    return Err(fault::<S>(error));
                }
            }
        }
    }

    fn step(&mut self, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<Left, Error> {
        let status = S::process(&mut self.connection, &mut self.rest);
        let mut discard = status.discard;
        let state = match status.state {
            Ok(state) => state,
            Err(error) => {
                self.rest.drain(..discard);
                return Err(error);
            }
        };
        let left = match state {
            ConnectionState::EncodeTlsData(message) => {
                encode(message, out)?;
                Left::More
            }
            ConnectionState::TransmitTlsData(flight) => {
                flight.done();
                Left::More
            }
            ConnectionState::ReadEarlyData(early) => {
                self.has_early_data = true;
                discard += S::read_early(early, plain)?;
                Left::More
            }
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let record = record?;
                    discard += record.discard;
                    plain.extend_from_slice(record.payload);
                }
                Left::More
            }
            ConnectionState::PeerClosed => {
                self.peer_closed = true;
                Left::More
            }
            ConnectionState::WriteTraffic(_) => Left::Writable,
            _ => Left::Blocked, // BlockedHandshake; Closed, which needs a close_notify from this side
        };
        self.rest.drain(..discard);
        Ok(left)
    }

    fn writable(&mut self) -> Result<Step, Fault> {
        // Without early data there is nothing to answer, and the peer isn't authenticated yet.
        if self.connection.is_handshaking() && !self.has_early_data && self.info.is_none() {
            return Ok(Step::Blocked);
        }
        let first = self.info.is_none();
        if first {
            let name = self.server_name.take();
            let info = Info::of(&self.connection, name, S::ROLE).ok_or_else(unfinished)?;
            self.info = Some(Box::new(info));
        }
        Ok(match self.connection.is_handshaking() {
            true => Step::MayAnswer { first },
            false => Step::Done { first },
        })
    }

    /// The finished handshake's keys; `input` gets the bytes after the last handshake message.
    pub(super) fn into_open(mut self, input: &mut Vec<u8>) -> Result<Open<S>, Fault> {
        if !self.rest.is_empty() {
            self.rest.append(input);
            *input = self.rest;
        }
        let info = self.info.ok_or_else(unfinished)?;
        let kernel = S::into_kernel(self.connection);
        let (secrets, updates) = kernel.map_err(|error| Fault::Handshake(error.to_string()))?;
        let mut open = Open::new(info, secrets, updates)?;
        open.is_early = self.has_early_data;
        open.peer_closed = self.peer_closed;
        open.closed = self.closed;
        Ok(open)
    }

    pub(super) fn info(&self) -> Option<&Info> {
        self.info.as_deref()
    }

    pub(super) fn is_early(&self) -> bool {
        self.has_early_data
    }

    /// Answers to early data, before the handshake's end.
    pub(super) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        if !self.closed {
            self.write(out, |traffic, room| traffic.encrypt(plain, room));
        }
    }

    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.closed, true) {
            self.write(out, |traffic, room| traffic.queue_close_notify(room));
        }
    }

    /// Lets `write` append to `out`, if anything may be written yet.
    fn write(
        &mut self,
        out: &mut Vec<u8>,
        mut write: impl FnMut(&mut WriteTraffic<'_, S>, &mut [u8]) -> Result<usize, EncryptError>,
    ) {
        let status = S::process(&mut self.connection, &mut self.rest);
        // `receive` has read everything: there is nothing to discard.
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else { return };
        let start = out.len();
        let mut written = write(&mut traffic, &mut []);
        if let Err(EncryptError::InsufficientSize(error)) = written {
            out.resize(start + error.required_size, 0);
            written = write(&mut traffic, &mut out[start..]);
        }
        out.truncate(start + written.unwrap_or(0));
    }

    /// The alert that rustls has ready after an error.
    fn flush_alert(&mut self, out: &mut Vec<u8>) {
        // Only while there is something to send: otherwise rustls would continue reading in a broken state.
        while self.connection.wants_write()
            && let Ok(ConnectionState::EncodeTlsData(message)) =
                S::process(&mut self.connection, &mut []).state
        {
            if encode(message, out).is_err() {
                return;
            }
        }
    }
}

/// Whether a record that rustls left where it was could not be decrypted: its content is zeros then. An
/// incomplete handshake message isn't mistaken for one: decrypted, its type follows it, and in cleartext four
/// zeros are a complete message.
fn is_wiped(record: &[u8]) -> bool {
    const WHOLE_MESSAGE: usize = 4;
    let end = record.len().saturating_sub(TAG);
    let content = record.get(HEADER..end).unwrap_or_default();
    content.len() >= WHOLE_MESSAGE && content.iter().all(|byte| *byte == 0)
}

fn unfinished() -> Fault {
    Fault::Handshake("it ended without a cipher suite".to_owned())
}

/// Appends a message that is ready to be sent.
fn encode<S>(mut message: EncodeTlsData<'_, S>, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let Err(EncodeError::InsufficientSize(error)) = message.encode(&mut []) else { return Ok(()) };
    out.resize(start + error.required_size, 0);
    message.encode(&mut out[start..]).map(|_| ()).map_err(|error| Error::General(error.to_string()))
}

#[cold]
fn fault<S: RustlsRole>(error: Error) -> Fault {
    match error {
        Error::AlertReceived(alert) => Fault::Alert(alert.into()),
        error => Fault::Handshake(S::describe(&error)),
    }
}
