//! A session after its handshake: application data, alerts, and key updates.

use super::Progress;
use super::gather::Gather;
use super::records::{ALERT, APPLICATION_DATA, HANDSHAKE, Protection, whole};
use super::role::{Role, RustlsRole};
use crate::{Fault, Info, Version};
use rustls::ExtractedSecrets;
use rustls::kernel::KernelConnection;
use std::ops::Range;

/// How many records without content (empty ones, key updates, warnings) a peer may send in a row: each costs
/// as much as one with content. The number is BoringSSL's.
const MOST_IDLE: u8 = 32;
/// A key that protected fewer records than this was changed too soon: deriving the next one costs as much as
/// opening some 60 small records.
const HASTY: u64 = 64;
/// How many keys a peer may change too soon during a connection. Peers that change keys by the clock, however
/// much they sent, take hours to get there.
const MOST_HASTY: u16 = 1024;
/// The keys are changed after this many records (RFC 8446 §5.5: 2^24.5 for AES-GCM). TLS 1.2 has no such
/// message, and RFC 5288 no such limit.
const RECORDS_A_KEY: u64 = 1 << 24;

/// The maximum length of a NewSessionTicket (RFC 8446 §4.6.1): times, nonce, ticket and extensions.
const LONGEST_TICKET: usize = 4 + 4 + 1 + 255 + 2 + 65_535 + 2 + 65_534;

const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;
/// KeyUpdate, without update_requested (RFC 8446 §4.6.3).
const PLAIN_KEY_UPDATE: [u8; 5] = [KEY_UPDATE, 0, 0, 1, 0];
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
const WARNING: u8 = 1;
/// The answer to a request for renegotiation (RFC 5246 §7.2.2).
const NO_RENEGOTIATION: [u8; 2] = [WARNING, 100];

pub(crate) struct Open<S: RustlsRole> {
    read: Protection,
    write: Protection,
    /// Makes the next keys; TLS 1.3 only.
    updates: Option<KernelConnection<S>>,
    pub(super) info: Box<Info>,
    /// The beginning of an incomplete message.
    message: Vec<u8>,
    idle_records: u8,
    hasty_keys: u16,
    /// The peer requested a KeyUpdate, which precedes the next application data. However often it requests one until
    /// then, one is enough (RFC 8446 §4.6.3): a peer that requests and does not read uses no memory.
    owes_key_update: bool,
    /// Renegotiation was refused, and no application data was sent since.
    refused_renegotiation: bool,
    /// The data of the last `receive` may be early data.
    pub(super) is_early: bool,
    pub(super) peer_closed: bool,
    pub(super) closed: bool,
}

