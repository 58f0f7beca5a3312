//! SIGHUP: a new certificate for new connections, while existing ones keep theirs.

use crate::support::certificates::{Authority, Leaf};
use crate::support::tls::{last, s_client, site as serve};
use crate::support::{Scratch, Server, needs_root, tls, until};
use rustix::process::Signal;

const LARGE: usize = 20_000_000;

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front")
        .write("site/ten", "0123456789")
        .write("site/large", vec![b'x'; LARGE]);
    dir
}

fn new_certificate(dir: &Scratch, authority: &Authority<'_>, subject: &str) {
    authority.issue(&Leaf { file: subject, names: "DNS:localhost", rsa: false, extensions: &[] });
    for kind in ["key", "pem"] {
        dir.replace(&format!("tls/leaf.{kind}"), dir.read(&format!("tls/{subject}.{kind}")));
    }
}

/// The first certificate. Its key is readable by all users: the program reads it again after it has switched users.
fn issue_readable(dir: &Scratch, authority: &Authority<'_>) {
    authority.issue_leaf();
    dir.permit("tls/leaf.key", 0o644);
}

fn subject(server: &Server) -> String {
    let said = s_client(&server.address, &[], &last("/ten"));
    assert!(said.has("0123456789"), "{said:?}");
    let line = said.text.lines().find(|line| line.starts_with("subject="));
    line.expect("a certificate").trim_start_matches("subject=CN = ").to_owned()
}

#[test]
fn a_new_certificate_is_taken_over_while_a_download_goes_on() {
    let dir = site();
    let authority = Authority::new(&dir);
    issue_readable(&dir, &authority);
    let server = serve(&dir, "", "");
    let mut running = tls::wire(&server.address, &[]);
    running.get(1, "/large");
    running.next_of(crate::support::h2::kind::DATA);
    new_certificate(&dir, &authority, "second");
    server.signal(Signal::HUP);
    until("the new certificate is served", || subject(&server) == "second");
    assert_eq!(running.answer(1).content.len(), LARGE, "what runs goes on");
    assert_eq!(running.get(3, "/ten").answer(3).status, 200, "and asks again");
}

#[test]
fn a_key_that_cannot_be_read_again_is_told_to_the_caller_and_to_the_error_log() {
    let dir = site();
    issue_readable(&dir, &Authority::new(&dir));
    let server = serve(&dir, "", "error-log: DIR/error.log\n");
    dir.replace("tls/leaf.key", "not a key");
    server.signal(Signal::HUP);
    let why = "the configuration was not reloaded, the old one stays";
    server.until_stderr(why);
    let reason = format!("{}: there is no private key in this file", dir.text("tls/leaf.key"));
    server.until_stderr(&reason);
    until("the error log has it as well", || dir.read("error.log").contains(&reason));
    let log = dir.read("error.log");
    assert!(log.contains(&format!(" error server: SIGHUP: {why}")), "{log}");
    assert_eq!(subject(&server), "leaf");
}

#[test]
fn a_broken_certificate_leaves_the_old_one_and_says_so() {
    let dir = site();
    let authority = Authority::new(&dir);
    issue_readable(&dir, &authority);
    let server = serve(&dir, "", "");
    authority.issue(&Leaf { file: "other", names: "DNS:localhost", rsa: false, extensions: &[] });
    let good = dir.read("tls/leaf.pem");
    for broken in ["not a certificate".to_owned(), dir.read("tls/other.pem"), String::new()] {
        dir.replace("tls/leaf.pem", &broken);
        let before = server.stderr().matches("leaf.pem").count();
        server.signal(Signal::HUP);
        until("it is said", || server.stderr().matches("leaf.pem").count() > before);
        assert_eq!(subject(&server), "leaf");
    }
    dir.replace("tls/leaf.pem", good);
    new_certificate(&dir, &authority, "third");
    server.signal(Signal::HUP);
    until("the next good one is served", || subject(&server) == "third");
}

#[test]
fn a_key_that_the_user_of_the_program_may_not_read_leaves_the_old_one_and_says_so() {
    if !needs_root() {
        return;
    }
    let dir = site();
    let authority = Authority::new(&dir);
    issue_readable(&dir, &authority);
    let server = serve(&dir, "", "");
    new_certificate(&dir, &authority, "second");
    dir.permit("tls/leaf.key", 0o600);
    server.signal(Signal::HUP);
    server.until_stderr("leaf.key");
    assert_eq!(subject(&server), "leaf");
}
