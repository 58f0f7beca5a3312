//! TLS in the access log.

use crate::support::certificates::{Authority, Leaf, openssl};
use crate::support::tls::{last, s_client, site as serve, wire};
use crate::support::{Scratch, Server, until};

const FORMAT: &str = "%{ssl.protocol-version}x|%{ssl.cipher}x|%{ssl.cipher-bits}x|%{ssl.session-reused}x|\
                      %{ssl.server-name}x|%{ssl.negotiated-protocol}x|%{ssl.client-subject}x|\
                      %{ssl.client-fingerprint}x|%{http2.stream-id}x";

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/ten", "0123456789");
    dir
}

fn logging(dir: &Scratch, ssl: &str) -> Server {
    serve(dir, ssl, &format!("access-log: {{path: DIR/log, format: '{FORMAT}'}}\n"))
}

/// The line of that number, once it is there.
#[track_caller]
fn line(dir: &Scratch, number: usize) -> String {
    until("the line is on disk", || dir.path("log").exists() && dir.read("log").lines().count() > number);
    dir.read("log").lines().nth(number).expect("it is there").to_owned()
}

#[test]
fn what_the_handshake_agreed_on_is_logged() {
    let dir = site();
    let server = logging(&dir, "");
    let suite = "TLS_AES_128_GCM_SHA256";
    let old = "ECDHE-ECDSA-AES256-GCM-SHA384";
    // Arguments of openssl, and the line.
    let cases: [(&[&str], String); 4] = [
        (
            &["-tls1_3", "-ciphersuites", suite, "-servername", "localhost"],
            format!("TLSv1.3|{suite}|128|0|localhost|-|-|-|-"),
        ),
        (
            &["-tls1_2", "-cipher", old, "-servername", "a.example"],
            format!("TLSv1.2|{old}|256|0|a.example|-|-|-|-"),
        ),
        (
            &["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256", "-noservername"],
            "TLSv1.3|TLS_CHACHA20_POLY1305_SHA256|256|0|-|-|-|-|-".to_owned(),
        ),
        (
            &["-tls1_3", "-ciphersuites", suite, "-noservername", "-alpn", "http/1.1"],
            format!("TLSv1.3|{suite}|128|0|-|http/1.1|-|-|-"),
        ),
    ];
    for (number, (args, want)) in cases.iter().enumerate() {
        assert!(s_client(&server.address, args, &last("/ten")).has("0123456789"), "{args:?}");
        assert_eq!(line(&dir, number), *want, "{args:?}");
    }
    let args = ["-servername", "localhost", "-ciphersuites", suite];
    let mut wire = wire(&server.address, &args);
    for (stream, number) in [(1, 4), (3, 5)] {
        assert_eq!(wire.get(stream, "/ten").answer(stream).status, 200);
        assert_eq!(line(&dir, number), format!("TLSv1.3|{suite}|128|0|localhost|h2|-|-|{stream}"));
    }
}

#[test]
fn a_session_that_is_resumed_is_logged_as_reused() {
    let dir = site();
    let server = logging(&dir, "");
    let session = dir.text("session");
    for (number, (version, option, reused)) in [
        ("-tls1_3", "-sess_out", "0"),
        ("-tls1_3", "-sess_in", "1"),
        ("-tls1_2", "-sess_out", "0"),
        ("-tls1_2", "-sess_in", "1"),
    ]
    .into_iter()
    .enumerate()
    {
        let said = s_client(&server.address, &[version, option, &session], &last("/ten"));
        assert!(said.has("0123456789"), "{said:?}");
        assert_eq!(line(&dir, number).split('|').nth(3), Some(reused), "{version} {option}");
    }
}

#[test]
fn the_clients_certificate_is_logged_by_subject_and_fingerprint() {
    let dir = site();
    let authority = Authority::new(&dir);
    authority.issue_leaf().issue(&Leaf { file: "client", names: "DNS:client", rsa: false, extensions: &[] });
    let server = logging(&dir, "client-ca-file: DIR/tls/ca.pem");
    let (certificate, key) = (authority.text("client", "pem"), authority.text("client", "key"));
    let shown = openssl(&["x509", "-in", &certificate, "-noout", "-fingerprint", "-sha256"]);
    let fingerprint = shown.trim().split('=').nth(1).expect("a fingerprint").replace(':', "").to_lowercase();
    let said = s_client(&server.address, &["-cert", &certificate, "-key", &key], &last("/ten"));
    assert!(said.has("0123456789"), "{said:?}");
    let line = line(&dir, 0);
    let values: Vec<&str> = line.split('|').collect();
    assert_eq!(values[6..8], ["CN=client", fingerprint.as_str()], "{line}");
}
