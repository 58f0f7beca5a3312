//! Request content over real sockets: it reaches its reader as fast as that takes it, and does not delay other
//! requests.

mod http1;
mod http2;
mod service;
