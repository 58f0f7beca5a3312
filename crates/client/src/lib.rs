//! Requests that this program makes: connections to upstreams, opened, pooled and watched by the worker that needs them
//! (RFC 9110 §3.7).
//!
//! ```text
//! call ─ exchange ── request out, head and content in     engine (hayami_h1, hayami_fcgi)
//!           │
//!        backend ─── connections that wait for their next request
//!           │
//!        channel ─── bytes, in clear or over TLS
//!           │
//!        hayami_net::upstream_io ── what the worker's loop knows of them: events, deadlines
//! ```
//!
//! Over HTTP/2 many calls share a connection: see `http2`. [`dial`] opens a connection for any other protocol.
//!
//! A [`Backend`] is one origin as one worker sees it; nothing here is shared between workers, and nothing
//! locks. Which backend a request goes to, what it says, and what a failure means to the client is the
//! affair of the layer above. All of it runs in the worker's loop: [`hayami_net::run`] hands out the
//! [`UpstreamIo`](hayami_net::upstream_io::UpstreamIo) that a backend begins with.
#![forbid(unsafe_code)]

mod backend;
mod body;
mod call;
mod calling;
mod connection;
mod engine;
mod exchange;
mod eyeballs;
mod fastcgi;
mod http2;
mod io_stream;
mod sending;
mod tls;
mod tunnel;

pub use backend::{BUFFER, Backend, Counters, Origin, Protocol, Timeouts, Tls};
pub use call::{
    Call, CallOptions, Cause, ErrorSink, Failure, InterimSink, OverHttp2, Phase, ProtocolFault, Reply, Timing,
};
pub use calling::{Calling, call};
pub use eyeballs::reach;
pub use tunnel::{Dialing, Switch, Tunnel, dial};
