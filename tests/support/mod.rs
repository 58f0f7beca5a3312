//! What every black-box test needs: a folder of its own, the program started in front of it, a client that
//! speaks octets, and waiting for something to become true.
//!
//! Nothing here knows what the program should answer; that stands in the tests.

mod answer;
mod client;
mod launch;
mod scratch;
mod server;
mod tools;
mod wait;

pub use answer::Answer;
pub use client::Client;
pub use launch::{Finished, Launch, is_root};
pub use scratch::Scratch;
pub use server::Server;
pub use tools::{missing, output};
pub use wait::{PATIENCE, until, until_some};