impl<S: RustlsRole> Open<S> {
    pub(super) fn new(
        info: Box<Info>,
        secrets: ExtractedSecrets,
        updates: KernelConnection<S>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            read: Protection::new(info.version, secrets.rx)?,
            write: Protection::new(info.version, secrets.tx)?,
            updates: (info.version == Version::Tls13).then_some(updates),
            info,
            message: Vec::new(),
            idle_records: 0,
            hasty_keys: 0,
            owes_key_update: false,
            refused_renegotiation: false,
            is_early: false,
            peer_closed: false,
            closed: false,
        })
    }

    /// Reads every whole record in `input`.
    pub(super) fn receive(
        &mut self,
        input: &mut Vec<u8>,
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        let mut read = 0;
        let fault = loop {
            if self.peer_closed {
                input.clear(); // "Any data received after a closure alert MUST be ignored" (RFC 8446 §6.1)
                return Ok(Progress::PeerClosed);
            }
            let rest = &mut input[read..];
            let len = match whole(rest) {
                Ok(Some(len)) => len,
                Ok(None) => break None,
                Err(fault) => break Some(fault),
            };
            if let Err(fault) = self.receive_record(&mut rest[..len], plain, out) {
                break Some(fault);
            }
            read += len;
        };
        input.drain(..read);
        match fault {
            None => Ok(Progress::Open),
            Some(fault) => {
                self.send_alert_for(&fault, out);
                Err(fault)
            }
        }
    }

    #[inline]
    fn receive_record(
        &mut self,
        record: &mut [u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let (kind, content) = self.read.open(record)?;
        if kind == APPLICATION_DATA && !content.is_empty() && self.message.is_empty() {
            self.idle_records = 0;
            plain.extend_from_slice(&record[content]);
            return Ok(());
        }
        self.receive_other(kind, record, content, out)
    }

    #[cold]
    fn receive_other(
        &mut self,
        kind: u8,
        record: &[u8],
        content: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.idle_records += 1;
        if self.idle_records > MOST_IDLE {
            return Err(Fault::TooManyIdleRecords);
        }
        match (kind, &record[content]) {
            // "If a handshake message is split over two or more records, there MUST NOT be any other records between
            // them" (RFC 8446 §5.1).
            (APPLICATION_DATA, _) if !self.message.is_empty() => Err(Fault::Unexpected),
            (APPLICATION_DATA, _) => Ok(()),
            (ALERT, [level, description]) => self.receive_alert(*level, *description),
            (ALERT, _) => Err(Fault::Malformed),
            (HANDSHAKE, message) => self.receive_handshake(message, out),
            _ => Err(Fault::Unexpected),
        }
    }

    /// RFC 8446 §6, RFC 5246 §7.2.
    fn receive_alert(&mut self, level: u8, description: u8) -> Result<(), Fault> {
        match (self.info.version, level, description) {
            (_, _, CLOSE_NOTIFY) => {
                self.peer_closed = true;
                Ok(())
            }
            // All alerts of TLS 1.3 but these two are errors, whatever level they claim (§6).
            (Version::Tls13, _, USER_CANCELED) | (Version::Tls12, WARNING, _) => Ok(()),
            _ => Err(Fault::Alert(description)),
        }
    }

    fn receive_handshake(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        match (self.info.version, content) {
            (Version::Tls13, _) if !self.message.is_empty() => self.receive_tickets(content),
            // It must be a separate record: keys change at the end of a record (RFC 8446 §5.1). No
            // implementation splits five bytes.
            (Version::Tls13, [KEY_UPDATE, 0, 0, 1, asks @ 0..=1]) => {
                self.owes_key_update |= *asks == 1;
                self.note_haste()?;
                let updates = self.updates.as_mut().ok_or(Fault::Unexpected)?;
                let secrets = updates.update_rx_secret().map_err(|_| Fault::Unexpected)?;
                self.read = Protection::new(Version::Tls13, secrets)?;
                Ok(())
            }
            (Version::Tls13, [KEY_UPDATE, 0, 0, 1, _]) => Err(Fault::IllegalParameter), // §4.6.3
            (Version::Tls13, _) if S::ROLE == Role::Client => self.receive_tickets(content),
            // A peer's request for renegotiation is refused; the connection may continue.
            (Version::Tls12, [kind, ..]) if *kind == S::RENEGOTIATION => {
                if !std::mem::replace(&mut self.refused_renegotiation, true) {
                    self.send_unless_closed(ALERT, &NO_RENEGOTIATION, out);
                }
                Ok(())
            }
            _ => Err(Fault::Unexpected),
        }
    }

    /// Tickets; a record may have several or only a part of one (RFC 8446 §4.6.1, §5.1).
    fn receive_tickets(&mut self, content: &[u8]) -> Result<(), Fault> {
        let mut messages = std::mem::take(&mut self.message);
        messages.extend_from_slice(content);
        let mut rest = &messages[..];
        while let [kind, a, b, c, after @ ..] = rest {
            if *kind != NEW_SESSION_TICKET {
                return Err(Fault::Unexpected);
            }
            let len = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            if len > LONGEST_TICKET {
                return Err(Fault::Malformed);
            }
            let Some((ticket, after)) = after.split_at_checked(len) else { break };
            S::take_ticket(self.updates.as_mut().ok_or(Fault::Unexpected)?, ticket)?;
            rest = after;
        }
        self.message.extend_from_slice(rest);
        Ok(())
    }

    /// Appends records with at most `size` bytes of content, until at most `left` bytes of `plain` are left.
    pub(super) fn seal(&mut self, plain: &mut Gather<'_>, size: usize, left: usize, out: &mut Vec<u8>) {
        if self.closed {
            return;
        }
        self.refused_renegotiation = false;
        while plain.len() > left {
            if self.is_key_update_due() && self.update_write_key(out).is_err() {
                return;
            }
            let len = size.min(plain.len() - left);
            self.write.seal_with(APPLICATION_DATA, len, |out| plain.append_to(out, len), out);
        }
    }

    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        self.send_unless_closed(ALERT, &[WARNING, CLOSE_NOTIFY], out);
        self.closed = true;
    }

    fn is_key_update_due(&self) -> bool {
        self.owes_key_update || self.write.sequence() >= RECORDS_A_KEY && self.updates.is_some()
    }

    /// Counts a key change by the peer if the old key protected very few records.
    fn note_haste(&mut self) -> Result<(), Fault> {
        self.hasty_keys += u16::from(self.read.sequence() < HASTY);
        if self.hasty_keys > MOST_HASTY { Err(Fault::TooManyIdleRecords) } else { Ok(()) }
    }

    /// Sends KeyUpdate with the old key, and continues with the next.
    fn update_write_key(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.owes_key_update = false;
        let updates = self.updates.as_mut().ok_or(Fault::Unexpected)?;
        self.write.seal(HANDSHAKE, &PLAIN_KEY_UPDATE, out);
        let secrets = updates.update_tx_secret().map_err(|_| Fault::Unexpected)?;
        self.write = Protection::new(Version::Tls13, secrets)?;
        Ok(())
    }

    fn send_alert_for(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        if let Some(alert) = fault.alert() {
            self.send_unless_closed(ALERT, &alert, out);
        }
        self.closed = true;
    }

    fn send_unless_closed(&mut self, kind: u8, content: &[u8], out: &mut Vec<u8>) {
        if !self.closed {
            self.write.seal(kind, content, out);
        }
    }
}

