//! How a session begins, in either role.

use super::role::RustlsRole;
use super::{Handshake, Progress};
use crate::Fault;
use rustls::server::ServerConnectionData;

/// A role.
pub trait Side: RustlsRole {
    /// The state before the peer's first handshake message.
    type Waiting;

    /// Starts the handshake with the peer's first handshake message, if it is complete. An error ends the session.
    fn greet(waiting: &mut Self::Waiting, input: &[u8], out: &mut Vec<u8>) -> Result<Greeted<Self>, Fault>;
}

/// The result of a first handshake message.
pub enum Greeted<S: Side> {
    /// Nothing yet.
    Not(Progress),
    /// This handshake.
    By(Box<Handshake<S>>),
}

impl Side for ServerConnectionData {
    type Waiting = super::Greeting;

    fn greet(waiting: &mut Self::Waiting, input: &[u8], out: &mut Vec<u8>) -> Result<Greeted<Self>, Fault> {
        waiting.receive_hello(input, out)
    }
}
