//! Sockets, timers and the loop: the only layer that touches the network.

pub mod clock;
pub mod service;

pub use clock::Clock;
