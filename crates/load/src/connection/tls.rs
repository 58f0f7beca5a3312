//! TLS of one connection: incomplete records, and the progress of the handshake.

use super::READ;
use crate::worker::job::Job;
use hayami_tls::{ClientSession, Connector, Fault, Info, Progress};

pub(super) struct Tls {
    session: ClientSession,
    /// Incomplete records from the server.
    records: Vec<u8>,
}

/// The result of opening records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opened {
    /// The handshake is complete.
    pub(super) established: bool,
    /// The server sends no more.
    pub(super) closed: bool,
}

impl Tls {
    /// A session, with its ClientHello in `out`. `None`: the target's name is invalid.
    pub(super) fn start(connector: &Connector, job: &Job, out: &mut Vec<u8>) -> Option<Box<Self>> {
        let mut session = ClientSession::new(connector, &job.host).ok()?;
        session.start(out);
        Some(Box::new(Self { session, records: Vec::new() }))
    }

    /// Where records go.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        // A quarter is enough for whole records; reading more at once saves calls.
        if self.records.capacity() - self.records.len() < READ / 4 {
            self.records.reserve(READ / 4);
        }
        &mut self.records
    }

    pub(super) fn receive(&mut self, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<Opened, Fault> {
        let mut opened = Opened::default();
        match self.session.receive(&mut self.records, plain, out)? {
            Progress::Established => opened.established = true,
            Progress::PeerClosed => opened.closed = true,
            _ => {}
        }
        Ok(opened)
    }

    pub(super) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.session.seal(plain, out);
    }

    pub(super) fn info(&self) -> Option<&Info> {
        self.session.info()
    }
}
