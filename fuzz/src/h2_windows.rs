//! What one end of HTTP/2 may send: the windows that its peer has granted (RFC 9113 §6.9), kept apart from the engine's.

use std::collections::BTreeMap;

/// The windows that a peer has granted, and what was sent into them.
pub(crate) struct Windows {
    connection: i64,
    initial: i64,
    /// Granted on streams beside the initial window, and sent on them.
    streams: BTreeMap<u32, (i64, i64)>,
    sent: i64,
}

impl Windows {
    pub(crate) fn new() -> Self {
        Self { connection: 65_535, initial: 65_535, streams: BTreeMap::new(), sent: 0 }
    }

    /// Takes what a frame of the peer grants.
    pub(crate) fn grant(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        match (kind, payload) {
            (8, [a, b, c, d]) => {
                let increment = i64::from(u32::from_be_bytes([*a, *b, *c, *d]) & 0x7fff_ffff);
                match stream {
                    0 => self.connection += increment,
                    stream => self.streams.entry(stream).or_default().0 += increment,
                }
            }
            (4, pairs) if flags & 1 == 0 => {
                for pair in pairs.chunks_exact(6).filter(|pair| pair[..2] == [0, 4]) {
                    self.initial = i64::from(u32::from_be_bytes([pair[2], pair[3], pair[4], pair[5]]));
                }
            }
            _ => {}
        }
    }

    /// What was written is whole frames and keeps to the windows. What was sent before a window shrank does not count as
    /// too much.
    pub(crate) fn check(&mut self, out: &[u8]) {
        for (kind, stream, payload) in frames(out) {
            if kind == 0 && !payload.is_empty() {
                let len = payload.len() as i64;
                let (granted, sent) = self.streams.entry(stream).or_default();
                (self.sent, *sent) = (self.sent + len, *sent + len);
                assert!(self.sent <= self.connection);
                assert!(*sent <= self.initial + *granted);
            }
        }
    }
}

/// Kind, stream and payload of frames, which are whole, of types that there are, and not too long.
pub(crate) fn frames(mut out: &[u8]) -> impl Iterator<Item = (u8, u32, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = out.split_first_chunk::<9>().or_else(|| {
            assert!(out.is_empty(), "a frame without its head");
            None
        })?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        assert!(head[3] < 10 && len <= 16_384);
        let (payload, rest) = rest.split_at(len);
        out = rest;
        Some((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
    })
}

/// A frame as it goes over the wire.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
