//! Listeners for tests, with files that are never read.

use super::{Address, Host, HostPort, Listener, Options, ssl};
use crate::config::yaml::Position;
use std::path::PathBuf;

/// A listener on a port; with TLS if the name of a certificate is given.
pub(crate) fn listener(port: u16, certificate: Option<&str>) -> Listener {
    let name = |path: String| ssl::FileName { path: PathBuf::from(path), at: Position::NOWHERE };
    let files = |certificate: &str| ssl::Files {
        certificate: name(format!("{certificate}.crt")),
        key: name(format!("{certificate}.key")),
        ocsp: None,
    };
    Listener {
        at: Position::NOWHERE,
        address: Address::Tcp(HostPort { host: Host::All, port }),
        options: Options::default(),
        proxy_protocol: None,
        ssl: certificate.map(|certificate| Box::new(ssl::Settings::new(vec![files(certificate)]))),
    }
}
