//! Sockets, timers and the loop: the only layer that touches the network.
//!
//! ```text
//! worker ── accept ── connection (a task) ── exchange ── Service (the layer above)
//!    │                   │        │              │
//!  timer               socket   output         hayami_h1 (octets ⇄ events)
//! ```
//!
//! One thread per worker, everything in it single-threaded. A connection costs no memory for octets
//! while it is idle, and no system call but one read and one write for each turn.
#![deny(unsafe_code)]

mod accept;
pub mod buffer;
pub mod clock;
mod connection;
mod exchange;
pub mod listen;
pub mod output;
mod register;
pub mod service;
pub mod socket;
pub mod timer;
pub mod worker;

pub use accept::Quota;
pub use clock::Clock;
pub use worker::{Config, Listener, Phase, Timeouts, run};
