//! Sockets, timers and the loop: the only layer that touches the network.
//!
//! ```text
//! worker ── reactor ── connection ── exchange ── Service (the layer above)
//!           │  │  │      │     │         │
//!      accept  │ timer  socket output  hayami_h1 (octets ⇄ events)
//!            slots
//! ```
//!
//! One thread per worker, everything in it single-threaded. A connection costs no memory for octets
//! while it is idle, and no system call but one read and one write for each turn.
#![deny(unsafe_code)]

mod accept;
pub mod buffer;
pub mod clock;
mod cold;
mod connection;
mod exchange;
pub mod listen;
pub mod output;
mod reactor;
pub mod service;
mod slots;
pub mod socket;
pub mod timer;
mod waker;
pub mod worker;

pub use accept::Quota;
pub use clock::{Clock, Instant};
pub use worker::{Config, Listener, Phase, Timeouts, run};
