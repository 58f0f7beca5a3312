//! Versions, cipher suites and groups by the names that configurations use.

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suite(pub(crate) rustls::SupportedCipherSuite);

/// A group of the key exchange.
#[derive(Clone, Copy, Debug)]
pub struct Group(pub(crate) &'static dyn rustls::crypto::SupportedKxGroup);

/// What a list of names means, in its order.
#[derive(Clone, Debug)]
pub struct Choice<T> {
    /// What we can do, most wanted first.
    pub chosen: Vec<T>,
    /// The names of what we leave out.
    pub ignored: Vec<String>,
}

/// TLS 1.2 suites of an OpenSSL cipher string (`ECDHE-ECDSA-AES128-GCM-SHA256:!aNULL:…`).
pub fn suites_tls12(_names: &str) -> Choice<Suite> {
    Choice { chosen: Vec::new(), ignored: Vec::new() }
}

/// TLS 1.3 suites by their names.
pub fn suites_tls13<'a>(_names: impl IntoIterator<Item = &'a str>) -> Choice<Suite> {
    Choice { chosen: Vec::new(), ignored: Vec::new() }
}

/// Groups by their names (`x25519`, `secp256r1` or `P-256`, `X25519MLKEM768`).
pub fn groups<'a>(_names: impl IntoIterator<Item = &'a str>) -> Choice<Group> {
    Choice { chosen: Vec::new(), ignored: Vec::new() }
}
