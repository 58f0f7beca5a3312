//! The upload of a request's content, within the flow-control windows, and its replay on a retry.

use super::super::cause::Cause;
use super::session::Session;
use hayami_h2::{Key, RequestContent};
use hayami_http::{FieldSection, Source, SourceError};
use hayami_net::buffer::Pool;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The maximum number of content bytes to take at once.
const ROOM: usize = 64 * 1024;

/// Bytes kept until the response begins, for a retry if the upstream did not process the request: a server
/// that refuses a stream opens no window beyond the initial one, which is usually this large.
const KEPT: usize = 64 * 1024;

/// Content being sent.
pub(super) struct Upload {
    /// The remaining content.
    source: Option<Box<dyn Source>>,
    length: Option<u64>,
    taken: u64,
    /// The content taken so far, if it is small.
    kept: Vec<u8>,
    keeps: bool,
    /// Bytes of `kept` sent on the current stream.
    sent: usize,
    /// Trailers, once the content has been taken.
    trailers: Option<FieldSection>,
    /// The request is complete on the current stream.
    complete: bool,
}

/// The progress of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// All of it is written.
    Done,
    /// Waiting for send capacity.
    Blocked,
    /// Waiting for the client's content.
    Hungry,
}

impl Upload {
    pub(super) fn new(content: Option<Box<dyn Source>>) -> Self {
        let source = content.filter(|source| source.length() != Some(0));
        let length = source.as_ref().map_or(Some(0), |source| source.length());
        let (complete, kept) = (source.is_none(), Vec::new());
        Self { source, length, taken: 0, kept, keeps: true, sent: 0, trailers: None, complete }
    }

    /// The content that the request head announces.
    pub(super) fn announced(&self) -> RequestContent {
        match self.length {
            Some(0) => RequestContent::None,
            Some(length) => RequestContent::Length(length),
            None => RequestContent::Unknown,
        }
    }

    /// Whether all of it has been written.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Bytes taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether it can be sent again from the first byte.
    pub(super) fn can_repeat(&self) -> bool {
        self.keeps
    }

    /// Restarts the upload on another stream.
    pub(super) fn rewind(&mut self) {
        self.sent = 0;
        self.complete = self.announced() == RequestContent::None;
    }

    /// Drops the kept content: the upstream has it.
    pub(super) fn forget(&mut self) {
        if self.sent == self.kept.len() {
            (self.kept, self.sent, self.keeps) = (Vec::new(), 0, false);
        }
    }

    /// Turns the upload into content for another upstream, including what has been taken already.
    pub(super) fn into_content(self) -> Option<Box<dyn Source>> {
        if self.length == Some(0) || !self.keeps {
            return None;
        }
        match self.source {
            Some(source) if self.kept.is_empty() => Some(source),
            source => Some(Box::new(Again { upload: Self { source, sent: 0, ..self } })),
        }
    }

    /// Writes content until it or the send capacity is exhausted.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        pool: &Pool,
        session: &Rc<Session>,
        key: Key,
    ) -> Result<Sending, Cause> {
        while !self.complete {
            let room = session.room(key).min(ROOM);
            if self.sent < self.kept.len() {
                if room == 0 {
                    session.block(key);
                    return Ok(Sending::Blocked);
                }
                self.send_kept(session, key, room);
                continue;
            }
            let mut piece = pool.take();
            let filled = self.fill(cx, room, &mut piece);
            let waits = filled.map(|filled| self.write(filled, &piece, session, key));
            pool.give(piece);
            match waits? {
                None if room == 0 && !self.complete => {
                    session.block(key);
                    return Ok(Sending::Blocked);
                }
                None => {}
                Some(waits) => return Ok(waits),
            }
        }
        Ok(Sending::Done)
    }

    /// Writes `piece`. Returns what to wait for if nothing was taken.
    fn write(
        &mut self,
        filled: Poll<bool>,
        piece: &[u8],
        session: &Rc<Session>,
        key: Key,
    ) -> Option<Sending> {
        let Poll::Ready(last) = filled else { return Some(Sending::Hungry) };
        if last || !piece.is_empty() {
            session.send(key, piece, last, self.trailers.as_ref().filter(|_| last));
            self.complete = last;
        }
        None
    }

    fn send_kept(&mut self, session: &Rc<Session>, key: Key, room: usize) {
        let piece = &self.kept[self.sent..self.kept.len().min(self.sent + room)];
        self.sent += piece.len();
        let last = self.source.is_none() && self.sent == self.kept.len();
        session.send(key, piece, last, self.trailers.as_ref().filter(|_| last));
        self.complete = last;
    }

    /// Takes content. Ready with whether it was the last.
    fn fill(&mut self, cx: &mut Context<'_>, room: usize, out: &mut Vec<u8>) -> Result<Poll<bool>, Cause> {
        let Some(source) = &mut self.source else { return Ok(Poll::Ready(true)) };
        let filled = source.fill(cx, room, out);
        self.taken += out.len() as u64;
        self.keep(out);
        let filled = match filled {
            // Send what is available first.
            Poll::Pending if !out.is_empty() => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
            Poll::Ready(last) => Poll::Ready(last.map_err(Cause::Content)?),
        };
        if filled == Poll::Ready(true) {
            self.trailers = self.source.take().and_then(|mut source| source.trailers());
        }
        let wrong = match self.length {
            Some(length) if filled == Poll::Ready(true) => self.taken != length,
            Some(length) => self.taken > length,
            None => false,
        };
        if wrong {
            let why = "the content is not as long as was said";
            return Err(Cause::Content(SourceError(why.to_owned())));
        }
        Ok(filled)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.keeps && self.kept.len() + bytes.len() <= KEPT {
            self.kept.extend_from_slice(bytes);
            self.sent = self.kept.len();
        } else if !bytes.is_empty() {
            (self.kept, self.sent, self.keeps) = (Vec::new(), 0, false);
        }
    }
}

/// Content with the part already taken in front.
struct Again {
    upload: Upload,
}

impl Source for Again {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let Upload { source, kept, sent, .. } = &mut self.upload;
        if *sent < kept.len() {
            let end = kept.len().min(*sent + room);
            out.extend_from_slice(&kept[*sent..end]);
            *sent = end;
            return Poll::Ready(Ok(source.is_none() && end == kept.len()));
        }
        match source {
            Some(source) => source.fill(cx, room, out),
            None => Poll::Ready(Ok(true)),
        }
    }

    fn length(&self) -> Option<u64> {
        self.upload.length
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        let Upload { source, trailers, .. } = &mut self.upload;
        source.as_mut().map_or_else(|| trailers.take(), |source| source.trailers())
    }
}
