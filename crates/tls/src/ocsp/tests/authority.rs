//! A small authority with a responder: rcgen makes the certificates, `openssl ocsp` answers.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SerialNumber,
};
use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(super) const SERIAL: &[u8] = &[0x10, 0x01];
const OTHER_SERIAL: &[u8] = &[0x10, 0x02];

/// The signer of the responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signer {
    Issuer,
    /// A certificate for signing responses.
    Delegate,
    /// A certificate of the same issuer for something else.
    Impostor,
}

pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pub(super) folder: PathBuf,
    /// 0 until there was a responder.
    pub(super) port: Cell<u16>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("hayami-ocsp-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut params = named("Test Authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { issuer, folder, port: Cell::new(0) };
        authority.write("ca.pem", &authority.issuer.pem());
        authority.write("ca.key", &authority.issuer.key().serialize_pem());
        authority
    }

    /// The certificate in question and its issuer's, as in a chain.
    pub(super) fn chain(&self) -> Vec<Vec<u8>> {
        self.chain_with(Some(&format!("http://127.0.0.1:{}/", self.port.get())), SERIAL)
    }

    pub(super) fn other_chain(&self) -> Vec<Vec<u8>> {
        self.chain_with(None, OTHER_SERIAL)
    }

    pub(super) fn chain_with(&self, responder: Option<&str>, serial: &[u8]) -> Vec<Vec<u8>> {
        let mut params = named("leaf");
        params.serial_number = Some(SerialNumber::from_slice(serial));
        params.custom_extensions.extend(responder.map(access));
        let leaf = params.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap();
        self.write("leaf.pem", &leaf.pem());
        vec![leaf.der().to_vec(), self.issuer.der().to_vec()]
    }

    /// `openssl ocsp`, in whose index the certificate has `status` (V valid, R revoked), or is missing
    /// (empty). It uses the same port every time.
    pub(super) fn responder(&self, status: &str, signer: Signer) -> Responder {
        let revoked = if status == "R" { "260101000000Z" } else { "" };
        let ours = format!("{status}\t491231000000Z\t{revoked}\t1001\tunknown\t/CN=leaf\n");
        let other = "V\t491231000000Z\t\t1002\tunknown\t/CN=other\n";
        self.write("index.txt", &(if status.is_empty() { String::new() } else { ours } + other));
        let (certificate, key) = self.signer(signer);
        let port = self.port.get().to_string();
        let mut command = Command::new("openssl");
        command.args(["ocsp", "-port", &port, "-index", "index.txt", "-CA", "ca.pem", "-nmin", "60"]);
        command.args(["-rsigner", certificate, "-rkey", key]).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn();
        let mut child =
            child.unwrap_or_else(|e| panic!("this test needs openssl (apt-get install openssl): {e}"));
        // It prints `ACCEPT [::]:41229 PID=4014` when it listens.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split_whitespace().nth(1).and_then(|place| place.rsplit(':').next()?.parse().ok());
        self.port.set(port.unwrap_or_else(|| panic!("openssl ocsp does not start: {line:?}")));
        Responder(child)
    }

    fn signer(&self, signer: Signer) -> (&'static str, &'static str) {
        let purpose = match signer {
            Signer::Issuer => return ("ca.pem", "ca.key"),
            Signer::Delegate => ExtendedKeyUsagePurpose::OcspSigning,
            Signer::Impostor => ExtendedKeyUsagePurpose::ServerAuth,
        };
        let mut params = named("Responder");
        params.extended_key_usages.push(purpose);
        let key = KeyPair::generate().unwrap();
        self.write("responder.pem", &params.signed_by(&key, &self.issuer).unwrap().pem());
        self.write("responder.key", &key.serialize_pem());
        ("responder.pem", "responder.key")
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.folder.join(file), text).unwrap();
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(Path::new(&self.folder));
    }
}

/// A responder that ends with the test.
pub(super) struct Responder(Child);

impl Drop for Responder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params
}

/// Authority information access with one responder.
fn access(url: &str) -> CustomExtension {
    let element = |tag: u8, content: &[u8]| [&[tag, content.len() as u8], content].concat();
    let ocsp = element(6, &[0x2b, 6, 1, 5, 5, 7, 0x30, 1]);
    let issuers = element(6, &[0x2b, 6, 1, 5, 5, 7, 0x30, 2]);
    let first = element(0x30, &[issuers, element(0x86, b"http://nobody/")].concat());
    let second = element(0x30, &[ocsp, element(0x86, url.as_bytes())].concat());
    let content = element(0x30, &[first, second].concat());
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], content)
}
