//! The client's part of the code that both roles share.

use super::tls_error::describe;
use crate::Fault;
use crate::session::{Greeted, Handshake, Progress, Role, RustlsRole, Side};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::unbuffered::{ReadEarlyData, UnbufferedStatus};
use rustls::{Error, ExtractedSecrets};

impl Side for ClientConnectionData {
    /// The ClientHello is ready, or out.
    type Waiting = Option<Box<Handshake<Self>>>;

    fn greet(waiting: &mut Self::Waiting, input: &[u8], _: &mut Vec<u8>) -> Result<Greeted<Self>, Fault> {
        match (input.first(), waiting.take()) {
            (Some(20..=24), Some(handshake)) => Ok(Greeted::By(handshake)), // content types (RFC 8446 §5.1)
            (None, handshake) => {
                *waiting = handshake;
                Ok(Greeted::Not(Progress::Handshaking))
            }
            (Some(b'H'), _) => Err(Fault::PlainHttp), // HTTP/1.1 400
            _ => Err(Fault::NotTls),
        }
    }
}

impl RustlsRole for ClientConnectionData {
    const ROLE: Role = Role::Client;
    const RENEGOTIATION: u8 = 0; // HelloRequest (RFC 5246 §7.4.1.1)

    type Connection = UnbufferedClientConnection;

    fn process<'c, 'i>(
        connection: &'c mut Self::Connection,
        bytes: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self> {
        connection.process_tls_records(bytes)
    }

    /// Clients send none, and servers receive none.
    fn read_early(_: ReadEarlyData<'_, '_, Self>, _: &mut Vec<u8>) -> Result<usize, Error> {
        Ok(0)
    }

    fn into_kernel(
        connection: Self::Connection,
    ) -> Result<(ExtractedSecrets, KernelConnection<Self>), Error> {
        connection.dangerous_into_kernel_connection()
    }

    fn take_ticket(kernel: &mut KernelConnection<Self>, ticket: &[u8]) -> Result<(), Fault> {
        kernel.handle_new_session_ticket(ticket).map_err(|_| Fault::Malformed)
    }

    fn describe(error: &Error) -> String {
        describe(error)
    }
}
