//! Requests: heads, content and the end, written to the caller's buffer.

use super::Client;
use crate::config::Config;
use crate::connection::Core;
use crate::encode;
use crate::event::{Key, RequestContent};
use crate::frame::Header;
use crate::stream::Halves;
use hayami_hpack::{Indexing, Token, indexing_of};
use hayami_http::{FieldSection, Known};
use std::fmt;

/// Requests that are sent before the server has announced its limit; RFC 9113 §6.5.2 asks servers for no
/// fewer.
const BEFORE_SETTINGS: usize = 100;

/// The highest number of a stream (RFC 9113 §5.1.1).
const LAST_STREAM: u32 = 0x7fff_ffff;

/// The parts of a request that are not fields.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A token.
    pub method: &'a [u8],
    /// `http` or `https`; empty for CONNECT.
    pub scheme: &'a [u8],
    /// Host and port, if it has one.
    pub authority: &'a [u8],
    /// Path and query; empty for CONNECT.
    pub path: &'a [u8],
    /// The protocol of an extended CONNECT (RFC 8441), if the server [allows](Client::can_connect_protocol)
    /// it.
    pub protocol: Option<&'a [u8]>,
    /// What follows the head.
    pub content: RequestContent,
}

/// A request can't be sent now: the limit of concurrent requests is reached, or the connection is ending.
/// Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTurn;

impl fmt::Display for OutOfTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this connection takes no request now")
    }
}

impl std::error::Error for OutOfTurn {}

impl<T: Default> Client<T> {
    /// How many more requests may be sent now (RFC 9113 §5.1.2). It stays 0 once the connection is ending.
    pub fn capacity(&self, config: &Config) -> usize {
        self.core.capacity(config)
    }

    /// Whether the server takes extended CONNECT (RFC 8441 §3).
    pub fn can_connect_protocol(&self) -> bool {
        self.core.peer.enable_connect_protocol
    }

    /// Writes a request head. Content-Length is written from `request.content`; `fields` is written without
    /// it, without HTTP/1.1's connection fields, and without Host, which the authority replaces (RFC 9113
    /// §8.3.1). A request without content is complete.
    ///
    /// # Errors
    /// [`capacity`](Self::capacity) is 0.
    pub fn send_request(
        &mut self,
        config: &Config,
        request: &Request<'_>,
        fields: &FieldSection,
        out: &mut Vec<u8>,
    ) -> Result<Key, OutOfTurn> {
        self.send_block(config, request, out, |core, out| core.encode_request(request, fields, out))
    }

    /// Like [`send_request`](Self::send_request) for a request that was sent before on this connection: its
    /// field block is copied from `memo` while the encoder's table is unchanged. A memo belongs to one
    /// connection and one request.
    ///
    /// # Errors
    /// [`capacity`](Self::capacity) is 0.
    #[inline]
    pub fn send_request_again(
        &mut self,
        config: &Config,
        memo: &mut RequestMemo,
        request: &Request<'_>,
        fields: &FieldSection,
        out: &mut Vec<u8>,
    ) -> Result<Key, OutOfTurn> {
        self.send_block(config, request, out, |core, out| {
            if memo.generation == Some(core.encoder.generation()) {
                core.encoder.begin(out);
                if memo.generation == Some(core.encoder.generation()) {
                    return out.extend_from_slice(&memo.block);
                }
            }
            memo.encode(core, request, fields, out);
        })
    }

    #[inline]
    fn send_block(
        &mut self,
        config: &Config,
        request: &Request<'_>,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Core<T>, &mut Vec<u8>),
    ) -> Result<Key, OutOfTurn> {
        let core = &mut self.core;
        if core.capacity(config) == 0 {
            return Err(OutOfTurn);
        }
        let id = core.next_id();
        core.note_opened(id);
        let (key, slot) = core.open(config, id);
        let end = request.content == RequestContent::None;
        let stream = &mut core.streams[slot];
        stream.flags.is_head = request.method == b"HEAD";
        stream.flags.is_connect = request.method == b"CONNECT";
        if end {
            stream.halves = Halves::HalfClosedLocal;
        }
        let start = out.len();
        out.extend_from_slice(&[0; Header::LEN]);
        write(core, out);
        core.frame_block(start, id, end, out);
        Ok(key)
    }

