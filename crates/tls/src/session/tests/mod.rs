//! Sessions against rustls' client, joined by two buffers.

pub(crate) mod client_certificates;
mod faults;
mod handshakes;
mod raw_public_keys;
mod records;
mod resumed;

use crate::{Acceptor, Fault, Identity, Progress, Resumption, Session, Settings};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SignatureAlgorithm,
};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A separate authority for each test.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("rcgen self signed cert")
    }

    /// Those of one name differ by their signatures only.
    pub(crate) fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn issue(
        &self,
        name: &str,
        algorithm: &'static SignatureAlgorithm,
    ) -> (CertificateDer<'static>, KeyPair) {
        self.issue_with(name, algorithm, |_| {})
    }

    /// A certificate that `change` makes different.
    pub(crate) fn issue_with(
        &self,
        name: &str,
        algorithm: &'static SignatureAlgorithm,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (CertificateDer<'static>, KeyPair) {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        (params.signed_by(&key, &self.issuer).unwrap().der().clone(), key)
    }

    pub(crate) fn identity(&self, name: &str, algorithm: &'static SignatureAlgorithm) -> Identity {
        let (certificate, key) = self.issue(name, algorithm);
        Identity::from_der(vec![certificate.to_vec()], key.serialize_der(), name, now()).unwrap()
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(vec![self.identity("localhost", &rcgen::PKCS_ECDSA_P256_SHA256)])
    }

    pub(crate) fn acceptor(&self) -> Arc<Acceptor> {
        Acceptor::new(vec![(vec![], self.settings())], &Resumption::off()).unwrap()
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        roots
    }

    fn client(&self) -> ClientConfig {
        self.client_with(aws_lc_rs::default_provider(), rustls::ALL_VERSIONS)
    }

    fn client_with(
        &self,
        provider: CryptoProvider,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ClientConfig {
        let provider = Arc::new(provider);
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(self.roots()), provider.clone())
            .build()
            .unwrap();
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
        builder.with_webpki_verifier(verifier).with_no_client_auth()
    }

    fn client_as(&self, certificate: CertificateDer<'static>, key: KeyPair) -> ClientConfig {
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder =
            builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(self.roots());
        builder.with_client_auth_cert(vec![certificate], key).unwrap()
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A client and a session, with the session's output so far.
struct Pair {
    client: ClientConnection,
    session: Session,
    input: Vec<u8>,
    plain: Vec<u8>,
    out: Vec<u8>,
    heard: Vec<u8>,
    established: usize,
    peer_closed: bool,
    lookups: usize,
    by_byte: bool,
}

impl Pair {
    fn new(acceptor: &Acceptor, client: &Arc<ClientConfig>, name: &str) -> Self {
        Self {
            client: ClientConnection::new(client.clone(), name.to_owned().try_into().unwrap()).unwrap(),
            session: Session::new(acceptor),
            input: Vec::new(),
            plain: Vec::new(),
            out: Vec::new(),
            heard: Vec::new(),
            established: 0,
            peer_closed: false,
            lookups: 0,
            by_byte: false,
        }
    }

    /// One with a finished handshake.
    fn joined(acceptor: &Acceptor, client: ClientConfig) -> Self {
        let mut pair = Self::new(acceptor, &Arc::new(client), "localhost");
        pair.run().unwrap();
        assert_eq!(pair.established, 1);
        pair
    }

    /// Exchanges data until neither side has more to send.
    fn run(&mut self) -> Result<(), Fault> {
        loop {
            let mut sent = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut sent).unwrap();
            }
            if sent.is_empty() && self.out.is_empty() {
                return Ok(());
            }
            let fault = match self.by_byte {
                true => sent.iter().try_for_each(|byte| self.receive(&[*byte])),
                false => self.receive(&sent),
            };
            self.deliver();
            fault?;
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.input.extend_from_slice(bytes);
        match self.session.receive(&mut self.input, &mut self.plain, &mut self.out)? {
            Progress::Established => self.established += 1,
            Progress::PeerClosed => self.peer_closed = true,
            Progress::Handshaking | Progress::Open => {}
            Progress::NeedsLookup(lookup) => {
                self.lookups += 1;
                lookup.run();
                return self.receive(&[]);
            }
        }
        Ok(())
    }

    /// Delivers the session's output to the client. The client keeps its own errors.
    fn deliver(&mut self) {
        let out = std::mem::take(&mut self.out);
        let mut out = &out[..];
        while !out.is_empty() {
            self.client.read_tls(&mut out).unwrap();
            if self.client.process_new_packets().is_err() {
                return;
            }
            let mut part = [0; 4096];
            while let Ok(len @ 1..) = self.client.reader().read(&mut part) {
                self.heard.extend_from_slice(&part[..len]);
            }
        }
    }

    fn say(&mut self, plain: &[u8]) {
        self.client.writer().write_all(plain).unwrap();
        self.run().unwrap();
    }

    /// The plaintext the client received.
    fn heard(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.heard)
    }
}
