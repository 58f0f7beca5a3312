//! Over HTTP/2.
