//! The client role: connections to upstreams, opened, pooled and watched by the worker that needs them
//! (RFC 9110 §3.7).
//!
//! ```text
//! calling ── a call: attempts, until one gets a response or no further attempt is allowed (retry)
//!    │
//!    ├─ dedicated ─ exchange ── on a dedicated connection         engine (hayami_h1, hayami_fcgi)
//!    │                 │
//!    │              upstream ── idle connections
//!    │                 │
//!    └─ http2::shared ─┤ ────── on a shared session               hayami_h2
//!                      │
//!                  io_stream ── bytes, in cleartext or over TLS
//!                      │
//!                  hayami_net::upstream_io ── the worker's event loop: events, deadlines
//! ```
//!
//! [`RawStream`] is a connection for any other protocol, and [`RawPool`] pools such connections; [`dial`]
//! opens one that becomes a tunnel.
//!
//! A [`Backend`] is one origin, per worker; nothing here is shared between workers, and nothing locks.
//! Selecting the backend, composing the request and turning a failure into a response is up to the layer
//! above. All of it runs in the worker's event loop: [`hayami_net::run`] provides the
//! [`UpstreamIo`](hayami_net::upstream_io::UpstreamIo) that a backend is created with.
#![forbid(unsafe_code)]

mod announced;
mod attempt;
mod backend;
mod body;
mod call;
mod calling;
mod cause;
mod connection;
mod dedicated;
mod engine;
mod exchange;
mod eyeballs;
mod fastcgi;
mod http2;
mod io_stream;
mod origin;
mod raw_pool;
mod raw_stream;
mod reply;
mod retry;
mod sending;
mod tls;
mod tunnel;
mod upstream;

pub use backend::Backend;
pub use call::{Call, CallOptions, InterimSink, OverHttp2, Switch};
pub use calling::{Calling, call};
pub use cause::{Cause, Phase, ProtocolFault};
pub use eyeballs::reach;
pub use fastcgi::ErrorSink;
pub use origin::{BUFFER, Origin, Protocol, Timeouts, Tls};
pub use raw_pool::RawPool;
pub use raw_stream::RawStream;
pub use reply::{Failure, Reply, Timing};
pub use tunnel::{Dialing, Tunnel, dial};
pub use upstream::Counters;
