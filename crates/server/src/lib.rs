//! Generates responses: the configuration, the router, handlers, filters and logs.
//!
//! ```text
//! configuration file ─ config::yaml ─▶ nodes ─ features (directive tables) ─▶ Settings
//! Settings ─▶ Generation, once for all workers ─ service ─▶ Router of a worker: hosts ▶ paths ▶ handlers, filters, logs
//! net::Request ─ Router ─▶ handler ─▶ filters ─▶ net::Answer
//! ```
//!
//! Frames, sockets and timers are in the `net` crate; signals, users and descriptors of the process in the `hayami`
//! program.
#![forbid(unsafe_code)]

mod address_file;
mod address_set;
mod calendar;
pub mod client;
mod condition;
pub mod config;
mod content_source;
pub mod effective;
pub mod environment;
pub mod feature;
pub mod features;
mod generation;
mod gradually;
pub mod handler;
mod internal_target;
pub mod manual;
pub mod media_type;
pub mod modules;
mod network_table;
pub mod observe;
pub mod passed_limits;
mod pattern;
pub mod phase;
mod query;
pub mod router;
pub mod script;
pub mod service;
pub mod subrequest;
pub mod upstream_trace;
mod watched_file;
pub mod worker;

pub use generation::Generation;
