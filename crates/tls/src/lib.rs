//! TLS 1.2 and 1.3 without sockets: bytes in, bytes out.
//!
//! This crate has the [`Session`] of a server's connection, the [`Acceptor`] with a listener's handshake
//! configurations, their settings ([`Settings`], [`Identity`]), resumption stores and OCSP staples. Only the
//! remote stores and the fetching of staples touch the network, from their own threads. Clients have a
//! [`ClientSession`], started with a [`Connector`]; once open, both roles are the same code. No other crate
//! names rustls.
//!
//! ```text
//! records ──▶ Session::receive ──▶ plain, Progress        Acceptor ◀── Settings ◀── Identity ◀── Staple
//! records ◀── Session::seal ◀───── plain                           ◀── Resumption
//!             ClientSession: likewise                     Connector ◀── ClientSettings ◀── Trust
//! ```
#![forbid(unsafe_code)]

mod acceptor;
mod certificate;
mod choice;
mod client;
mod der;
mod error;
mod fault;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod identity;
mod info;
mod known_keys;
/// OCSP staples (RFC 6066 §8).
pub mod ocsp;
/// Session resumption: session cache, tickets, remote stores.
pub mod resumption;
mod session;
mod settings;

pub use acceptor::{Acceptor, Block};
pub use choice::{Choice, Group, NamedVersion, Suite, Version, groups, suites_tls12, suites_tls13};
pub use client::{ClientSession, ClientSettings, ClientSide, Connector, Sessions, Trust};
pub use error::Error;
pub use fault::Fault;
pub use identity::Identity;
pub use info::{Alpn, ClientCertificate, Info};
pub use ocsp::Staple;
pub use resumption::{Lookup, Resumption};
pub use session::{Progress, ServerSide, Session, SessionCommon, Side};
pub use settings::{Authorities, Settings};
