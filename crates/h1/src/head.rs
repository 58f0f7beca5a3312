//! Heads that arrive in pieces: no byte is parsed more than twice, whatever the pieces.
//!
//! A head that arrives whole, as nearly all do, is parsed in one pass without this file. Otherwise each line
//! is checked when its LF arrives, so that a broken one is answered at once, and the whole head is parsed
//! when its empty line arrives.

use crate::fault::{Fault, Stop};
use crate::field_line::{self, Line};
use crate::limits::Limits;

/// How far the bytes of an incomplete head have been examined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes in which every LF was seen.
    scanned: u32,
    /// Start of the line that is not complete.
    line: u32,
    /// Complete lines before it.
    lines: u16,
}

impl Progress {
    /// Whether no byte of the head has arrived.
    pub(crate) fn is_nothing(&self) -> bool {
        self.scanned == 0
    }

    /// Remembers what a parse of all lines found incomplete.
    #[cold]
    pub(crate) fn remember(&mut self, bytes: &[u8]) {
        self.scanned = bytes.len() as u32;
        self.line = memchr::memrchr(b'\n', bytes).map_or(0, |lf| lf as u32 + 1);
        self.lines = memchr::memchr_iter(b'\n', bytes).count().min(u16::MAX.into()) as u16;
    }

    /// Examines the bytes received since [`remember`](Self::remember). `Ok`: the head is complete.
    #[cold]
    pub(crate) fn resume(
        &mut self,
        limits: &Limits,
        bytes: &[u8],
        start_line: fn(&[u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        while let Some(lf) = memchr::memchr(b'\n', &bytes[self.scanned as usize..]) {
            let next = self.scanned as usize + lf + 1;
            if self.check_line(limits, &bytes[..next], start_line)? {
                return Ok(());
            }
            self.scanned = next as u32;
            self.line = next as u32;
            // Beyond the greatest limit, the parse of the whole head decides.
            self.lines = self.lines.saturating_add(1);
        }
        self.scanned = bytes.len() as u32;
        let fault = match self.lines {
            0 => too_long(bytes.len(), limits),
            _ if bytes.len() > limits.head as usize => Some(Fault::HeadTooLarge),
            _ => None,
        };
        Err(fault.map_or(Stop::Incomplete, Stop::Fault))
    }

    /// Checks the line that ends `bytes`. Returns whether it is the empty one.
    fn check_line(
        &self,
        limits: &Limits,
        bytes: &[u8],
        start_line: fn(&[u8]) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        if self.lines == 0 {
            start_line(bytes).map_err(|stop| judge_start(bytes, limits, stop))?;
            return too_long(bytes.len(), limits).map_or(Ok(false), |fault| Err(fault.into()));
        }
        let line = self.line as usize;
        let first = if self.lines == 1 { line } else { 0 };
        match field_line::parse(bytes, line) {
            Err(stop) => Err(field_line::judge(bytes, line, first, limits, stop)),
            Ok(_) if bytes.len() > limits.head as usize => Err(Fault::HeadTooLarge.into()),
            Ok(Line::Empty { .. }) => Ok(true),
            Ok(_) if self.lines > limits.fields => Err(Fault::TooManyFields.into()),
            Ok(_) => Ok(false),
        }
    }
}

/// Whether a start line with its LF, `bytes` long, breaks its limit.
pub(crate) fn too_long(bytes: usize, limits: &Limits) -> Option<Fault> {
    match bytes {
        // The limit counts what stands before the LF; one more would not fit into 32 bits.
        n if n.saturating_sub(1) > limits.request_line as usize => Some(Fault::RequestLineTooLong),
        n if n > limits.head as usize => Some(Fault::HeadTooLarge),
        _ => None,
    }
}

/// Decides about a start line that could not be parsed, as [`field_line::judge`] does about field lines.
#[cold]
pub(crate) fn judge_start(bytes: &[u8], limits: &Limits, stop: Stop) -> Stop {
    let lf = memchr::memchr(b'\n', bytes);
    let len = lf.map_or(bytes.len(), |lf| lf + 1);
    match (too_long(len, limits), lf) {
        (Some(fault), _) => fault.into(),
        (None, None) => Stop::Incomplete,
        (None, Some(_)) => stop,
    }
}
