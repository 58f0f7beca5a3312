//! HTTP/2 (RFC 9113) as an engine: frames in, events and frames out.
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
pub use client::{Client, ClientEvent, ClientReceived, OutOfTurn, Request, ResponseContent};
pub use code::ErrorCode;
pub use config::{Budget, Budgets, Config, DEFAULT};
pub use event::{Body, Event, Key, Received, RequestContent};
pub use fault::Fault;
pub use server::Server;

/// What a client sends first, before its SETTINGS (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
