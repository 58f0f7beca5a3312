//! A certificate chain with its key, as read from files. A raw public key (RFC 7250) may take the chain's
//! place.

use crate::certificate::{Certificate, date};
use crate::{Error, Staple, known_keys};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{Error as TlsError, InconsistentKeys};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A server's or client's identity: chain, key, and the staple for the first certificate.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Or the raw public key, as rustls takes it.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    is_raw_public_key: bool,
    pub(crate) key: Arc<dyn SigningKey>,
    staple: Arc<Staple>,
    certificate_file: PathBuf,
    expires: u64,
}

impl Identity {
    /// Reads both files (PEM), and checks that the key belongs to the certificate and that the certificate is
    /// valid now. `now` is in seconds since 1970. Errors name the file and the remedy.
    ///
    /// A public key (PEM, `PUBLIC KEY`) in the certificate's place is for clients that accept raw public keys
    /// (RFC 7250).
    pub fn read(certificate_file: &Path, key_file: &Path, now: u64) -> Result<Self, Error> {
        let certificate = read(certificate_file)?;
        let public_key = public_key(&certificate);
        let chain = match public_key {
            Some(_) => Vec::new(),
            None => certificates(&certificate, certificate_file)?,
        };
        let key = read(key_file)?;
        let files = known_keys::Files::new(&certificate, &key);
        if let (Some(key), None) = (files.key(), &public_key) {
            return Self::with_key(chain, key, certificate_file, now);
        }
        let key = private_key(&key, key_file)?;
        let identity = match public_key {
            Some(public_key) => Self::check_raw(public_key, key, certificate_file, key_file),
            None => Self::check(chain, key, certificate_file, key_file, now),
        }?;
        files.belong_to(&identity.key);
        Ok(identity)
    }

    /// An identity of a certificate chain and a key (PKCS #8) without files; `name` replaces the path in messages.
    pub fn from_der(chain: Vec<Vec<u8>>, key_pkcs8: Vec<u8>, name: &str, now: u64) -> Result<Self, Error> {
        let chain = chain.into_iter().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::Pkcs8(key_pkcs8.into());
        Self::check(chain, key, Path::new(name), Path::new(name), now)
    }

    fn check(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        certificate_file: &Path,
        key_file: &Path,
        now: u64,
    ) -> Result<Self, Error> {
        let (shown, shown_key) = (certificate_file.display(), key_file.display());
        let key = signing_key(&key, key_file)?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Ok(()) | Err(TlsError::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(TlsError::InconsistentKeys(_)) => {
                return Err(Error(format!(
                    "{shown_key}: this key doesn't belong to the first certificate in {shown}; name the key it was made with, and put the server's own certificate before those of its issuers"
                )));
            }
            Err(error) => {
                return Err(Error(format!("{shown}: the first certificate can't be used: {error}")));
            }
        }
        let CertifiedKey { cert: chain, key, .. } = certified;
        Self::with_key(chain, key, certificate_file, now)
    }

    /// With a key that belongs to the first certificate.
    fn with_key(
        chain: Vec<CertificateDer<'static>>,
        key: Arc<dyn SigningKey>,
        certificate_file: &Path,
        now: u64,
    ) -> Result<Self, Error> {
        let expires = check_dates(&chain[0], certificate_file, now)?;
        Ok(Self {
            chain,
            is_raw_public_key: false,
            key,
            staple: Arc::default(),
            certificate_file: certificate_file.to_owned(),
            expires,
        })
    }

    fn check_raw(
        public_key: SubjectPublicKeyInfoDer<'static>,
        key: PrivateKeyDer<'static>,
        file: &Path,
        key_file: &Path,
    ) -> Result<Self, Error> {
        let key = signing_key(&key, key_file)?;
        if key.public_key().is_some_and(|own| own != public_key) {
            let (shown, shown_key) = (file.display(), key_file.display());
            return Err(Error(format!(
                "{shown_key}: this key doesn't belong to the public key in {shown}; make that one with: openssl pkey -in {shown_key} -pubout -out {shown}"
            )));
        }
        Ok(Self {
            chain: vec![CertificateDer::from(public_key.to_vec())],
            is_raw_public_key: true,
            key,
            staple: Arc::default(),
            certificate_file: file.to_owned(),
            expires: u64::MAX,
        })
    }

    /// Whether it is a raw public key (RFC 7250), of which [`chain`](Self::chain) returns the SubjectPublicKeyInfo (DER).
    pub fn is_raw_public_key(&self) -> bool {
        self.is_raw_public_key
    }

    /// The certificates (DER): its own, then those of its issuers.
    pub fn chain(&self) -> impl Iterator<Item = &[u8]> {
        self.chain.iter().map(AsRef::as_ref)
    }

    /// The OCSP staple of the first certificate.
    pub fn staple(&self) -> &Arc<Staple> {
        &self.staple
    }