/// Actions of misbehaving peers, for tests and fuzz targets.
#[cfg(any(test, feature = "fuzzing"))]
impl<S: RustlsRole> Open<S> {
    /// Seals content of any type.
    pub(crate) fn seal_as(&mut self, kind: u8, content: &[u8], out: &mut Vec<u8>) {
        self.send_unless_closed(kind, content, out);
    }

    /// Changes this side's key; `asks` also requests a key change by the peer. TLS 1.3 only.
    pub(crate) fn change_key(&mut self, asks: bool, out: &mut Vec<u8>) {
        let Some(updates) = self.updates.as_mut().filter(|_| !self.closed) else { return };
        self.write.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, asks.into()], out);
        let secrets = updates.update_tx_secret().expect("TLS 1.3 has a next key");
        self.write = Protection::new(Version::Tls13, secrets).expect("the suite stays");
    }
}

#[cfg(test)]
impl<S: RustlsRole> Open<S> {
    pub(super) fn write_as_if_worn_out(&mut self) {
        self.write.count_as(RECORDS_A_KEY);
    }

    /// Sends a message unchanged, in a separate record.
    pub(crate) fn say_in_handshake(&mut self, message: &[u8], out: &mut Vec<u8>) {
        self.seal_as(HANDSHAKE, message, out);
    }

    /// Receives a handshake message.
    pub(crate) fn receive_in_handshake(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        self.receive_handshake(message, out)
    }

    /// Changes this side's key, and requests the same of the peer.
    pub(crate) fn ask_for_new_keys(&mut self, out: &mut Vec<u8>) {
        self.change_key(true, out);
    }

    pub(super) fn records_written(&self) -> u64 {
        self.write.sequence()
    }
}
