//! Content of requests over real sockets: it reaches who takes it, as fast as it is taken, and nobody else
//! is held up.

mod http1;
mod http2;
mod service;
