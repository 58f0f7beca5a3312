//! A socket, TLS over it if requested, and bytes not yet sent or read.

use super::far::Far;
use super::tls::{Opened, Tls};
use super::{Cx, READ};
use crate::{TlsSpoken, dial};
use hayami_net::poll::{Interest, Poll as Watcher, Readiness, Token};
use hayami_net::socket::Socket;
use hayami_tls::{Fault, Info};
use std::io;
use std::task::Poll;

/// The way to the server.
#[derive(Default)]
pub(super) struct Wire {
    pub(super) socket: Option<Socket>,
    watched: Watched,
    /// The socket of the last connection, for the next one.
    spare: Option<(Socket, Watched)>,
    tls: Option<Box<Tls>>,
    /// Bytes that the socket did not accept.
    unsent: Vec<u8>,
    sent: usize,
    /// Bytes that the engine could not parse yet.
    kept: Vec<u8>,
    pub(super) far: Option<Box<Far>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Watched {
    #[default]
    No,
    /// By the token of a connection that had the socket before.
    ByAnother,
    Reading,
    Both,
}

impl Wire {
    /// Closes, or keeps the socket for the next connection. Keeps memory for it in any case.
    pub(super) fn reset(&mut self, again: bool) {
        let watched = std::mem::take(&mut self.watched);
        self.spare = self.socket.take().filter(|_| again).map(|socket| (socket, watched));
        self.tls = None;
        self.unsent.clear();
        self.sent = 0;
        self.kept.clear();
        if let Some(far) = &mut self.far {
            far.reset();
        }
    }

    pub(super) fn set_socket(&mut self, socket: Socket, watched: Watched) {
        (self.socket, self.watched) = (Some(socket), watched);
    }

    pub(super) fn has_spare(&self) -> bool {
        self.spare.is_some()
    }

    pub(super) fn take_spare(&mut self) -> Option<(Socket, Watched)> {
        self.spare.take()
    }

    pub(super) fn is_far(&self) -> bool {
        self.far.is_some()
    }

    /// Whether incoming bytes have to be decrypted.
    pub(super) fn is_sealed(&self) -> bool {
        self.tls.is_some()
    }

    pub(super) fn may(&self, readiness: Readiness) {
        if let Some(socket) = &self.socket {
            socket.may(readiness);
        }
    }

    pub(super) fn outcome(&self) -> io::Result<()> {
        self.socket.as_ref().map_or(Ok(()), dial::outcome)
    }

    /// Watches the socket, for writing too if that is wished or was refused.
    pub(super) fn watch(&mut self, poll: &Watcher, token: Token, writable: bool) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let both = writable || socket.is_blocked();
        let interest = if both { Interest::ReadWrite } else { Interest::Read };
        match self.watched {
            Watched::No => poll.register(socket, token, interest)?,
            Watched::ByAnother => poll.reregister(socket, token, interest)?,
            Watched::Reading if both => poll.reregister(socket, token, interest)?,
            Watched::Reading | Watched::Both => return Ok(()),
        }
        self.watched = if both { Watched::Both } else { Watched::Reading };
        Ok(())
    }

    /// Starts TLS: the ClientHello is in `cx.sealed`. Returns whether a session was started.
    pub(super) fn start_tls(&mut self, cx: &mut Cx<'_>) -> bool {
        cx.sealed.clear();
        self.tls =
            cx.job.connector.as_ref().and_then(|connector| Tls::start(connector, cx.job, &mut cx.sealed));
        self.tls.is_some()
    }

    pub(super) fn info(&self) -> Option<&Info> {
        self.tls.as_ref()?.info()
    }

    /// The negotiated parameters.
    pub(super) fn tls_spoken(&self) -> Option<TlsSpoken> {
        let info = self.info()?;
        Some(TlsSpoken {
            version: info.version.name().into(),
            suite: info.suite.name().into(),
            group: info.group.map(str::to_owned),
            alpn: info.alpn.map(|alpn| String::from_utf8_lossy(alpn.id()).into_owned()),
        })
    }

