//! Protected records (RFC 8446 §5, RFC 5246 §6.2.3.3): one direction's key, and sealing and opening with it.
//!
//! A record is sealed in the output buffer, and opened in the input buffer. The sequence number is the
//! nonce's only variable part, so it is counted only there.

use crate::{Fault, Version};
use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use rustls::ConnectionTrafficSecrets;
use std::ops::Range;

/// Content types (RFC 8446 §5.1).
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// The header of every record: type, version, length.
pub(super) const HEADER: usize = 5;
const EXPLICIT_NONCE: usize = 8;
pub(super) const TAG: usize = 16;
/// The maximum overhead of a record.
pub(super) const OVERHEAD: usize = HEADER + EXPLICIT_NONCE + 1 + TAG;

/// The longest content of a record, and what protection may add to it (RFC 8446 §5.2; RFC 5246 §6.2.3
/// allows 2,048, which no supported suite needs).
const CONTENT: usize = 1 << 14;
const EXPANSION: usize = 256;

/// How the nonce of a record is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// RFC 8446 §5.3: nothing of it is sent; the content type is inside.
    Tls13,
    /// RFC 5288 §3: its last eight bytes are sent.
    Gcm12,
    /// RFC 7905 §2: nothing of it is sent.
    Chacha12,
}

/// The key of one direction, and its record count.
pub(super) struct Protection {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    form: Form,
}

impl Protection {
    /// A key as exported by rustls, with the next sequence number.
    pub(super) fn new(
        version: Version,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
    ) -> Result<Self, Fault> {
        let (algorithm, key, iv): (&'static Algorithm, _, _) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(unknown_suite()),
        };
        let form = match (version, algorithm == &CHACHA20_POLY1305) {
            (Version::Tls13, _) => Form::Tls13,
            (Version::Tls12, false) => Form::Gcm12,
            (Version::Tls12, true) => Form::Chacha12,
        };
        let unbound = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| unknown_suite())?;
        let iv = iv.as_ref().try_into().map_err(|_| unknown_suite())?;
        Ok(Self { key: LessSafeKey::new(unbound), iv, sequence, form })
    }

    /// How many records the key protected.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    #[cfg(test)]
    pub(super) fn count_as(&mut self, sequence: u64) {
        self.sequence = sequence;
    }

    /// Appends a record with `content` in it, which is at most 16 KB.
    #[inline]
    pub(super) fn seal(&mut self, kind: u8, content: &[u8], out: &mut Vec<u8>) {
        self.seal_with(kind, content.len(), |out| out.extend_from_slice(content), out);
    }

    /// Appends a record with `len` bytes of content in it, at most 16 KB, which `write` appends.
    #[inline]
    pub(super) fn seal_with(
        &mut self,
        kind: u8,
        len: usize,
        write: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let nonce = self.next_nonce();
        if self.form == Form::Tls13 {
            // The type follows the content, and all records look like application data (RFC 8446 §5.2).
            let header = header(APPLICATION_DATA, len + 1 + TAG);
            out.extend_from_slice(&header);
            let start = out.len();
            write(out);
            out.push(kind);
            self.seal_from(start, nonce, Aad::from(header), out);
        } else {
            let explicit = if self.form == Form::Gcm12 { &nonce[4..] } else { &[] };
            out.extend_from_slice(&header(kind, explicit.len() + len + TAG));
            out.extend_from_slice(explicit);
            let start = out.len();
            write(out);
            let additional = additional12(self.sequence - 1, header(kind, len));
            self.seal_from(start, nonce, Aad::from(additional), out);
        }
    }

    fn seal_from<A: AsRef<[u8]>>(&self, start: usize, nonce: [u8; 12], aad: Aad<A>, out: &mut Vec<u8>) {
        let sealed =
            self.key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), aad, &mut out[start..]);
        let tag = sealed.expect("an AEAD only refuses content of gigabytes");
        out.extend_from_slice(tag.as_ref());
    }

    /// Opens a complete record in place: its type, and the position of its content in `record`.
    pub(super) fn open(&mut self, record: &mut [u8]) -> Result<(u8, Range<usize>), Fault> {
        let mut nonce = self.next_nonce();
        let (header, body) = record.split_first_chunk_mut::<HEADER>().ok_or(Fault::BadRecord)?;
        let header = *header;
        let explicit = if self.form == Form::Gcm12 { EXPLICIT_NONCE } else { 0 };
        if body.len() < explicit + TAG {
            return Err(Fault::BadRecord);
        }
        let len = body.len() - explicit - TAG;
        if self.form == Form::Tls13 {
            // After the handshake everything is protected, and looks like it (RFC 8446 §5).
            if header[0] != APPLICATION_DATA {
                return Err(Fault::Unexpected);
            }
            self.open_from(0, nonce, Aad::from(header), body)?;
            return inner(&body[..len]);
        }
        if len > CONTENT {
            return Err(Fault::RecordTooLong);
        }
        if explicit > 0 {
            nonce[4..].copy_from_slice(&body[..EXPLICIT_NONCE]);
        }
        let [kind, major, minor, ..] = header;
        let [high, low] = (len as u16).to_be_bytes();
        let additional = additional12(self.sequence - 1, [kind, major, minor, high, low]);
        self.open_from(explicit, nonce, Aad::from(additional), body)?;
        Ok((kind, HEADER + explicit..HEADER + explicit + len))
    }

    fn open_from<A: AsRef<[u8]>>(
        &self,
        start: usize,
        nonce: [u8; 12],
        aad: Aad<A>,
        body: &mut [u8],
    ) -> Result<(), Fault> {
        let opened = self.key.open_in_place(Nonce::assume_unique_for_key(nonce), aad, &mut body[start..]);
        opened.map(|_| ()).map_err(|_| Fault::BadRecord)
    }

    /// The IV with the sequence number in it (RFC 8446 §5.3), which is then counted up.
    fn next_nonce(&mut self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, of_sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= of_sequence;
        }
        self.sequence += 1; // 2^64 records take longer than any connection lasts
        nonce
    }
}