    /// Unique per identity; clones share it.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.staple) as usize
    }

    /// The file of the chain, for messages.
    pub fn certificate_file(&self) -> &Path {
        &self.certificate_file
    }

    /// When the first certificate expires, in seconds since 1970. A raw public key never does.
    pub fn expires(&self) -> u64 {
        self.expires
    }
}

/// When it expires, which must not be in the past.
fn check_dates(certificate: &[u8], file: &Path, now: u64) -> Result<u64, Error> {
    let file = file.display();
    let Some(Certificate { validity: (from, until), .. }) = Certificate::read(certificate) else {
        return Err(Error(format!("{file}: the first certificate has no readable dates; issue it again")));
    };
    if now > until {
        return Err(Error(format!(
            "{file}: the certificate expired on {}; renew it and replace the file",
            date(until)
        )));
    }
    if now < from {
        return Err(Error(format!(
            "{file}: the certificate isn't valid before {}, and this machine's date is {}; correct the clock or use another certificate",
            date(from),
            date(now)
        )));
    }
    Ok(until)
}

/// The certificates of a PEM file; there is at least one.
pub(crate) fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    certificates(&read(file)?, file)
}

fn certificates(bytes: &[u8], file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let shown = file.display();
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        // A SEQUENCE of two bytes' length: the start of a certificate in DER.
        Ok(_) if bytes.starts_with(&[0x30, 0x82]) => Err(Error(format!(
            "{shown}: the certificate is in DER; convert it with: openssl x509 -inform DER -in {shown} -out NEW.pem"
        ))),
        Ok(_) => Err(Error(format!(
            "{shown}: there is no certificate in this file (PEM, -----BEGIN CERTIFICATE-----); is this the key file?"
        ))),
        Err(error) => Err(Error(format!("{shown}: damaged PEM: {error}"))),
    }
}

/// The first public key of a PEM file without certificates. Errors in the file are reported when its
/// certificates are read.
fn public_key(bytes: &[u8]) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let has_certificate = CertificateDer::pem_slice_iter(bytes).next().is_some();
    if has_certificate { None } else { SubjectPublicKeyInfoDer::from_pem_slice(bytes).ok() }
}

fn signing_key(key: &PrivateKeyDer<'static>, file: &Path) -> Result<Arc<dyn SigningKey>, Error> {
    any_supported_type(key).map_err(|_| {
        Error(format!(
            "{}: a private key of a kind that can't be used; use RSA (2048 to 8192 bits), ECDSA (P-256, P-384, P-521) or Ed25519",
            file.display()
        ))
    })
}

