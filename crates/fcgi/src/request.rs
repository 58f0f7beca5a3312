//! Requests: the beginning, the parameters, content and its end, written to the caller's buffer.

use crate::client::{Client, Sending};
use crate::params;
use crate::record::{self, Kind};
use hayami_http::FieldSection;
use std::fmt;

/// RESPONDER (FastCGI §6.2), the only role that is in use.
const RESPONDER: u8 = 1;

/// What is requested of the application besides the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// What content follows. The caller makes sure that CONTENT_LENGTH agrees.
    pub content: RequestContent,
    /// The method is HEAD: no content is expected.
    pub head_only: bool,
    /// The connection stays open after the response (FCGI_KEEP_CONN, §5.1).
    pub keep: bool,
}

/// What follows a request's parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestContent {
    /// Nothing.
    #[default]
    None,
    /// This many bytes.
    Length(u64),
    /// An unknown number of bytes.
    Unknown,
}

/// A request cannot be sent now: another one is in progress, or the connection is to close. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTurn;

impl fmt::Display for OutOfTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this connection takes no request now")
    }
}

impl std::error::Error for OutOfTurn {}

/// Content ended before its length was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// Bytes that are missing.
    pub missing: u64,
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of the announced content are missing", self.missing)
    }
}

impl std::error::Error for CutShort {}

impl Client {
    /// Writes BEGIN_REQUEST and all of PARAMS (§6.2); without content, the end of STDIN too.
    ///
    /// # Errors
    /// [`can_send`](Self::can_send) is false.
    pub fn send_head(
        &mut self,
        params: &FieldSection,
        options: RequestOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), OutOfTurn> {
        if !self.can_send() {
            return Err(OutOfTurn);
        }
        record::push(Kind::Begin, &[0, RESPONDER, options.keep.into(), 0, 0, 0, 0, 0], out);
        let mark = record::begin(out);
        params.iter().for_each(|(name, value)| params::push(name, value, out));
        record::end(Kind::Params, mark, out);
        record::push_empty(Kind::Params, out);
        let sending = match options.content {
            RequestContent::None | RequestContent::Length(0) => {
                record::push_empty(Kind::Stdin, out);
                Sending::Nothing
            }
            RequestContent::Length(bytes) => Sending::Length(bytes),
            RequestContent::Unknown => Sending::Unknown,
        };
        self.begin_request(sending, options.head_only, options.keep);
        Ok(())
    }

    /// Writes content, as one record or as many as it needs. What exceeds the announced length is dropped.
    pub fn send_content(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mark = self.begin_chunk(out);
        out.extend_from_slice(bytes);
        self.end_chunk(mark, out);
    }

    /// Starts a record of content that its producer then appends to `out`, [`ROOM`](crate::ROOM) bytes at
    /// best; [`end_chunk`](Self::end_chunk) gets the mark.
    pub fn begin_chunk(&self, out: &mut Vec<u8>) -> usize {
        record::begin(out)
    }

    /// Ends the record begun at `mark`. One without content leaves no trace.
    pub fn end_chunk(&mut self, mark: usize, out: &mut Vec<u8>) {
        let came = (out.len() - mark - record::HEADER) as u64;
        let allowed = match &mut self.sending {
            Sending::Nothing => 0,
            Sending::Unknown => came,
            Sending::Length(left) => {
                let allowed = came.min(*left);
                *left -= allowed;
                allowed
            }
        };
        out.truncate(out.len() - (came - allowed) as usize);
        record::end(Kind::Stdin, mark, out);
        self.end_if_sent(out);
    }

    fn end_if_sent(&mut self, out: &mut Vec<u8>) {
        if self.sending == Sending::Length(0) {
            record::push_empty(Kind::Stdin, out);
            self.sending = Sending::Nothing;
        }
    }

    /// Ends the content. Does nothing if it is complete already.
    ///
    /// # Errors
    /// Bytes of the announced length are missing; the connection must close.
    pub fn send_end(&mut self, out: &mut Vec<u8>) -> Result<(), CutShort> {
        match std::mem::replace(&mut self.sending, Sending::Nothing) {
            Sending::Nothing => Ok(()),
            Sending::Unknown => {
                record::push_empty(Kind::Stdin, out);
                Ok(())
            }
            Sending::Length(missing) => {
                self.close_later();
                Err(CutShort { missing })
            }
        }
    }

    /// Writes ABORT_REQUEST (§5.4), if a request is in progress: its response is no longer wanted. The
    /// application may still respond, and the connection accepts no other request.
    pub fn send_abort(&mut self, out: &mut Vec<u8>) {
        if self.is_waiting() {
            record::push_empty(Kind::Abort, out);
            self.close_later();
        }
    }
}