    /// Sends `cx.out`, or the first bytes of TLS, on a socket in an unknown state. `Ready(true)`: they were
    /// sent, so the connection is established.
    pub(super) fn send_first(&mut self, cx: &mut Cx<'_>) -> Poll<io::Result<bool>> {
        let bytes = if self.tls.is_some() { &cx.sealed } else { &cx.out };
        let Some(socket) = &self.socket else { return Poll::Pending };
        if bytes.is_empty() {
            return Poll::Ready(Ok(false));
        }
        if let Some(far) = &mut self.far {
            let bytes =
                if self.tls.is_some() { std::mem::take(&mut cx.sealed) } else { std::mem::take(&mut cx.out) };
            if self.tls.is_none() {
                cx.count.tally.bytes_out += bytes.len() as u64;
            }
            far.send(cx, &bytes);
            return Poll::Ready(Ok(true));
        }
        socket.send(bytes, false).map_ok(|sent| {
            if self.tls.is_none() {
                cx.count.tally.bytes_out += bytes.len() as u64;
            }
            self.unsent.extend_from_slice(&bytes[sent..]);
            true
        })
    }

    /// Sends `cx.out`. False: the connection is broken.
    pub(super) fn send(&mut self, cx: &mut Cx<'_>) -> bool {
        cx.count.tally.bytes_out += cx.out.len() as u64;
        match &mut self.tls {
            None => {
                let bytes = std::mem::take(&mut cx.out);
                let sent = self.transmit(cx, &bytes);
                cx.out = bytes;
                sent
            }
            Some(tls) => {
                let mut sealed = std::mem::take(&mut cx.sealed);
                sealed.clear();
                tls.seal(&cx.out, &mut sealed);
                let sent = self.transmit(cx, &sealed);
                cx.sealed = sealed;
                sent
            }
        }
    }

    /// Sends bytes unchanged, or keeps those that the socket does not accept.
    pub(super) fn transmit(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> bool {
        if let Some(far) = &mut self.far {
            far.send(cx, bytes);
            return true;
        }
        if self.sent < self.unsent.len() {
            self.unsent.extend_from_slice(bytes);
            return self.flush().is_ok();
        }
        let Some(socket) = &self.socket else { return true };
        let mut rest = bytes;
        while !rest.is_empty() {
            match socket.send(rest, false) {
                Poll::Ready(Ok(sent)) => rest = &rest[sent..],
                Poll::Ready(Err(_)) => return false,
                Poll::Pending => {
                    self.unsent.extend_from_slice(rest);
                    break;
                }
            }
        }
        true
    }

    /// Sends the kept bytes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        while self.sent < self.unsent.len() {
            match socket.send(&self.unsent[self.sent..], false) {
                Poll::Ready(sent) => self.sent += sent?,
                Poll::Pending => return Ok(()),
            }
        }
        self.unsent.clear();
        self.sent = 0;
        Ok(())
    }

    /// Reads into `cx.input`, after kept bytes, or into the TLS input buffer.
    pub(super) fn read(&mut self, cx: &mut Cx<'_>) -> Poll<io::Result<usize>> {
        let Some(socket) = &self.socket else { return Poll::Pending };
        match &mut self.tls {
            Some(tls) => socket.read(tls.room()),
            None => {
                cx.input.clear();
                cx.input.extend_from_slice(&self.kept);
                if cx.input.capacity() - cx.input.len() < READ {
                    cx.input.reserve(READ);
                }
                socket.read(&mut cx.input)
            }
        }
    }

    /// Decrypts received bytes, if TLS is used, into `cx.input`.
    pub(super) fn open(&mut self, cx: &mut Cx<'_>) -> Result<Opened, Fault> {
        let Some(tls) = &mut self.tls else { return Ok(Opened::default()) };
        cx.input.clear();
        cx.input.extend_from_slice(&self.kept);
        let mut sealed = std::mem::take(&mut cx.sealed);
        sealed.clear();
        let opened = tls.receive(&mut cx.input, &mut sealed);
        if !sealed.is_empty() {
            // Handshake messages or an alert; errors show up when reading.
            let _ = self.transmit(cx, &sealed);
        }
        cx.sealed = sealed;
        opened
    }

    /// Puts bytes that arrived over a distance where [`read`](Self::read) puts them.
    pub(super) fn arrived(&mut self, cx: &mut Cx<'_>, bytes: usize) {
        let Some(far) = &mut self.far else { return };
        match &mut self.tls {
            Some(tls) => far.arrive(bytes, tls.room()),
            None => {
                cx.input.clear();
                cx.input.extend_from_slice(&self.kept);
                far.arrive(bytes, &mut cx.input);
            }
        }
    }

    /// How many bytes of `cx.input` were there before.
    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Keeps bytes that the engine could not parse yet.
    #[inline]
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.kept.clear();
        self.kept.extend_from_slice(bytes);
    }
}
