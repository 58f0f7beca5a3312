//! Support for black-box tests: a scratch directory, the running program, a byte-level client, and waiting
//! for conditions; for HTTP/2 and TLS a frame-level client, certificates, and third-party programs.
//!
//! The expected responses are in the tests, not here.

mod answer;
mod client;
mod launch;
mod scratch;
mod server;
mod skip;
mod stage;
mod tools;
mod wait;

pub(crate) mod bench;
pub(crate) mod certificates;
pub(crate) mod dns;
pub(crate) mod h2;
pub(crate) mod hpack;
pub(crate) mod peers;
pub(crate) mod strict;
pub(crate) mod tls;
pub(crate) mod upstream;

pub(crate) use answer::Answer;
pub(crate) use client::Client;
pub(crate) use h2::Wire;
pub(crate) use launch::{Finished, Launch, PROGRAM, is_root, needs_root};
pub(crate) use scratch::Scratch;
pub(crate) use server::Server;
pub(crate) use skip::skip;
pub(crate) use stage::{said_of_staged, staged};
pub(crate) use tools::{
    chromium, is_installed, missing, missing_module, missing_package, missing_perl, output, php_fpm, run,
};
pub(crate) use wait::{PATIENCE, until, until_some};
