//! What HTTP/2 of the races runs over: TCP as it is, or TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::tls;

/// A blocking stream.
pub(super) enum Transport {
    Clear(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Transport {
    /// Over a connected socket. With TLS the ClientHello is sent; the rest of the handshake is done
    /// when the first octets are written.
    pub(super) fn begin(mut socket: TcpStream, tls: Option<&Arc<ClientConfig>>) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let Some(config) = tls else { return Ok(Self::Clear(socket)) };
        let mut connection = ClientConnection::new(config.clone(), tls::name()).map_err(io::Error::other)?;
        connection.write_tls(&mut socket)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, socket))))
    }

    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Clear(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

impl Read for Transport {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Clear(socket) => socket.read(octets),
            Self::Tls(stream) => stream.read(octets),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Clear(socket) => socket.write(octets),
            Self::Tls(stream) => stream.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Clear(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
