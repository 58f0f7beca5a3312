//! The negotiated parameters of a finished handshake.

use crate::certificate::Certificate;
use crate::session::Role;
use crate::{Suite, Version};
use aws_lc_rs::digest::{SHA256, digest};
use rustls::{CommonState, HandshakeKind, ProtocolVersion};

/// The application protocol (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpn {
    /// `h2`
    H2,
    /// `http/1.1`
    Http11,
}

impl Alpn {
    /// Its identification sequence (RFC 7301 §6).
    pub fn id(self) -> &'static [u8] {
        match self {
            Self::H2 => b"h2",
            Self::Http11 => b"http/1.1",
        }
    }
}

/// The negotiated parameters of a finished handshake.
#[derive(Clone, Debug)]
pub struct Info {
    /// The protocol version.
    pub version: Version,
    /// The cipher suite.
    pub suite: Suite,
    /// The group of the key exchange, by rustls' name; `None` for a resumption without a key exchange.
    pub group: Option<&'static str>,
    /// The application protocol; `None` without ALPN.
    pub alpn: Option<Alpn>,
    /// The server name that the client sent, in lower case.
    pub server_name: Option<Box<str>>,
    /// An earlier session was resumed.
    pub resumed: bool,
    /// The client's verified certificate; servers only.
    pub client: Option<Box<ClientCertificate>>,
}

/// The reported fields of a client's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject (RFC 4514): `CN=alice,O=Example`.
    pub subject: String,
    /// SHA-256 of the whole certificate (DER).
    pub fingerprint: [u8; 32],
}

impl Info {
    /// `None` before the suite is agreed on.
    pub(crate) fn of(connection: &CommonState, server_name: Option<Box<str>>, by: Role) -> Option<Self> {
        Some(Self {
            version: match connection.protocol_version()? {
                ProtocolVersion::TLSv1_3 => Version::Tls13,
                _ => Version::Tls12,
            },
            suite: Suite(connection.negotiated_cipher_suite()?),
            group: connection.negotiated_key_exchange_group().and_then(|group| group.name().as_str()),
            alpn: match connection.alpn_protocol() {
                Some(b"h2") => Some(Alpn::H2),
                Some(_) => Some(Alpn::Http11),
                None => None,
            },
            server_name,
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
            client: match by {
                Role::Server => connection.peer_certificates().and_then(|chain| client(chain.first()?)),
                Role::Client => None,
            },
        })
    }
}

fn client(certificate: &[u8]) -> Option<Box<ClientCertificate>> {
    let mut fingerprint = [0; 32];
    fingerprint.copy_from_slice(digest(&SHA256, certificate).as_ref());
    let subject = Certificate::read(certificate).map(|read| read.subject()).unwrap_or_default();
    Some(Box::new(ClientCertificate { subject, fingerprint }))
}
