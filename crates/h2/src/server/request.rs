//! Received field blocks: requests and their trailers.

use super::{Server, event};
use crate::abuse::Kind;
use crate::config::Config;
use crate::connection::{Block, Core};
use crate::event::{Event, Key, RequestContent};
use crate::fault::Fault;
use crate::field_block::Trailers;
use crate::request::{Parsed, RequestFields};
use crate::state::Action;
use crate::stream::{Halves, UNKNOWN_LENGTH};
use hayami_http::{Method, RequestHead};

impl<T: Default> Server<T> {
    /// Decodes a field block, even if it is discarded (RFC 9113 §4.3), and acts on it.
    #[inline]
    pub(super) fn receive_block(
        &mut self,
        config: &Config,
        block: Block,
        input: &[u8],
        head: &mut RequestHead,
        out: &mut Vec<u8>,
    ) -> Result<Event<T>, Fault> {
        if block.action != Action::Open {
            return self.receive_other_block(config, block, input, out);
        }
        let core = &mut self.core;
        core.note_opened(block.id);
        let mut fields = RequestFields::new(head, config, &mut self.checked);
        let most = config.max_header_list as usize;
        let decoded = core.decoder.decode(block.bytes.of(input), most, &mut fields);
        let decoded = decoded.map_err(|_| Fault::Compression)?;
        let parsed = fields.finish(decoded.too_large);
        if core.is_full(config) {
            return core.refuse_one_more(config, &block, out);
        }
        match parsed.and_then(|parsed| check_length(parsed, block.end)) {
            Ok(parsed) => core.open_request(config, &block, parsed),
            Err(fault) => core.refuse_malformed(config, &block, fault, out),
        }
    }

    /// A block that opens no stream: trailers, or one that arrived too late.
    #[cold]
    fn receive_other_block(
        &mut self,
        config: &Config,
        block: Block,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Event<T>, Fault> {
        let core = &mut self.core;
        let mut trailers = Trailers::default();
        let most = config.max_header_list as usize;
        let decoded = core.decoder.decode(block.bytes.of(input), most, &mut trailers);
        let decoded = decoded.map_err(|_| Fault::Compression)?;
        let fault = match (block.action, core.streams.find(block.id)) {
            (Action::Accept, Some(slot)) => match trailers.finish(decoded.too_large) {
                Ok(_) if !block.end => Fault::TrailersWithoutEnd, // RFC 9113 §8.1
                Ok(trailers) => match core.streams[slot].check_end(true) {
                    Ok(()) => {
                        let key = core.streams.key(slot);
                        core.end_received(slot);
                        return Ok(Event::End { key, trailers });
                    }
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            },
            (Action::StreamError(fault), _) => {
                core.note_if_new(block.id);
                fault
            }
            _ => {
                // Content may follow: a stream that arrived after GOAWAY has the window of any other.
                if !block.end && core.is_late(block.id) {
                    core.allow_discarded(core.first_window(config));
                }
                return core.count(Kind::Stale, config).map(event);
            }
        };
        core.stream_error(config, block.id, fault, out).map(event)
    }
}

/// RFC 9113 §8.1.1: a request without content must not announce any.
#[inline]
fn check_length(parsed: Parsed, end: bool) -> Result<Parsed, Fault> {
    let announced = parsed.content_length.is_some_and(|length| length > 0);
    if end && announced { Err(Fault::ContentLengthDiffers) } else { Ok(parsed) }
}

impl<T: Default> Core<T> {
    /// Whether no stream may be opened. Streams that were answered but not ended by the client don't count,
    /// up to the same number again: gRPC in Go treats them as closed, and ends them only a little later.
    #[inline]
    fn is_full(&self, config: &Config) -> bool {
        let (open, most) = (self.open_count(), config.max_concurrent_streams as usize);
        open >= most && open >= most + self.half_closed_local().min(most)
    }

    #[inline]
    fn open_request(&mut self, config: &Config, block: &Block, parsed: Parsed) -> Result<Event<T>, Fault> {
        if parsed.refused.is_some() {
            self.count(Kind::LargeHead, config)?;
        }
        self.abuse.earn(Kind::Priority, 4);
        let early = self.early_priority(block.id);
        let (key, slot) = self.open(config, block.id);
        let stream = &mut self.streams[slot];
        stream.priority = early.or(parsed.priority).unwrap_or_default();
        stream.flags.is_head = parsed.method == Method::Head;
        stream.flags.is_connect = parsed.method == Method::Connect;
        let content = match parsed.content_length {
            _ if block.end => RequestContent::None,
            Some(length) => RequestContent::Length(length),
            None => RequestContent::Unknown,
        };
        match content {
            RequestContent::None => stream.halves = Halves::HalfClosedRemote,
            RequestContent::Length(length) => stream.expected = length,
            RequestContent::Unknown => stream.expected = UNKNOWN_LENGTH,
        }
        Ok(match parsed.refused {
            None => Event::Request { key, content },
            Some(status) => Event::TooLarge { key, status, content },
        })
    }

    /// RFC 9113 §5.1.2: more streams than the settings allow. The client may send the request again.
    #[cold]
    fn refuse_one_more(
        &mut self,
        config: &Config,
        block: &Block,
        out: &mut Vec<u8>,
    ) -> Result<Event<T>, Fault> {
        self.refuse(config, block.id, block.end, Fault::TooManyStreams.code(), out);
        self.count(Kind::Refused, config).map(event)
    }

    /// RFC 9113 §8.1.1: a malformed request is a stream error.
    #[cold]
    fn refuse_malformed(
        &mut self,
        config: &Config,
        block: &Block,
        fault: Fault,
        out: &mut Vec<u8>,
    ) -> Result<Event<T>, Fault> {
        self.refuse(config, block.id, block.end, fault.code(), out);
        self.count(Kind::ProvokedReset, config).map(event)
    }

    /// Records that a frame opened a stream but also broke a rule.
    fn note_if_new(&mut self, id: u32) {
        if self.opens(id) {
            self.note_opened(id);
        }
    }

    /// The request of an upgraded connection: stream 1, half-closed (RFC 7540 §3.2).
    pub(super) fn upgrade(&mut self, config: &Config, is_head: bool) -> Key {
        self.note_opened(1);
        let (key, slot) = self.open(config, 1);
        let stream = &mut self.streams[slot];
        stream.halves = Halves::HalfClosedRemote;
        stream.flags.is_head = is_head;
        key
    }
}
