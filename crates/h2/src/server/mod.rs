//! The server's side of a connection: requests in, responses out.

use crate::abuse::Abuse;
use crate::code::ErrorCode;
use crate::config::Config;
use crate::event::{Body, Event, Key, Received};
use crate::fault::Fault;
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};

/// One connection as its server sees it. It holds no octets of content: the caller's buffers do.
#[derive(Debug)]
pub struct Server<T> {
    nothing: Vec<T>,
    abuse: Abuse,
}

#[allow(unused_variables, missing_docs)]
impl<T: Default> Server<T> {
    pub fn new(config: &Config) -> Self {
        Self { nothing: Vec::new(), abuse: Abuse::default() }
    }
    pub fn start(&mut self, config: &Config, out: &mut Vec<u8>) {}
    /// `http2_settings`: the value of the HTTP2-Settings field as it came.
    pub fn upgrade(
        &mut self,
        config: &Config,
        http2_settings: &[u8],
        is_head: bool,
        out: &mut Vec<u8>,
    ) -> Result<Key, Fault> {
        Err(Fault::UpgradeSettings)
    }
    pub fn receive(
        &mut self,
        config: &Config,
        now: u32,
        input: &[u8],
        head: &mut RequestHead,
        out: &mut Vec<u8>,
    ) -> Result<Received<T>, Fault> {
        Ok(Received { consumed: 0, event: Event::More })
    }
    pub fn send_interim(&mut self, key: Key, status: Status, fields: &FieldSection, out: &mut Vec<u8>) {}
    pub fn send_head(
        &mut self,
        key: Key,
        head: &ResponseHead,
        length: Option<u64>,
        common: &FieldSection,
        common_version: u64,
        out: &mut Vec<u8>,
    ) -> Body {
        Body::Complete
    }
    pub fn room(&self, key: Key) -> usize {
        0
    }
    /// The most that one frame may hold: for `begin_data`.
    pub fn max_data(&self) -> usize {
        16384
    }
    pub fn send_data(&mut self, key: Key, octets: &[u8], end: bool, out: &mut Vec<u8>) {}
    pub fn begin_data(&mut self, key: Key, len: usize, end: bool, out: &mut Vec<u8>) {}
    pub fn send_trailers(&mut self, key: Key, trailers: &FieldSection, out: &mut Vec<u8>) {}
    pub fn next(&mut self) -> Option<(Key, usize)> {
        None
    }
    pub fn set_ready(&mut self, key: Key, ready: bool) {}
    pub fn consumed(&mut self, config: &Config, key: Key, octets: usize, out: &mut Vec<u8>) {}
    pub fn reset(&mut self, key: Key, code: ErrorCode, out: &mut Vec<u8>) -> Option<T> {
        None
    }
    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        None
    }
    pub fn go_away(&mut self, out: &mut Vec<u8>) {}
    /// The connection ends at once: GOAWAY with this code and the last stream.
    pub fn abort(&mut self, code: ErrorCode, out: &mut Vec<u8>) {}
    pub fn streams(&self) -> usize {
        0
    }
    pub fn is_over(&self) -> bool {
        false
    }
    /// Whether content waits to be sent and nothing but windows stops it.
    pub fn stalled(&self) -> bool {
        false
    }
    /// Whether the peer has acknowledged our settings (SETTINGS_TIMEOUT is the caller's timer).
    pub fn settings_acknowledged(&self) -> bool {
        true
    }
    /// Gives memory back that holds nothing. For connections that rest for a while.
    pub fn release(&mut self) {}
    pub fn drain_data(&mut self) -> impl Iterator<Item = T> {
        self.nothing.drain(..)
    }
    pub fn abuse(&self) -> &Abuse {
        &self.abuse
    }
}
