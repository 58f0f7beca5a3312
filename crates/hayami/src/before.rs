//! What a reload starts from.

use crate::sockets::Sockets;
use hayami_server::Generation;
use hayami_server::config::settings::Settings;
use hayami_server::modules::listen::Acceptors;

/// The state that a reload starts from.
pub(crate) struct Before<'a> {
    /// The acceptors for TLS handshakes.
    pub acceptors: &'a Acceptors,
    /// The generation to serve.
    pub generation: &'a Generation,
    /// The bound sockets.
    pub sockets: &'a Sockets,
}

impl Before<'_> {
    /// The settings in force.
    pub(crate) fn settings(&self) -> &Settings {
        self.generation.settings()
    }
}
