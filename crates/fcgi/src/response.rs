//! Responses: records in; heads, content and text for the log out.

use crate::client::{Client, Event, Reading, Received, ResponseContent};
use crate::fault::Fault;
use crate::head;
use crate::limits::Limits;
use crate::record::{HEADER, Header, ID, Kind, Records};
use hayami_http::ResponseHead;

/// Bytes of the content of END_REQUEST (FastCGI §5.5).
const END: usize = 8;

/// The result of reading bytes of a record.
enum Step {
    /// This many bytes at the front were consumed; continue with the next ones.
    Past(usize),
    /// Something for the caller.
    Found(Received),
}

fn found(consumed: usize, event: Event) -> Step {
    Step::Found(Received { consumed, event })
}

impl Client {
    /// Reads from the front of `input`: all bytes that were received and not yet consumed. `head` is filled in
    /// if the event is a response; until then it has to be the same in every call. Call it until it returns
    /// [`Event::More`].
    ///
    /// # Errors
    /// The rule that the application broke. The connection is of no use any more.
    pub fn receive(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut ResponseHead,
    ) -> Result<Received, Fault> {
        let result = self.receive_records(limits, input, head);
        if result.is_err() {
            self.reading = Reading::Closed;
        }
        result
    }

    fn receive_records(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut ResponseHead,
    ) -> Result<Received, Fault> {
        let mut at = 0;
        loop {
            if self.reading == Reading::Closed {
                return Ok(Received { consumed: input.len(), event: Event::More });
            }
            let rest = &input[at..];
            let step = match self.record {
                None => self.receive_header(limits, rest)?,
                Some(record) => self.receive_record(record, limits, rest, head)?,
            };
            match step {
                Some(Step::Past(bytes)) => at += bytes,
                Some(Step::Found(received)) => return Ok(offset_by(at, received)),
                None => return Ok(Received { consumed: at, event: Event::More }),
            }
        }
    }

    fn receive_header(&mut self, limits: &Limits, input: &[u8]) -> Result<Option<Step>, Fault> {
        let Some(bytes) = input.first_chunk::<HEADER>() else {
            // Do not wait for a peer that speaks another protocol.
            let other = input.first().is_some_and(|version| *version != 1);
            return if other { Err(Fault::Version) } else { Ok(None) };
        };
        let header = Header::read(bytes).ok_or(Fault::Version)?;
        self.check(&header)?;
        let useful = header.kind == Kind::Stdout && header.content > 0;
        let content = if useful { 0 } else { u64::from(header.content) };
        self.overhead += HEADER as u64 * u64::from(!useful) + content + u64::from(header.padding);
        if self.overhead > limits.overhead {
            return Err(Fault::TooMuchOverhead);
        }
        self.output_ended |= header.kind == Kind::Stdout && header.content == 0;
        self.record = Some(header);
        Ok(Some(Step::Past(HEADER)))
    }

    /// Whether the record is legal in this state.
    fn check(&self, header: &Header) -> Result<(), Fault> {
        if !self.is_waiting() {
            return Err(Fault::Unsolicited);
        }
        match header.kind {
            // Replies to management records that were not sent, and types of later versions (§4): ignored.
            Kind::Other if header.id == 0 => Ok(()),
            Kind::Other | Kind::Begin | Kind::Abort | Kind::Params | Kind::Stdin => {
                Err(Fault::UnexpectedRecord)
            }
            _ if header.id != ID => Err(Fault::RequestId),
            Kind::End if usize::from(header.content) != END => Err(Fault::EndSize),
            Kind::Stdout if self.output_ended && header.content > 0 => Err(Fault::OutputAfterEnd),
            _ => Ok(()),
        }
    }

