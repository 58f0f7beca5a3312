//! FastCGI as an upstream engine: presents its records as the parts of an HTTP/1.1 response.
//!
//! The fields of a call are the request's parameters, prepared by the layer above.

use super::cause::Cause;
use hayami_fcgi::{Client, Event, RequestContent, RequestOptions, ResponseContent};
use hayami_h1::{ClientEvent, ClientReceived, CutShort, Limits};
use hayami_http::{FieldSection, ResponseHead};
use std::rc::Rc;

/// Called with what an application writes to its standard error.
pub type ErrorSink = Rc<dyn Fn(&[u8])>;

/// One connection to an application.
#[derive(Default)]
pub(super) struct FastCgi {
    client: Client,
    /// Receives the application's standard error.
    errors: Option<ErrorSink>,
}

impl FastCgi {
    /// Directs the application's standard error to `errors` until its next request.
    pub(super) fn tell(&mut self, errors: Option<ErrorSink>) {
        self.errors = errors;
    }

    pub(super) fn send_head(
        &mut self,
        last: bool,
        (method, params): (&[u8], &FieldSection),
        content: hayami_h1::RequestContent,
        out: &mut Vec<u8>,
    ) {
        let content = match content {
            hayami_h1::RequestContent::None => RequestContent::None,
            hayami_h1::RequestContent::Length(bytes) => RequestContent::Length(bytes),
            hayami_h1::RequestContent::Chunked => RequestContent::Unknown,
        };
        let options = RequestOptions { content, head_only: method == b"HEAD", keep: !last };
        let written = self.client.send_head(params, options, out);
        debug_assert!(written.is_ok(), "the connection is new, or fit");
    }

    pub(super) fn begin_chunk(&self, out: &mut Vec<u8>) -> usize {
        self.client.begin_chunk(out)
    }

    pub(super) fn end_chunk(&mut self, mark: usize, out: &mut Vec<u8>) {
        self.client.end_chunk(mark, out);
    }

    pub(super) fn send_end(&mut self, out: &mut Vec<u8>) -> Result<(), CutShort> {
        self.client.send_end(out).map_err(|cut| CutShort { missing: cut.missing })
    }

    pub(super) fn receive(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut ResponseHead,
    ) -> Result<ClientReceived, Cause> {
        let limits = limits_of(limits);
        let mut before = 0;
        loop {
            let received = self.client.receive(&limits, &input[before..], head).map_err(Cause::from)?;
            let consumed = before + received.consumed;
            let event = match received.event {
                Event::Errors(range) => {
                    self.say(&input[before + range.start..before + range.end]);
                    before = consumed;
                    continue;
                }
                Event::More => ClientEvent::More,
                Event::Response(content) => ClientEvent::Response(content_of(content)),
                Event::Content(range) => ClientEvent::Content(before + range.start..before + range.end),
                Event::End => ClientEvent::End,
            };
            return Ok(ClientReceived { consumed, event });
        }
    }

    fn say(&self, words: &[u8]) {
        if let Some(errors) = &self.errors {
            errors(words);
        }
    }

    pub(super) fn receive_eof(&mut self) -> Result<ClientEvent, Cause> {
        match self.client.receive_eof() {
            Ok(Event::End) => Ok(ClientEvent::End),
            Ok(_) => Ok(ClientEvent::More),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Whether the rest of the response is in the input.
    pub(super) fn is_complete_in(&self, input: &[u8]) -> bool {
        self.client.is_complete_in(input)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.client.is_idle()
    }

    pub(super) fn persists(&self) -> bool {
        self.client.persists()
    }
}

fn limits_of(limits: &Limits) -> hayami_fcgi::Limits {
    let defaults = hayami_fcgi::Limits::default();
    hayami_fcgi::Limits { head: limits.head, fields: limits.fields, content: limits.content, ..defaults }
}

fn content_of(content: ResponseContent) -> hayami_h1::ResponseContent {
    match content {
        ResponseContent::None => hayami_h1::ResponseContent::None,
        ResponseContent::Length(bytes) => hayami_h1::ResponseContent::Length(bytes),
        ResponseContent::Unknown => hayami_h1::ResponseContent::Chunked,
    }
}
