//! HTTP/2 (RFC 9113) as an engine: bytes in, events and bytes out. Both roles, [`Server`] and [`Client`].
//!
//! This crate has frames, streams, windows, settings, prioritization (RFC 9218), and budgets against peers
//! that cause useless work. It has no sockets, no clock, no content buffers and no knowledge of what a
//! request asks for. Field blocks are encoded and decoded by `hayami-hpack`.
//!
//! ```text
//!            input ──▶ receive ──▶ Event       frame ─ state ─ connection/ ─ field_block ─ request, response
//! caller            Server, Client
//!           output ◀── send_head, send_data    encode ─ connection/sending ─ schedule ─ window
//! ```
//!
//! ```
//! use hayami_h2::{Body, Config, Event, PREFACE, Server};
//! use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
//!
//! let config = Config::default();
//! let (mut server, mut head, mut out) = (Server::<()>::new(&config), RequestHead::default(), Vec::new());
//! server.start(&config, &mut out);
//! // The preface, empty SETTINGS, and GET http://a/ in a HEADERS frame.
//! let request = b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01a";
//! let input = [&PREFACE[..], b"\0\0\0\x04\0\0\0\0\0", request].concat();
//! let mut rest = &input[..];
//! loop {
//!     let received = server.receive(&config, 0, rest, &mut head, &mut out)?;
//!     rest = &rest[received.consumed..];
//!     match received.event {
//!         Event::More => break,
//!         Event::Request { key, .. } => {
//!             let (response, common) = (ResponseHead::new(Status::OK), FieldSection::default());
//!             let body = server.send_head(key, &response, Some(3), &common, 0, &mut out);
//!             if body == Body::Content && server.room(key) >= 3 {
//!                 server.send_data(key, b"hi\n", true, &mut out);
//!             }
//!         }
//!         _ => {}
//!     }
//! }
//! assert!(out.ends_with(b"\0\0\x03\0\x01\0\0\0\x01hi\n"));
//! # Ok::<(), hayami_h2::Fault>(())
//! ```
#![forbid(unsafe_code)]

mod abuse;
mod client;
mod code;
mod config;
mod connection;
mod encode;
mod event;
mod fault;
mod field_block;
mod frame;
mod priority;
mod request;
mod response;
mod schedule;
mod server;
mod state;
mod stream;
mod upgrade;
mod window;

pub use abuse::{Abuse, Kind};
pub use client::{Client, ClientEvent, ClientReceived, OutOfTurn, Request, RequestMemo, ResponseContent};
pub use code::ErrorCode;
pub use config::{Budget, Budgets, Config, DEFAULT};
pub use event::{Body, Event, Key, Received, RequestContent};
pub use fault::Fault;
pub use server::Server;
pub use upgrade::is_http2_settings;

/// What a client sends first, before its SETTINGS (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
