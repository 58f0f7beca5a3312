//! Sockets, timers and the event loop: the only layer that touches the network.
//!
//! ```text
//! worker ── reactor ── connection ── session ─┬ http1 ─┬─ exchange ── Service (the layer above)
//!           │  │         │      │             └ http2     hayami_h1, hayami_h2 (bytes ⇄ events)
//!      accept  poll      │    output
//!                     transport ┬ socket
//!                               └ tls_stream (hayami_tls)
//! ```
//!
//! Each worker is one thread, and all of its state is single-threaded. An idle connection has no buffers, and a turn
//! needs only two system calls: one read and one write.
#![deny(unsafe_code)]

mod accept;
mod any_session;
pub mod blocking;
pub mod buffer;
mod byte_budget;
pub mod clock;
mod cold;
mod common;
mod connection;
pub mod contain;
mod cpu_turn;
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
mod quota;
mod reactor;
mod refusal;
mod request_body;
pub mod run;
mod runtime;
pub mod service;
mod session;
pub mod socket;
pub mod socket_option;
mod timeouts;
pub mod tls_stream;
pub mod transport;
pub mod turn_budget;
mod update;
mod upgrade;
pub mod upstream_io;
mod waker;
mod worker;

pub use accept::Listener;
pub use byte_budget::{ByteBudget, ByteShare};
pub use clock::{Clock, Instant};
pub use cold::would_wait;
pub use cpu_turn::CpuTurn;
pub use network::Network;
pub use quota::Quota;
pub use run::{Config, Phase, run, run_with_updates};
pub use timeouts::Timeouts;
pub use update::{ListenerUpdate, MakeService, Update, Updates};
pub use worker::Http2Config;
