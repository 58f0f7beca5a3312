//! Received field blocks: responses and their trailers.

use super::{Client, ClientEvent, ResponseContent, event};
use crate::abuse::Kind;
use crate::config::Config;
use crate::connection::{Block, Core};
use crate::fault::Fault;
use crate::field_block::Trailers;
use crate::response::ResponseFields;
use crate::state::Action;
use crate::stream::UNKNOWN_LENGTH;
use hayami_hpack::{Decoded, Sink};
use hayami_http::ResponseHead;

impl<T: Default> Client<T> {
    /// Decodes a field block, even if it is discarded (RFC 9113 §4.3), and acts on it.
    pub(super) fn receive_block(
        &mut self,
        config: &Config,
        block: Block,
        input: &[u8],
        head: &mut ResponseHead,
        out: &mut Vec<u8>,
    ) -> Result<ClientEvent<T>, Fault> {
        let core = &mut self.core;
        let slot = match (block.action, core.streams.find(block.id)) {
            (Action::Accept, Some(slot)) => slot,
            (action, _) => {
                core.decode(config, &block, input, &mut Trailers::default())?;
                return match action {
                    Action::StreamError(fault) => core.stream_error(config, block.id, fault, out).map(event),
                    // The response to an abandoned request, or trailers without END_STREAM.
                    _ => core.count(Kind::Stale, config).map(event),
                };
            }
        };
        let result = match core.streams[slot].flags.answered {
            false => {
                let mut fields = ResponseFields::new(head, config);
                let decoded = core.decode(config, &block, input, &mut fields)?;
                let parsed = fields.finish(decoded.too_large);
                parsed.and_then(|length| core.response(config, &block, slot, head, length))
            }
            true => {
                let mut trailers = Trailers::default();
                let decoded = core.decode(config, &block, input, &mut trailers)?;
                core.trailers(&block, slot, trailers, decoded)
            }
        };
        result.or_else(|fault| core.stream_error(config, block.id, fault, out).map(event))
    }
}

impl<T: Default> Core<T> {
    fn decode(
        &mut self,
        config: &Config,
        block: &Block,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Result<Decoded, Fault> {
        let most = config.max_header_list as usize;
        self.decoder.decode(block.bytes.of(input), most, sink).map_err(|_| Fault::Compression)
    }

    fn response(
        &mut self,
        config: &Config,
        block: &Block,
        slot: u32,
        head: &ResponseHead,
        length: Option<u64>,
    ) -> Result<ClientEvent<T>, Fault> {
        let key = self.streams.key(slot);
        let stream = &mut self.streams[slot];
        let status = head.status();
        if status.is_informational() {
            stream.flags.interim = stream.flags.interim.saturating_add(1);
            return match stream.flags.interim {
                _ if block.end => Err(Fault::InterimEnds), // RFC 9113 §8.1
                count if count > config.max_interim => Err(Fault::InterimFlood),
                _ => Ok(ClientEvent::Interim { key }),
            };
        }
        stream.flags.answered = true;
        let without = stream.flags.is_head || status.forbids_content();
        let tunnel = stream.flags.is_connect && (200..300).contains(&status.code());
        let content = match length {
            // RFC 9113 §8.1.1: these may announce content that they don't have.
            _ if block.end && without => ResponseContent::None,
            Some(1..) if block.end && !tunnel => return Err(Fault::ContentLengthDiffers),
            _ if block.end => ResponseContent::None,
            _ if without => ResponseContent::Length(0),
            Some(length) if !tunnel => ResponseContent::Length(length),
            _ => ResponseContent::Unknown,
        };
        match content {
            ResponseContent::None => self.end_received(slot),
            ResponseContent::Length(length) => stream.expected = length,
            ResponseContent::Unknown => stream.expected = UNKNOWN_LENGTH,
        }
        Ok(ClientEvent::Response { key, content })
    }

    fn trailers(
        &mut self,
        block: &Block,
        slot: u32,
        trailers: Trailers,
        decoded: Decoded,
    ) -> Result<ClientEvent<T>, Fault> {
        let trailers = trailers.finish(decoded.too_large)?;
        if !block.end {
            return Err(Fault::TrailersWithoutEnd); // RFC 9113 §8.1
        }
        self.streams[slot].check_end(true)?;
        let key = self.streams.key(slot);
        self.end_received(slot);
        Ok(ClientEvent::End { key, trailers })
    }
}
