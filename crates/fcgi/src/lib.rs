//! FastCGI 1.0 as an engine: bytes in, events and bytes out.
//!
//! Here is the web server's side of a connection to an application: the records of a request and of its
//! response, and the head of a CGI response (RFC 3875 §6). Here are no sockets, no clock, no buffers, and
//! nothing that knows what a request's parameters mean.
//!
//! ```text
//!            input ──▶ receive ──▶ Event     header ─ STDOUT ─ head, content       (record, response, head)
//! caller                Client                      ├ STDERR ─ words for a log
//!           output ◀── send_head, …_chunk           └ END_REQUEST                  (request, params)
//! ```
//!
//! A connection carries one request at a time: no application in use accepts more.
//!
//! ```
//! use hayami_fcgi::{RequestOptions, Client, Event, Limits, ResponseContent};
//! use hayami_http::{FieldSection, ResponseHead, Status};
//!
//! let (mut client, mut out) = (Client::new(), Vec::new());
//! let mut params = FieldSection::default();
//! params.append(b"SCRIPT_FILENAME", b"/srv/index.php");
//! client.send_head(&params, RequestOptions::default(), &mut out).unwrap();
//!
//! // STDOUT with 20 bytes, then END_REQUEST.
//! let input = b"\x01\x06\0\x01\0\x14\0\0Content-type: a/b\n\n!\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0";
//! let (limits, mut head) = (Limits::default(), ResponseHead::new(Status::OK));
//! let received = client.receive(&limits, input, &mut head).unwrap();
//! assert_eq!(received.event, Event::Response(ResponseContent::Unknown));
//! let rest = &input[received.consumed..];
//! assert_eq!(client.receive(&limits, rest, &mut head).unwrap().event, Event::Content(0..1));
//! assert_eq!(client.receive(&limits, &rest[1..], &mut head).unwrap().event, Event::End);
//! ```
#![forbid(unsafe_code)]

mod client;
mod fault;
mod head;
mod limits;
mod params;
mod record;
mod request;
mod response;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use client::{Client, Event, Received, ResponseContent};
pub use fault::Fault;
pub use limits::Limits;
pub use record::{ROOM, Records};
pub use request::{CutShort, OutOfTurn, RequestContent, RequestOptions};
