//! What one `ssl` block of a configuration says.

use crate::{Group, Identity, Suite, Version};

/// The settings of one `ssl` block: plain data, all files read.
#[derive(Debug)]
pub struct Settings {
    /// Chosen among by the signature schemes of the client.
    pub identities: Vec<Identity>,
    /// The lowest version spoken.
    pub min_version: Version,
    /// The highest version spoken.
    pub max_version: Version,
    /// TLS 1.2 suites, most wanted first; `None` for ours.
    pub suites_tls12: Option<Vec<Suite>>,
    /// TLS 1.3 suites, most wanted first; `None` for ours.
    pub suites_tls13: Option<Vec<Suite>>,
    /// Our order of suites counts, rather than the client's.
    pub server_preference: bool,
    /// Groups of the key exchange, most wanted first; `None` for ours.
    pub groups: Option<Vec<Group>>,
    /// Who may connect at all; `None` for everyone.
    pub client_ca: Option<ClientCa>,
    /// Octets of early data accepted (0-RTT, RFC 8446 §2.3); 0 for none.
    pub early_data: u32,
    /// HTTP/2 is offered.
    pub alpn_h2: bool,
}

/// The authorities whose clients may connect.
#[derive(Clone, Debug)]
pub struct ClientCa {
    pub(crate) roots: std::sync::Arc<rustls::RootCertStore>,
}
