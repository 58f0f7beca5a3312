//! The two roles, by rustls' types for them: the interface between rustls' connections and the shared code.

use crate::Fault;
use rustls::kernel::KernelConnection;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ReadEarlyData, UnbufferedConnectionCommon, UnbufferedStatus};
use rustls::{Error, ExtractedSecrets};
use std::ops::DerefMut;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Server,
    Client,
}

/// A role, by rustls' type for it.
pub trait RustlsRole: Sized {
    /// Which one.
    const ROLE: Role;
    /// The TLS 1.2 handshake message that requests renegotiation.
    const RENEGOTIATION: u8;

    /// rustls' connection.
    type Connection: DerefMut<Target = UnbufferedConnectionCommon<Self>>;

    /// Processes records of the handshake.
    fn process<'c, 'i>(
        connection: &'c mut Self::Connection,
        bytes: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self>;

    /// Appends the early data to `plain`; returns the number of bytes read.
    fn read_early(early: ReadEarlyData<'_, '_, Self>, plain: &mut Vec<u8>) -> Result<usize, Error>;

    /// Takes the keys out.
    fn into_kernel(connection: Self::Connection)
    -> Result<(ExtractedSecrets, KernelConnection<Self>), Error>;

    /// Receives the content of a NewSessionTicket (RFC 8446 §4.6.1).
    fn take_ticket(kernel: &mut KernelConnection<Self>, ticket: &[u8]) -> Result<(), Fault>;

    /// Why a handshake failed, for the log.
    fn describe(error: &Error) -> String;
}

impl RustlsRole for ServerConnectionData {
    const ROLE: Role = Role::Server;
    const RENEGOTIATION: u8 = 1; // ClientHello

    type Connection = UnbufferedServerConnection;

    fn process<'c, 'i>(
        connection: &'c mut Self::Connection,
        bytes: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self> {
        connection.process_tls_records(bytes)
    }

    fn read_early(mut early: ReadEarlyData<'_, '_, Self>, plain: &mut Vec<u8>) -> Result<usize, Error> {
        let mut read = 0;
        while let Some(record) = early.next_record() {
            let record = record?;
            read += record.discard;
            plain.extend_from_slice(record.payload);
        }
        Ok(read)
    }

    fn into_kernel(
        connection: Self::Connection,
    ) -> Result<(ExtractedSecrets, KernelConnection<Self>), Error> {
        connection.dangerous_into_kernel_connection()
    }

    /// Clients send none.
    fn take_ticket(_: &mut KernelConnection<Self>, _: &[u8]) -> Result<(), Fault> {
        Err(Fault::Unexpected)
    }

    fn describe(error: &Error) -> String {
        error.to_string()
    }
}
