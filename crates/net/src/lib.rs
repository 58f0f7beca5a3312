//! Sockets, timers and the loop: the only layer that touches the network.
//!
//! ```text
//! worker ── reactor ── connection ── session ─┬ http1 ─┬─ exchange ── Service (the layer above)
//!           │  │         │      │             └ http2     hayami_h1, hayami_h2 (bytes ⇄ events)
//!      accept  poll      │    output
//!                     transport ┬ socket
//!                               └ tls_stream (hayami_tls)
//! ```
//!
//! One thread per worker, everything in it single-threaded. A connection costs no memory for bytes
//! while it is idle, and no system call but one read and one write for each turn.
#![deny(unsafe_code)]

mod accept;
pub mod blocking;
pub mod buffer;
mod byte_budget;
pub mod clock;
mod cold;
mod common;
mod connection;
pub mod contain;
pub mod dial;
mod exchange;
mod http1;
mod http2;
mod link;
pub mod listen;
pub mod liveness;
mod local_time;
pub mod names;
mod network;
pub mod output;
mod pace;
mod placement;
pub mod poll;
pub mod proxy_protocol;
mod reactor;
mod refusal;
mod request_body;
mod runtime;
pub mod service;
mod session;
pub mod socket;
pub mod socket_option;
pub mod tls_stream;
pub mod transport;
pub mod turn_budget;
mod update;
mod upgrade;
pub mod upstream_io;
mod waker;
pub mod worker;

pub use accept::Quota;
pub use byte_budget::{ByteBudget, ByteShare};
pub use clock::{Clock, Instant};
pub use cold::would_wait;
pub use network::Network;
pub use update::{ListenerUpdate, MakeService, Update, Updates};
pub use worker::{Config, Http2Config, Listener, Phase, Timeouts, run, run_with_updates};
