//! Receives content, whatever its framing. Used by both roles.

use crate::chunked::{Chunked, Piece};
use crate::fault::Fault;
use crate::limits::Limits;
use hayami_http::FieldSection;

/// How the content being received is framed.
#[derive(Debug, Default)]
pub(crate) enum Incoming {
    /// No content.
    #[default]
    Nothing,
    /// By Content-Length; this many bytes are still to come.
    Length(u64),
    /// In chunks.
    Chunked(Chunked),
    /// By the end of the connection; this many bytes came. Responses only.
    UntilClose(u64),
}

impl Incoming {
    /// Reads content from the front of `input`. Returns the bytes consumed too.
    pub(crate) fn receive(&mut self, limits: &Limits, input: &[u8]) -> Result<(usize, Piece), Fault> {
        match self {
            Self::Nothing | Self::Length(0) => Ok((0, Piece::End)),
            Self::Chunked(chunked) => chunked.receive(limits, input),
            _ if input.is_empty() => Ok((0, Piece::More)),
            Self::Length(left) => {
                let bytes = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= bytes as u64;
                Ok((bytes, Piece::Data(0..bytes)))
            }
            Self::UntilClose(total) => {
                *total += input.len() as u64;
                if *total > limits.content {
                    return Err(Fault::ContentTooLarge);
                }
                Ok((input.len(), Piece::Data(0..input.len())))
            }
        }
    }

    /// The trailer section, if one came.
    pub(crate) fn take_trailers(&mut self) -> Option<FieldSection> {
        match self {
            Self::Chunked(chunked) => chunked.take_trailers().map(|trailers| *trailers),
            _ => None,
        }
    }
}
