//! Requests that this program makes: connections to upstreams, opened, pooled and watched by the worker that needs them
//! (RFC 9110 §3.7).
//!
//! ```text
//! calling ── a call: attempts, until one has a response or no other may follow (retry)
//!    │
//!    ├─ dedicated ─ exchange ── on a connection of its own        engine (hayami_h1, hayami_fcgi)
//!    │                 │
//!    │              upstream ── connections that wait for their next request
//!    │                 │
//!    └─ http2::shared ─┤ ────── on a session that calls share       hayami_h2
//!                      │
//!                  io_stream ── bytes, in clear or over TLS
//!                      │
//!                  hayami_net::upstream_io ── what the worker's loop knows of them: events, deadlines
//! ```
//!
//! [`RawStream`] is a connection for any other protocol, [`RawPool`] keeps such ones; [`dial`] opens one that becomes a
//! tunnel.
//!
//! A [`Backend`] is one origin as one worker sees it; nothing here is shared between workers, and nothing
//! locks. Which backend a request goes to, what it says, and what a failure means to the client is the
//! affair of the layer above. All of it runs in the worker's loop: [`hayami_net::run`] hands out the
//! [`UpstreamIo`](hayami_net::upstream_io::UpstreamIo) that a backend begins with.
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
