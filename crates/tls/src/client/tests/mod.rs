//! Both roles, joined by two buffers.

mod faults;
mod handshakes;
mod records;
mod resumed;
mod trust;

use super::{ClientSession, ClientSettings, Connector, Trust};
use crate::session::tests::Authority;
use crate::session::tests::client_certificates::client_ca;
use crate::{Acceptor, Fault, Progress, Resumption, Session, Settings};
use std::sync::Arc;

/// One end: its buffers, and what became of it.
#[derive(Default)]
struct End {
    input: Vec<u8>,
    plain: Vec<u8>,
    out: Vec<u8>,
    established: usize,
    peer_closed: bool,
    fault: Option<Fault>,
}

impl End {
    fn note(&mut self, progress: Result<Progress, Fault>) {
        match progress {
            Ok(Progress::Established) => self.established += 1,
            Ok(Progress::PeerClosed) => self.peer_closed = true,
            Ok(_) | Err(Fault::Over) => {}
            Err(fault) => self.fault = Some(fault),
        }
    }
}

struct Pair {
    client: ClientSession,
    server: Session,
    at_client: End,
    at_server: End,
    by_byte: bool,
}

impl Pair {
    /// A client that has sent its ClientHello.
    fn new(acceptor: &Acceptor, connector: &Connector, name: &str) -> Self {
        let mut client = ClientSession::new(connector, name).unwrap();
        let mut at_client = End::default();
        client.start(&mut at_client.out);
        let server = Session::new(acceptor);
        Self { client, server, at_client, at_server: End::default(), by_byte: false }
    }

    fn joined(acceptor: &Acceptor, connector: &Connector) -> Self {
        let mut pair = Self::new(acceptor, connector, "localhost");
        pair.run();
        assert_eq!((&pair.at_client.fault, &pair.at_server.fault), (&None, &None));
        assert_eq!((pair.at_client.established, pair.at_server.established), (1, 1));
        pair
    }

    /// Exchanges data until neither side has more to send.
    fn run(&mut self) {
        while !(self.at_client.out.is_empty() && self.at_server.out.is_empty()) {
            let sent = std::mem::take(&mut self.at_client.out);
            for piece in sent.chunks(if self.by_byte { 1 } else { sent.len().max(1) }) {
                self.tell_server(piece);
            }
            let sent = std::mem::take(&mut self.at_server.out);
            for piece in sent.chunks(if self.by_byte { 1 } else { sent.len().max(1) }) {
                self.tell_client(piece);
            }
        }
    }

    fn tell_server(&mut self, bytes: &[u8]) {
        let end = &mut self.at_server;
        end.input.extend_from_slice(bytes);
        let progress = self.server.receive(&mut end.input, &mut end.plain, &mut end.out);
        end.note(progress);
    }

    fn tell_client(&mut self, bytes: &[u8]) {
        let end = &mut self.at_client;
        end.input.extend_from_slice(bytes);
        let progress = self.client.receive(&mut end.input, &mut end.plain, &mut end.out);
        end.note(progress);
    }

    /// Sends `content` both ways, and finds it at either end.
    fn carry(&mut self, content: &[u8]) {
        self.at_client.plain.clear();
        self.at_server.plain.clear();
        self.client.seal(content, &mut self.at_client.out);
        self.server.seal(content, &mut self.at_server.out);
        self.run();
        assert_eq!((&self.at_client.fault, &self.at_server.fault), (&None, &None));
        assert!(self.at_client.plain == content && self.at_server.plain == content);
    }
}

/// Settings that trust this authority; `test` names a file.
fn settings(authority: &Authority, test: &str) -> ClientSettings {
    ClientSettings::new(Trust::Only(client_ca(authority, test)))
}

fn connector(authority: &Authority, test: &str) -> Connector {
    Connector::new(&settings(authority, test)).unwrap()
}

fn acceptor(settings: Settings) -> Arc<Acceptor> {
    Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap()
}
