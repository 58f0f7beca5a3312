//! Content: the bytes after a head, pulled by the connection when it has room for them (RFC 9110 §6.4).

use crate::field::FieldSection;
use std::fmt;
use std::fs::File;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

/// The content of a response.
#[derive(Default)]
pub enum Content {
    /// No bytes.
    #[default]
    Empty,
    /// Bytes in memory, shared with other responses.
    Shared(Shared),
    /// A piece of a file; over plain TCP the kernel sends it without copying it into this process.
    File(FileSlice),
    /// Several pieces one after the other (`multipart/byteranges`), none of which is a stream.
    Parts(Vec<Content>),
    /// Bytes that are produced later; the length may be unknown until the end.
    Stream(Box<dyn Source>),
}

impl Content {
    /// Number of bytes, or `None` for a stream of unknown length.
    pub fn len(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Shared(shared) => Some(shared.len() as u64),
            Self::File(slice) => Some(slice.len),
            Self::Parts(parts) => parts.iter().map(Self::len).sum(),
            Self::Stream(source) => source.length(),
        }
    }

    /// Whether it is known to have no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(Shared::from(bytes))
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Empty => "Empty",
            Self::Shared(_) => "Shared",
            Self::File(_) => "File",
            Self::Parts(_) => "Parts",
            Self::Stream(_) => "Stream",
        };
        write!(f, "{kind}({:?})", self.len())
    }
}

/// A range of immutable bytes that many responses share.
#[derive(Clone)]
pub struct Shared {
    bytes: Arc<[u8]>,
    start: usize,
    end: usize,
}

impl Shared {
    /// All of `bytes`.
    pub fn new(bytes: Arc<[u8]>) -> Self {
        let end = bytes.len();
        Self { bytes, start: 0, end }
    }

    /// The part from `start`, `len` bytes long, of this one.
    ///
    /// # Panics
    /// If it reaches beyond the end.
    pub fn slice(&self, start: usize, len: usize) -> Self {
        assert!(start + len <= self.len(), "a slice lies within its bytes");
        let start = self.start + start;
        Self { bytes: Arc::clone(&self.bytes), start, end: start + len }
    }

    /// A handle that shows whether these bytes are still in use, without keeping them alive.
    pub fn downgrade(&self) -> Weak<[u8]> {
        Arc::downgrade(&self.bytes)
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({} bytes)", self.len())
    }
}

impl From<Vec<u8>> for Shared {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes.into())
    }
}

/// A piece of an open file.
#[derive(Clone, Debug)]
pub struct FileSlice {
    /// The file, open for reading; its own position is never used.
    pub file: Arc<File>,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

/// Why content could not be completed. The message it belongs to must not look complete.
#[derive(Debug)]
pub struct SourceError(pub String);

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SourceError {}

/// Content that is pulled piece by piece.
pub trait Source {
    /// Appends at most `room` bytes to `out`. `Ready(Ok(true))`: the content is complete;
    /// `Ready(Ok(false))`: there is more; `Pending`: `cx` will be woken when there is more.
    ///
    /// # Errors
    /// The content ended early; the connection or stream is then aborted.
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>>;

    /// Total number of bytes, if it is known before the first one.
    fn length(&self) -> Option<u64> {
        None
    }

    /// The trailer section, requested once when the content is complete.
    fn trailers(&mut self) -> Option<FieldSection> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_parts_add_up_and_a_stream_has_none() {
        struct Endless;
        impl Source for Endless {
            fn fill(
                &mut self,
                _: &mut Context<'_>,
                _: usize,
                _: &mut Vec<u8>,
            ) -> Poll<Result<bool, SourceError>> {
                Poll::Pending
            }
        }
        let shared = Shared::from(b"abcdef".to_vec());
        let parts =
            Content::Parts(vec![Content::Shared(shared.slice(1, 3)), Content::Shared(shared.slice(4, 2))]);
        assert_eq!(parts.len(), Some(5));
        assert_eq!(shared.slice(1, 3).slice(1, 2).as_slice(), b"cd");
        assert_eq!(Content::Stream(Box::new(Endless)).len(), None);
        assert!(Content::Empty.is_empty());
    }
}