/// The length of the record at the front of `bytes`, header included, if it's complete.
pub(super) fn whole(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    let [_, _, _, high, low, ..] = *bytes else { return Ok(None) };
    let len = usize::from(high) << 8 | usize::from(low);
    if len > CONTENT + EXPANSION {
        return Err(Fault::RecordTooLong);
    }
    Ok((bytes.len() >= HEADER + len).then_some(HEADER + len))
}

/// Appends the alert for `fault` where nothing is protected yet.
pub(super) fn alert_in_cleartext(fault: &Fault, out: &mut Vec<u8>) {
    if let Some(alert) = fault.alert() {
        out.extend_from_slice(&header(ALERT, alert.len()));
        out.extend_from_slice(&alert);
    }
}

/// TLSInnerPlaintext (RFC 8446 §5.2): content, type, zeros. The type is the last byte that isn't zero.
fn inner(opened: &[u8]) -> Result<(u8, Range<usize>), Fault> {
    let end = opened.iter().rposition(|byte| *byte != 0).ok_or(Fault::Unexpected)?;
    if end > CONTENT {
        return Err(Fault::RecordTooLong);
    }
    Ok((opened[end], HEADER..HEADER + end))
}

fn header(kind: u8, len: usize) -> [u8; HEADER] {
    let [high, low] = (len as u16).to_be_bytes();
    [kind, 3, 3, high, low]
}

/// What TLS 1.2 authenticates besides the content (RFC 5246 §6.2.3.3): `header` has the content's length.
fn additional12(sequence: u64, header: [u8; HEADER]) -> [u8; 13] {
    let mut additional = [0; 13];
    additional[..8].copy_from_slice(&sequence.to_be_bytes());
    additional[8..].copy_from_slice(&header);
    additional
}

#[cold]
fn unknown_suite() -> Fault {
    Fault::Handshake("a cipher suite without a record layer".to_owned())
}
