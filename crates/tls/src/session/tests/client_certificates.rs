use super::*;
use crate::Authorities;

/// The authorities of a file, as configurations name them.
pub(crate) fn client_ca(authority: &Authority, test: &str) -> Authorities {
    authorities(&authority.certificate, test)
}

pub(crate) fn authorities(certificate: &[u8], test: &str) -> Authorities {
    let pem = pem("CERTIFICATE", certificate);
    let file = std::env::temp_dir().join(format!("hayami-tls-{test}-{}.pem", std::process::id()));
    std::fs::write(&file, pem).unwrap();
    let read = Authorities::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    read
}

pub(super) fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in der.chunks(3) {
        let number =
            part.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)) << (8 * (3 - part.len()));
        for at in 0..4 {
            let digit = DIGITS[number >> (18 - 6 * at) & 63] as char;
            text.push(if at <= part.len() { digit } else { '=' });
        }
    }
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

#[test]
fn only_clients_of_the_authority_get_in() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let settings = Settings { client_ca: Some(client_ca(&authority, "get-in")), ..authority.settings() };
    let acceptor = Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap();

    let (certificate, key) = authority.issue("alice", &rcgen::PKCS_ECDSA_P256_SHA256);
    let fingerprint = aws_lc_rs_digest(&certificate);
    let pair = Pair::joined(&acceptor, authority.client_as(certificate, key));
    let client = pair.session.info().and_then(|info| info.client.clone()).expect("it showed one");
    assert!(client.subject.contains("CN=alice"), "{}", client.subject);
    assert_eq!(client.fingerprint, fingerprint);

    let fault = Pair::new(&acceptor, &Arc::new(authority.client()), "localhost").run().expect_err("none");
    assert!(matches!(&fault, Fault::Handshake(why) if why.contains("no certificates")), "{fault}");

    let (certificate, key) = stranger.issue("mallory", &rcgen::PKCS_ECDSA_P256_SHA256);
    let mut pair = Pair::new(&acceptor, &Arc::new(authority.client_as(certificate, key)), "localhost");
    let fault = pair.run().expect_err("a stranger's");
    assert!(matches!(&fault, Fault::Handshake(why) if why.contains("invalid peer certificate")), "{fault}");
    assert!(pair.session.info().is_none());
}

fn aws_lc_rs_digest(bytes: &[u8]) -> [u8; 32] {
    let digest = ::aws_lc_rs::digest::digest(&::aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().try_into().unwrap()
}