    /// Writes content, in as many frames as the server's largest frame asks for; `bytes.len()` is at most
    /// [`room`](Self::room). With `end` the request is complete.
    pub fn send_data(&mut self, key: Key, bytes: &[u8], end: bool, out: &mut Vec<u8>) {
        self.core.send_data(key, bytes, end, out);
    }

    /// Writes the nine bytes before `len` bytes of content, which the caller appends; `len` is at most
    /// [`room`](Self::room) and [`max_data`](Self::max_data). With `end` the request is complete.
    pub fn begin_data(&mut self, key: Key, len: usize, end: bool, out: &mut Vec<u8>) {
        self.core.begin_data(key, len, end, out);
    }

    /// Ends a request with trailers.
    pub fn send_trailers(&mut self, key: Key, trailers: &FieldSection, out: &mut Vec<u8>) {
        self.core.send_trailers(key, trailers, out);
    }
}

/// The field block of a request, for [`Client::send_request_again`].
#[derive(Clone, Debug, Default)]
pub struct RequestMemo {
    /// The encoder's, when the block was made; `None`: there is none.
    generation: Option<u64>,
    block: Vec<u8>,
}

impl RequestMemo {
    /// Encodes a request, and keeps the block if it adds nothing to the table.
    #[cold]
    fn encode<T: Default>(
        &mut self,
        core: &mut Core<T>,
        request: &Request<'_>,
        fields: &FieldSection,
        out: &mut Vec<u8>,
    ) {
        core.encoder.begin(out); // what it writes belongs to this block alone
        let (start, before) = (out.len(), core.encoder.generation());
        core.encode_request(request, fields, out);
        let after = core.encoder.generation();
        self.generation = (before == after).then_some(after);
        self.block.clear();
        self.block.extend_from_slice(&out[start..]);
    }
}

impl<T: Default> Core<T> {
    fn capacity(&self, config: &Config) -> usize {
        if !self.takes_streams() || self.next_id() > LAST_STREAM {
            return 0;
        }
        let allowed = match self.is_open() {
            true => self.peer.max_concurrent_streams as usize,
            false => BEFORE_SETTINGS,
        };
        allowed.min(config.max_concurrent_streams as usize).saturating_sub(self.open_count())
    }

    /// The pseudo-header fields come first (RFC 9113 §8.3.1). Paths are mostly new, so they are not added to
    /// the table.
    fn encode_request(&mut self, request: &Request<'_>, fields: &FieldSection, out: &mut Vec<u8>) {
        let encoder = &mut self.encoder;
        encoder.begin(out);
        encoder.pseudo(Token::Method, request.method, Indexing::Add, out);
        if !request.scheme.is_empty() {
            encoder.pseudo(Token::Scheme, request.scheme, Indexing::Add, out);
        }
        if !request.authority.is_empty() {
            encoder.pseudo(Token::Authority, request.authority, Indexing::Add, out);
        }
        if !request.path.is_empty() {
            encoder.pseudo(Token::Path, request.path, Indexing::No, out);
        }
        if let Some(protocol) = request.protocol {
            encoder.pseudo(Token::Protocol, protocol, Indexing::Add, out);
        }
        if let RequestContent::Length(length) = request.content {
            let mut digits = itoa::Buffer::new();
            let (known, value) = (Known::ContentLength, digits.format(length).as_bytes());
            encoder.field(known.name(), value, indexing_of(Some(known), known.name(), value), out);
        }
        match request.authority.is_empty() {
            true => encode::fields(encoder, fields, out),
            false => encode::fields_but_host(encoder, fields, out),
        }
    }
}
