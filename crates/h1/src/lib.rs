//! HTTP/1.1 (RFC 9112) as an engine: bytes in, events and bytes out.
//!
//! Here are both roles of a connection, [`Server`] and [`Client`], the parser and the writer of heads, and
//! the chunked coding. Here are no sockets, no clock, no buffers and no knowledge of what a request asks for.
//!
//! ```text
//!            input ──▶ receive ──▶ Event        request line ─ field lines ─ framing ─ content
//! caller                 Server                 (request_line) (field_line)  (framing) (incoming, chunked)
//!           output ◀── send_head, send_content, send_end                     (encode, outgoing)
//! ```
//!
//! ```
//! use hayami_h1::{Event, Limits, Next, RequestContent, Server};
//! use hayami_http::{RequestHead, ResponseHead, Status};
//!
//! let (mut server, mut head, mut out) = (Server::new(), RequestHead::default(), Vec::new());
//! let input = b"GET /hello HTTP/1.1\r\nhost: example.org\r\n\r\n";
//! let received = server.receive(&Limits::default(), input, &mut head).unwrap();
//! assert_eq!((received.consumed, received.event), (input.len(), Event::Request(RequestContent::None)));
//! assert_eq!(head.path(), b"/hello");
//!
//! server.send_head(&ResponseHead::new(Status::OK), Some(3), b"server: hayami\r\n", &mut out);
//! server.send_content(b"hi\n", &mut out);
//! assert_eq!(out, b"HTTP/1.1 200 OK\r\nserver: hayami\r\ncontent-length: 3\r\n\r\nhi\n");
//! assert_eq!(server.next(), Next::KeepAlive);
//! ```
#![forbid(unsafe_code)]

mod bytes;
mod chunk_extension;
mod chunked;
mod client;
mod encode;
mod fault;
mod field_line;
mod framing;
mod head;
mod incoming;
mod limits;
mod outgoing;
mod request_line;
mod server;
mod state;
mod status_line;
#[cfg(test)]
mod testing;
mod trailer;

pub use client::{Client, ClientEvent, ClientReceived, LastHead, OutOfTurn, ResponseContent};
pub use fault::Fault;
pub use limits::Limits;
pub use server::{CutShort, Event, Framing, Next, Received, RequestContent, Server};
