//! What to answer: the configuration, the router, handlers, filters and logs.
//!
//! ```text
//! configuration file ─ config::yaml ─▶ nodes ─ config::registry (directive tables) ─▶ Settings
//! Settings ─▶ Generation, once for all workers ─ service ─▶ Router of a worker: hosts ▶ paths ▶ handlers, filters, logs
//! net::Request ─ Router ─▶ handler ─▶ filters ─▶ net::Answer
//! ```
//!
//! Here is nothing of frames, sockets or timers (the `net` crate) and nothing of the process
//! (signals, user, descriptors: the `hayami` program).
#![forbid(unsafe_code)]

mod calendar;
pub mod client;
pub mod config;
mod content_source;
mod generation;
pub mod handler;
mod internal_target;
pub mod media_type;
pub mod modules;
mod network_table;
pub mod observe;
mod pattern;
pub mod phase;
pub mod router;
pub mod service;
pub mod subrequest;
mod watched_file;
pub mod worker;

pub use generation::Generation;