    fn receive_record(
        &mut self,
        record: Header,
        limits: &Limits,
        input: &[u8],
        head: &mut ResponseHead,
    ) -> Result<Option<Step>, Fault> {
        let left = usize::from(record.content);
        if left == 0 {
            return Ok(self.skip_padding(record, input));
        }
        match record.kind {
            Kind::End => match input.first_chunk::<END>() {
                Some(end) => self.end(end).map(Some),
                None => Ok(None),
            },
            _ if input.is_empty() => Ok(None),
            Kind::Stdout => self.output(limits, &input[..left.min(input.len())], head).map(Some),
            kind => {
                let bytes = left.min(input.len());
                self.took(bytes);
                Ok(Some(match kind {
                    Kind::Stderr => found(bytes, Event::Errors(0..bytes)),
                    _ => Step::Past(bytes),
                }))
            }
        }
    }

    fn skip_padding(&mut self, record: Header, input: &[u8]) -> Option<Step> {
        let padding = usize::from(record.padding);
        if padding > input.len() {
            self.record = Some(Header { padding: record.padding - input.len() as u8, ..record });
            return (!input.is_empty()).then_some(Step::Past(input.len()));
        }
        self.record = None;
        Some(Step::Past(padding))
    }

    /// This many bytes of the record's content were consumed.
    fn took(&mut self, bytes: usize) {
        if let Some(record) = &mut self.record {
            record.content -= bytes as u16;
        }
    }

    /// Bytes of STDOUT: a head, or content.
    fn output(&mut self, limits: &Limits, bytes: &[u8], head: &mut ResponseHead) -> Result<Step, Fault> {
        match self.reading {
            Reading::Head => self.head(limits, bytes, head),
            Reading::EndOnly => self.unwanted(),
            _ => {
                let bytes = self.allowed(limits, bytes.len())?;
                self.content_received += bytes as u64;
                self.took(bytes);
                Ok(found(bytes, Event::Content(0..bytes)))
            }
        }
    }

    /// How many of these bytes of content are allowed. The allowed ones are delivered before the fault, so
    /// that the result does not depend on how the bytes were split.
    fn allowed(&self, limits: &Limits, bytes: usize) -> Result<usize, Fault> {
        let (most, fault) = match self.announced {
            Some(announced) => (announced, Fault::LongerThanAnnounced),
            None => (limits.content, Fault::ContentTooLarge),
        };
        match usize::try_from(most - self.content_received).unwrap_or(usize::MAX).min(bytes) {
            0 => Err(fault),
            allowed => Ok(allowed),
        }
    }

    /// Content where none is allowed: the response is reported without it, and the connection is not used
    /// again.
    fn unwanted(&mut self) -> Result<Step, Fault> {
        if self.announced == Some(0) && !self.is_head_only() {
            return Err(Fault::LongerThanAnnounced);
        }
        self.reading = Reading::Closed;
        Ok(found(0, Event::Response(ResponseContent::None)))
    }

    fn head(&mut self, limits: &Limits, bytes: &[u8], head: &mut ResponseHead) -> Result<Step, Fault> {
        let most = limits.head as usize;
        if !self.held.is_empty() {
            return self.resume_head(limits, bytes, head);
        }
        let Some(end) = head::end(bytes, 0) else {
            return self.hold(bytes, most).map(Step::Past);
        };
        if end > most {
            return Err(Fault::HeadTooLarge);
        }
        self.took(end);
        let said = head::parse(&bytes[..end], limits, head)?;
        self.begin_content(limits, said.length, end, head)
    }

    /// Keeps a piece of a head.
    #[cold]
    fn hold(&mut self, bytes: &[u8], most: usize) -> Result<usize, Fault> {
        if self.held.len() + bytes.len() > most {
            return Err(Fault::HeadTooLarge);
        }
        self.held.extend_from_slice(bytes);
        self.took(bytes.len());
        Ok(bytes.len())
    }

