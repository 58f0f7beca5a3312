//! One connection to an application, and the progress of the request on it.

use crate::record::Header;
use std::ops::Range;

/// One connection as the web server sees it. It holds no bytes but those of a head that came in pieces.
#[derive(Debug)]
pub struct Client {
    pub(crate) reading: Reading,
    pub(crate) sending: Sending,
    /// The rest of the record being read.
    pub(crate) record: Option<Header>,
    /// A head that is not complete.
    pub(crate) held: Vec<u8>,
    /// Bytes that carried neither head nor content.
    pub(crate) overhead: u64,
    /// Content received.
    pub(crate) content_received: u64,
    /// Content that the head announced.
    pub(crate) announced: Option<u64>,
    pub(crate) output_ended: bool,
    pub(crate) app_status: u32,
    head_only: bool,
    keeps: bool,
}

/// What the application is expected to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Idle: no request is in progress.
    Nothing,
    /// The response's head.
    Head,
    /// Its content.
    Content,
    /// No content, only the end of the request; the response is handed over with it.
    EndOnly,
    /// Nothing more.
    Closed,
}

/// What is still to be sent of a request's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Nothing,
    Length(u64),
    Unknown,
}

/// What [`Client::receive`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes at the front of the input that were consumed; the caller drops them after it has handled the
    /// event.
    pub consumed: usize,
    /// What was found in them.
    pub event: Event,
}

/// A piece of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing yet: call again when there is more input.
    More,
    /// A response; its head was filled in.
    Response(ResponseContent),
    /// Content of the response, at these indices of the input; they are the last that are consumed.
    Content(Range<usize>),
    /// Text for a log, at these indices of the input: what the application wrote to its standard error.
    Errors(Range<usize>),
    /// The response is complete, and the request is finished.
    End,
}

/// What follows a response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseContent {
    /// Nothing more, not even [`Event::End`]: the request is finished.
    None,
    /// This many bytes, more than zero, then [`Event::End`].
    Length(u64),
    /// An unknown number of bytes, then [`Event::End`].
    Unknown,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Client {
    /// A connection on which nothing was sent.
    pub fn new() -> Self {
        Self {
            reading: Reading::Nothing,
            sending: Sending::Nothing,
            record: None,
            held: Vec::new(),
            overhead: 0,
            content_received: 0,
            announced: None,
            output_ended: false,
            app_status: 0,
            head_only: false,
            keeps: true,
        }
    }

    /// Whether a request may be sent now.
    pub fn can_send(&self) -> bool {
        self.is_idle()
    }

    /// Whether the last request is finished and another one may be sent on this connection.
    pub fn is_idle(&self) -> bool {
        self.reading == Reading::Nothing && self.sending == Sending::Nothing && self.keeps
    }

    /// Whether the application keeps the connection open, as far as is known yet.
    pub fn persists(&self) -> bool {
        self.keeps && self.reading != Reading::Closed
    }

    /// The status with which the application ended its last request (§5.5): 0 for success. PHP sends 255
    /// after a fatal error.
    pub fn app_status(&self) -> u32 {
        self.app_status
    }

    /// Whether a response, or the rest of one, is still to come.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.reading, Reading::Head | Reading::Content | Reading::EndOnly)
    }

    pub(crate) fn begin_request(&mut self, sending: Sending, head_only: bool, keeps: bool) {
        (self.reading, self.sending) = (Reading::Head, sending);
        (self.head_only, self.keeps) = (head_only, keeps);
        (self.overhead, self.content_received, self.announced) = (0, 0, None);
        (self.output_ended, self.app_status) = (false, 0);
    }

    /// No other request is sent on this connection.
    pub(crate) fn close_later(&mut self) {
        self.keeps = false;
    }

    /// Whether the response to the request at hand can have no content, whatever its head says.
    pub(crate) fn is_head_only(&self) -> bool {
        self.head_only
    }
}
