//! What to answer: the configuration, the router, handlers, filters and logs.
//!
//! ```text
//! configuration file ─ config::yaml ─▶ nodes ─ config::registry (directive tables) ─▶ Settings
//! Settings ─ build ─▶ Router, once per worker: hosts ▶ paths ▶ handlers, filters, logs
//! net::Request ─ Router ─▶ handler ─▶ filters ─▶ net::Answer
//! ```
//!
//! Here is nothing of frames, sockets or timers (the `net` crate) and nothing of the process
//! (signals, user, descriptors: the `hayami` program).
#![forbid(unsafe_code)]

mod build;
mod calendar;
pub mod config;
mod content_source;
pub mod handler;
pub mod modules;
pub mod observe;
pub mod router;
pub mod service;
pub mod worker;

pub use build::build;
