//! HEADERS and CONTINUATION: assembles field blocks (RFC 9113 §4.3, §6.2, §6.10).

use super::{Core, Step};
use crate::config::Config;
use crate::fault::Fault;
use crate::frame::{Header, flag, headers_payload};
use crate::state::{Action, Frame};

/// A whole field block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) id: u32,
    /// END_STREAM.
    pub(crate) end: bool,
    /// What to do with it once it's decoded; never a connection error.
    pub(crate) action: Action,
    pub(crate) bytes: Bytes,
}

/// Where a block's bytes are.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// In the input: index of the first, number.
    Input(usize, usize),
    /// In several frames; assembled here.
    Assembled(Vec<u8>),
}

impl Bytes {
    #[inline]
    pub(crate) fn of<'a>(&'a self, input: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Input(start, len) => &input[*start..start + len],
            Self::Assembled(bytes) => bytes,
        }
    }
}

/// A field block whose CONTINUATION frames are still to come.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: u32,
    end: bool,
    action: Action,
    frames: u16,
    bytes: Vec<u8>,
}

impl<T: Default> Core<T> {
    #[inline]
    pub(super) fn receive_headers(&mut self, header: Header, payload: &[u8]) -> Result<Step<T>, Fault> {
        if header.stream == 0 {
            return Err(Fault::OnStreamZero);
        }
        let (padded, dependency) = headers_payload(header, payload)?;
        let mut action = self.state_of(header.stream).0.on(Frame::Headers);
        if let Action::ConnectionError(fault) = action {
            return Err(fault);
        }
        // RFC 7540 §5.3.1: a stream can't depend on itself.
        if dependency.is_some_and(|dependency| dependency.on == header.stream) {
            action = Action::StreamError(Fault::SelfDependency);
        }
        let (id, end) = (header.stream, header.has(flag::END_STREAM));
        if header.has(flag::END_HEADERS) {
            let bytes = Bytes::Input(Header::LEN + padded.start, padded.len);
            return Ok(Step::Block(Block { id, end, action, bytes }));
        }
        let bytes = payload[padded.start..padded.start + padded.len].to_vec();
        self.pending = Some(Box::new(Pending { id, end, action, frames: 0, bytes }));
        Ok(Step::Handled)
    }

    pub(super) fn receive_continuation(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
    ) -> Result<Step<T>, Fault> {
        let Some(pending) = &mut self.pending else { return Err(Fault::UnexpectedContinuation) };
        // A block that is abandoned here can't be decoded, so the connection ends.
        pending.frames += 1;
        let bytes = pending.bytes.len() + payload.len();
        if pending.frames > config.budgets.continuations || bytes > config.max_header_list as usize {
            return Err(Fault::ContinuationFlood);
        }
        pending.bytes.extend_from_slice(payload);
        match self.pending.take_if(|_| header.has(flag::END_HEADERS)) {
            None => Ok(Step::Handled),
            Some(whole) => {
                let Pending { id, end, action, bytes, .. } = *whole;
                Ok(Step::Block(Block { id, end, action, bytes: Bytes::Assembled(bytes) }))
            }
        }
    }
}