fn private_key(bytes: &[u8], file: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let shown = file.display();
    // PKCS #8 says so in its label, the older forms in a header (RFC 1421 §4.6.1.1).
    if [&b"BEGIN ENCRYPTED PRIVATE KEY"[..], b"4,ENCRYPTED"].iter().any(|mark| contains(bytes, mark)) {
        return Err(Error(format!(
            "{shown}: the key is encrypted, and a server starts without anyone typing a passphrase; decrypt it with: openssl pkey -in {shown} -out NEW.key (readable by its owner only), and name that file"
        )));
    }
    match PrivateKeyDer::from_pem_slice(bytes) {
        Ok(key) => Ok(key),
        Err(rustls::pki_types::pem::Error::NoItemsFound) => Err(Error(format!(
            "{shown}: there is no private key in this file (PEM, -----BEGIN PRIVATE KEY-----); is this the certificate file?"
        ))),
        Err(error) => Err(Error(format!("{shown}: damaged PEM: {error}"))),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Error> {
    let shown = file.display();
    std::fs::read(file).map_err(|error| {
        Error(match error.kind() {
            std::io::ErrorKind::NotFound => format!("{shown} does not exist; correct the path"),
            std::io::ErrorKind::PermissionDenied => {
                format!("{shown}: cannot be read: {error}; let the user that starts the server read it")
            }
            _ => format!("{shown}: cannot be read: {error}"),
        })
    })
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, PublicKeyData};

    /// A temporary directory, removed with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hayami-identity-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
            let file = self.0.join(name);
            std::fs::write(&file, content).unwrap();
            file
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const NOW: u64 = 1_800_000_000; // in January 2027

    fn made(from: i32, until: i32) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        (params.self_signed(&key).unwrap(), key)
    }

    #[test]
    fn files_that_fit_make_an_identity() {
        let folder = Folder::new("fit");
        let (certificate, key) = made(2026, 2030);
        let certificate_file = folder.write("cert.pem", certificate.pem());
        let key_file = folder.write("key.pem", key.serialize_pem());
        let identity = Identity::read(&certificate_file, &key_file, NOW).unwrap();
        assert_eq!(identity.chain().collect::<Vec<_>>(), [certificate.der().as_ref()]);
        assert_eq!(
            (identity.certificate_file(), date(identity.expires()).as_str()),
            (&*certificate_file, "2030-01-01")
        );
        // Both in one file, as some operators keep them.
        let both = folder.write("both.pem", certificate.pem() + &key.serialize_pem());
        Identity::read(&both, &both, NOW).unwrap();
    }

    #[test]
    fn files_that_have_not_changed_lead_to_the_same_key_as_long_as_it_is_used() {
        let folder = Folder::new("again");
        let ((certificate, key), (other, other_key)) = (made(2026, 2030), made(2026, 2030));
        let certificate_file = folder.write("cert.pem", certificate.pem());
        let key_file = folder.write("key.pem", key.serialize_pem());
        let read = || Identity::read(&certificate_file, &key_file, NOW);
        let first = read().unwrap();
        let second = read().unwrap();
        assert!(Arc::ptr_eq(&first.key, &second.key));
        assert!(!Arc::ptr_eq(first.staple(), second.staple()), "each has a staple of its own");
        let expired = Identity::read(&certificate_file, &key_file, 2 * NOW).expect_err("expired");
        assert!(expired.to_string().contains("expired on"), "{expired}");
        folder.write("cert.pem", other.pem());
        assert!(read().expect_err("another certificate").to_string().contains("doesn't belong"));
        folder.write("key.pem", other_key.serialize_pem());
        assert!(!Arc::ptr_eq(&first.key, &read().unwrap().key));
    }

    #[test]
    fn a_public_key_stands_for_itself() {
        let folder = Folder::new("raw");
        let (certificate, key) = made(2026, 2030);
        let public = folder.write("public.pem", key.public_key_pem());
        let key_file = folder.write("key.pem", key.serialize_pem());
        let identity = Identity::read(&public, &key_file, NOW).unwrap();
        assert!(identity.is_raw_public_key());
        assert_eq!(identity.chain().collect::<Vec<_>>(), [key.subject_public_key_info()]);
        // If the file also has a certificate, that counts.
        let both = folder.write("both.pem", key.public_key_pem() + &certificate.pem());
        assert!(!Identity::read(&both, &key_file, NOW).unwrap().is_raw_public_key());
        let other = folder.write("other.pem", KeyPair::generate().unwrap().serialize_pem());
        let said = Identity::read(&public, &other, NOW).expect_err("another key").to_string();
        assert!(said.contains("other.pem: this key doesn't belong to the public key in"), "{said}");
        let damaged = folder.write("damaged.pem", key.public_key_pem().replace("-----END", "*-----END"));
        let said = Identity::read(&damaged, &key_file, NOW).expect_err("no PEM").to_string();
        assert!(said.contains("damaged.pem: damaged PEM"), "{said}");
    }

    #[test]
    fn each_mistake_is_named_with_its_file_and_what_to_do() {
        let folder = Folder::new("mistakes");
        let (certificate, key) = made(2026, 2030);
        let (expired, expired_key) = made(2020, 2025);
        let (future, future_key) = made(2029, 2030);
        let cert = folder.write("cert.pem", certificate.pem());
        let good_key = folder.write("key.pem", key.serialize_pem());
        let other_key = folder.write("other.pem", KeyPair::generate().unwrap().serialize_pem());
        let encrypted = folder.write(
            "encrypted.pem",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
        );
        let old_encrypted = folder.write(
            "old.pem",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIB\n-----END RSA PRIVATE KEY-----\n",
        );
        let empty = folder.write("empty.pem", "");
        let der = folder.write("cert.der", certificate.der());
        let cut_off = folder.write("cut.pem", &certificate.pem()[..200]);
        let missing = folder.0.join("missing.pem");
        let cases = [
            (&missing, &good_key, "missing.pem does not exist", "correct the path"),
            (&cert, &missing, "missing.pem does not exist", "correct the path"),
            (&empty, &good_key, "empty.pem: there is no certificate", "key file"),
            (&good_key, &good_key, "key.pem: there is no certificate", "key file"),
            (&der, &good_key, "cert.der: the certificate is in DER", "openssl x509 -inform DER"),
            (&cut_off, &good_key, "cut.pem: damaged PEM", ""),
            (&cert, &cert, "cert.pem: there is no private key", "certificate file"),
            (&cert, &encrypted, "encrypted.pem: the key is encrypted", "openssl pkey -in"),
            (&cert, &old_encrypted, "old.pem: the key is encrypted", "openssl pkey -in"),
            (&cert, &other_key, "other.pem: this key doesn't belong", "cert.pem"),
            (
                &folder.write("expired.pem", expired.pem()),
                &folder.write("ek.pem", expired_key.serialize_pem()),
                "expired.pem: the certificate expired on 2025-01-01",
                "renew",
            ),
            (
                &folder.write("future.pem", future.pem()),
                &folder.write("fk.pem", future_key.serialize_pem()),
                "future.pem: the certificate isn't valid before 2029-01-01",
                "2027-01-15",
            ),
        ];
        for (certificate_file, key_file, what, advice) in cases {
            let said = Identity::read(certificate_file, key_file, NOW).expect_err(what).to_string();
            assert!(said.contains(what) && said.contains(advice), "{said}");
            assert!(!said.contains('\n'), "{said}");
        }
    }
}
