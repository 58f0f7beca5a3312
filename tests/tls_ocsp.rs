//! Stapled OCSP responses, from a file and fetched from a responder.

use crate::support::certificates::{Authority, Leaf, openssl};
use crate::support::peers::{Peer, free_port};
use crate::support::tls::{last, s_client, site as serve};
use crate::support::{Scratch, until};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/ten", "0123456789");
    dir
}

/// A leaf that names its responder.
fn leaf(dir: &Scratch, port: u16) {
    let authority = Authority::new(dir);
    let responder = format!("authorityInfoAccess=OCSP;URI:http://127.0.0.1:{port}/");
    authority.issue(&Leaf { file: "leaf", names: "DNS:localhost", rsa: false, extensions: &[&responder] });
    authority.enter("leaf");
    // The chain: the request needs the issuer.
    let chain = dir.read("tls/leaf.pem") + &dir.read("tls/ca.pem");
    dir.write("tls/leaf.pem", chain);
}

const GOOD: &str = "Cert Status: good";
const NONE: &str = "OCSP response: no response sent";

#[test]
fn a_response_is_fetched_from_the_responder_of_the_certificate_and_stapled() {
    let dir = site();
    let port = free_port();
    leaf(&dir, port);
    let _responder = Peer::ocsp(&dir, port);
    let server = serve(&dir, "ocsp-update-interval: 60", "");
    let ca = dir.text("tls/ca.pem");
    for version in ["-tls1_3", "-tls1_2"] {
        until("the response is stapled", || {
            let said = s_client(&server.address, &[version, "-status", "-CAfile", &ca], &last("/ten"));
            assert!(said.has("0123456789"), "{said:?}");
            said.has(GOOD)
        });
    }
    assert!(!s_client(&server.address, &[], &last("/ten")).has(GOOD), "who does not ask gets none");
}

#[test]
fn a_responder_that_is_not_there_costs_the_staple_and_nothing_else() {
    let dir = site();
    leaf(&dir, free_port());
    let server = serve(&dir, "ocsp-update-interval: 60", "");
    let said = s_client(&server.address, &["-status"], &last("/ten"));
    assert!(said.has("0123456789") && said.has(NONE), "{said:?}");
    server.until_stderr("OCSP");
}

#[test]
fn no_response_is_fetched_where_that_is_off() {
    let dir = site();
    let port = free_port();
    leaf(&dir, port);
    let _responder = Peer::ocsp(&dir, port);
    let server = serve(&dir, "ocsp-update-interval: 0", "");
    assert!(s_client(&server.address, &["-status"], &last("/ten")).has(NONE));
}

#[test]
fn a_response_comes_from_a_command_or_a_file() {
    let dir = site();
    let port = free_port();
    leaf(&dir, port);
    let (certificate, ca, response) =
        (dir.text("tls/leaf.pem"), dir.text("tls/ca.pem"), dir.text("response"));
    let responder = Peer::ocsp(&dir, port);
    let url = format!("http://127.0.0.1:{port}/");
    let about = ["-issuer", &ca, "-cert", &certificate, "-no_nonce", "-CAfile", &ca];
    openssl(&[&["ocsp", "-url", &url, "-respout", &response], &about[..]].concat());
    responder.stop();
    dir.write("fetch", format!("#!/bin/sh\ncat {response}\n")).permit("fetch", 0o755);
    let server = serve(&dir, "ocsp-update-cmd: DIR/fetch", "");
    until("the response is stapled", || s_client(&server.address, &["-status"], &last("/ten")).has(GOOD));
    let server = serve(&dir, "ocsp-file: DIR/response", "");
    assert!(s_client(&server.address, &["-status"], &last("/ten")).has(GOOD), "from the first connection on");
}