    #[cold]
    fn resume_head(&mut self, limits: &Limits, bytes: &[u8], head: &mut ResponseHead) -> Result<Step, Fault> {
        let (most, before) = (limits.head as usize, self.held.len());
        // An empty line that ends in the new bytes begins after the last line end before them.
        let line = memchr::memrchr(b'\n', &self.held).map_or(0, |lf| lf + 1);
        let room = most.saturating_sub(before).min(bytes.len());
        self.held.extend_from_slice(&bytes[..room]);
        let Some(end) = head::end(&self.held, line) else {
            if room < bytes.len() {
                return Err(Fault::HeadTooLarge);
            }
            self.took(room);
            return Ok(Step::Past(room));
        };
        let taken = end - before;
        self.took(taken);
        let held = std::mem::take(&mut self.held);
        let said = head::parse(&held[..end], limits, head)?;
        self.begin_content(limits, said.length, taken, head)
    }

    /// The head is complete; its last part took `consumed` bytes.
    fn begin_content(
        &mut self,
        limits: &Limits,
        announced: Option<u64>,
        consumed: usize,
        head: &ResponseHead,
    ) -> Result<Step, Fault> {
        self.announced = announced;
        if self.is_head_only() || head.status().forbids_content() || announced == Some(0) {
            self.reading = Reading::EndOnly;
            return Ok(Step::Past(consumed));
        }
        self.reading = Reading::Content;
        let content = match announced {
            Some(bytes) if bytes > limits.content => return Err(Fault::ContentTooLarge),
            Some(bytes) => ResponseContent::Length(bytes),
            None => ResponseContent::Unknown,
        };
        Ok(found(consumed, Event::Response(content)))
    }

    /// END_REQUEST.
    fn end(&mut self, [app @ .., protocol, _, _, _]: &[u8; END]) -> Result<Step, Fault> {
        match protocol {
            0 => {}
            1 => return Err(Fault::CannotMultiplex),
            2 => return Err(Fault::Overloaded),
            3 => return Err(Fault::UnknownRole),
            _ => return Err(Fault::ProtocolStatus),
        }
        self.app_status = app.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let event = match self.reading {
            Reading::Head => return Err(Fault::EndsBeforeHead),
            Reading::Content if !self.is_as_announced() => return Err(Fault::ShorterThanAnnounced),
            Reading::Content => Event::End,
            _ => Event::Response(ResponseContent::None),
        };
        // Its padding is read with the next response: applications that keep connections send none.
        let padding = self.record.take().map_or(0, |record| record.padding);
        self.reading = if padding > 0 { Reading::Closed } else { Reading::Nothing };
        Ok(found(END, event))
    }

    /// Whether the rest of the response is in the input, and nothing follows it: from here on
    /// [`receive`](Self::receive) returns content until [`Event::End`].
    pub fn is_complete_in(&self, input: &[u8]) -> bool {
        let under_way =
            self.record.map_or(0, |header| usize::from(header.content) + usize::from(header.padding));
        let Some(rest) = input.get(under_way..) else { return false };
        let mut records = Records::of(rest);
        let ends = records.by_ref().any(|(kind, _)| kind == Kind::End as u8);
        ends && records.read() == rest.len()
    }

    fn is_as_announced(&self) -> bool {
        self.announced.is_none_or(|announced| self.content_received == announced)
    }

    /// The application closed its side. Returns [`Event::End`] if the response is nevertheless complete,
    /// [`Event::More`] if no response was expected.
    ///
    /// # Errors
    /// [`Fault::ClosedEarly`]: the response is not complete.
    pub fn receive_eof(&mut self) -> Result<Event, Fault> {
        let result = match self.reading {
            Reading::Nothing | Reading::Closed => Ok(Event::More),
            Reading::Content if self.output_ended && self.is_as_announced() => Ok(Event::End),
            Reading::Content if self.announced == Some(self.content_received) => Ok(Event::End),
            _ => Err(Fault::ClosedEarly),
        };
        self.reading = Reading::Closed;
        result
    }
}

/// `received`, whose indices begin at `at` of the input.
fn offset_by(at: usize, received: Received) -> Received {
    let event = match received.event {
        Event::Content(range) => Event::Content(at + range.start..at + range.end),
        Event::Errors(range) => Event::Errors(at + range.start..at + range.end),
        event => event,
    };
    Received { consumed: at + received.consumed, event }
}
