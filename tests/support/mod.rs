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

pub(crate) use answer::Answer;
pub(crate) use client::Client;
pub(crate) use launch::{Launch, is_root};
pub(crate) use scratch::Scratch;
pub(crate) use server::Server;
pub(crate) use tools::{missing, output};
pub(crate) use wait::{PATIENCE, until, until_some};
