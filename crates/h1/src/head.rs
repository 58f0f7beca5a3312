//! Heads that arrive in pieces: no octet is parsed more than twice, whatever the pieces.
//!
//! A head that arrives whole, as nearly all do, is parsed in one pass and this file is not asked. Else
//! each line is checked when its LF comes, so that a broken one is answered at once, and the whole head
//! is parsed when its empty line comes.

use crate::fault::{Fault, Stop};
use crate::field_line::{self, Line};
use crate::limits::Limits;

/// How far the octets of an incomplete head have been looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Octets in which every LF was seen.
    scanned: u32,
    /// Start of the line that is not complete.
    line: u32,
    /// Complete lines before it.
    lines: u16,
}

impl Progress {
    /// Whether nothing of the head has come.
    pub(crate) fn is_nothing(&self) -> bool {
        self.scanned == 0
    }

    /// Remembers what a parse of all lines found incomplete.
    #[cold]
    pub(crate) fn remember(&mut self, octets: &[u8]) {
        self.scanned = octets.len() as u32;
        self.line = memchr::memrchr(b'\n', octets).map_or(0, |lf| lf as u32 + 1);
        self.lines = memchr::memchr_iter(b'\n', octets).count().min(u16::MAX.into()) as u16;
    }

    /// Looks at the octets that are new since [`remember`](Self::remember). `Ok`: the head is complete.
    #[cold]
    pub(crate) fn resume(
        &mut self,
        limits: &Limits,
        octets: &[u8],
        start_line: fn(&[u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        while let Some(lf) = memchr::memchr(b'\n', &octets[self.scanned as usize..]) {
            let next = self.scanned as usize + lf + 1;
            if self.check_line(limits, &octets[..next], start_line)? {
                return Ok(());
            }
            self.scanned = next as u32;
            self.line = next as u32;
            // Past the greatest limit, the parse of the whole head counts.
            self.lines = self.lines.saturating_add(1);
        }
        self.scanned = octets.len() as u32;
        let fault = match self.lines {
            0 => too_long(octets.len(), limits),
            _ if octets.len() > limits.head as usize => Some(Fault::HeadTooLarge),
            _ => None,
        };
        Err(fault.map_or(Stop::Incomplete, Stop::Fault))
    }

    /// Checks the line that ends `octets`. Tells whether it is the empty one.
    fn check_line(
        &self,
        limits: &Limits,
        octets: &[u8],
        start_line: fn(&[u8]) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        if self.lines == 0 {
            start_line(octets).map_err(|stop| judge_start(octets, limits, stop))?;
            return too_long(octets.len(), limits).map_or(Ok(false), |fault| Err(fault.into()));
        }
        let line = self.line as usize;
        let first = if self.lines == 1 { line } else { 0 };
        match field_line::parse(octets, line) {
            Err(stop) => Err(field_line::judge(octets, line, first, limits, stop)),
            Ok(_) if octets.len() > limits.head as usize => Err(Fault::HeadTooLarge.into()),
            Ok(Line::Empty { .. }) => Ok(true),
            Ok(_) if self.lines > limits.fields => Err(Fault::TooManyFields.into()),
            Ok(_) => Ok(false),
        }
    }
}

/// Whether a start line with its LF, `octets` long, breaks its limit.
pub(crate) fn too_long(octets: usize, limits: &Limits) -> Option<Fault> {
    match octets {
        // The limit counts what stands before the LF; with one more it has no room in 32 bits.
        n if n.saturating_sub(1) > limits.request_line as usize => Some(Fault::RequestLineTooLong),
        n if n > limits.head as usize => Some(Fault::HeadTooLarge),
        _ => None,
    }
}

/// Decides about a start line that could not be parsed, as [`field_line::judge`] does about field lines.
#[cold]
pub(crate) fn judge_start(octets: &[u8], limits: &Limits, stop: Stop) -> Stop {
    let lf = memchr::memchr(b'\n', octets);
    let len = lf.map_or(octets.len(), |lf| lf + 1);
    match (too_long(len, limits), lf) {
        (Some(fault), _) => fault.into(),
        (None, None) => Stop::Incomplete,
        (None, Some(_)) => stop,
    }
}
