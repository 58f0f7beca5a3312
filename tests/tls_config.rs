//! What users get wrong with certificates, what h2o has and this has not, and `--dev-tls`.

use crate::support::certificates::{Authority, Leaf};
use crate::support::tls::{HOSTS, last, listen, s_client, site as serve};
use crate::support::{Finished, Launch, Scratch, missing, needs_root, run};
use std::os::unix::fs::PermissionsExt;

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/ten", "0123456789");
    Authority::new(&dir).issue_leaf();
    dir
}

/// The program with a configuration that it must refuse, served and checked.
#[track_caller]
fn refused(dir: &Scratch, text: &str, parts: &[&str]) {
    for test in [true, false] {
        let launch = Launch::config(dir, text);
        let ended: Finished = if test { launch.finish_test(&[]) } else { launch.finish() };
        assert_eq!(ended.code, 78, "{text}: {}", ended.stderr);
        for part in parts {
            assert!(ended.stderr.contains(&part.replace("DIR", &dir.text(""))), "{part}: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("panic"), "{}", ended.stderr);
    }
}

#[test]
fn wrong_certificates_and_keys_are_named_with_their_file() {
    let dir = site();
    let authority = Authority::new(&dir);
    authority.issue_leaf().issue(&Leaf { file: "other", names: "DNS:a", rsa: false, extensions: &[] });
    authority.issue_between("expired", "20200101000000Z", "20200201000000Z");
    dir.write("tls/text.pem", "this is no certificate").write("tls/empty.pem", "");
    let half: String = dir.read("tls/leaf.pem").chars().take(300).collect();
    dir.write("tls/half.pem", half);
    let with = |certificate: &str, key: &str| {
        listen("").replace("leaf.pem", certificate).replace("leaf.key", key) + HOSTS
    };
    refused(&dir, &with("none.pem", "leaf.key"), &["DIR/tls/none.pem", "hayami.conf:5:"]);
    refused(&dir, &with("leaf.pem", "none.key"), &["DIR/tls/none.key", "hayami.conf:6:"]);
    refused(&dir, &with("leaf.pem", "other.key"), &["DIR/tls/leaf.pem", "DIR/tls/other.key"]);
    refused(&dir, &with("expired.pem", "expired.key"), &["DIR/tls/expired.pem", "expired"]);
    refused(&dir, &with("text.pem", "leaf.key"), &["DIR/tls/text.pem"]);
    refused(&dir, &with("empty.pem", "leaf.key"), &["DIR/tls/empty.pem"]);
    refused(&dir, &with("half.pem", "leaf.key"), &["DIR/tls/half.pem"]);
    refused(&dir, &with("leaf.key", "leaf.pem"), &["DIR/tls/leaf."]);
    refused(&dir, &with("leaf.pem", "leaf.pem"), &["DIR/tls/leaf.pem"]);
}

#[test]
fn wrong_values_say_which_are_right() {
    let dir = site();
    let cases = [
        ("minimum-version: TLSv9", "TLSv1.2"),
        ("cipher-suite: NO-SUCH-SUITE", "NO-SUCH-SUITE"),
        ("cipher-preference: mine", "server"),
        ("client-ca-file: DIR/none", "DIR/none"),
        ("minimum-version: TLSv1.3\nmaximum-version: TLSv1.2", "version"),
        ("certificate-fil: x", "certificate-file"),
        ("ocsp-update-interval: soon", "ocsp-update-interval"),
    ];
    for (lines, part) in cases {
        refused(&dir, &(listen(lines) + HOSTS), &["hayami.conf:", part]);
    }
}

#[test]
fn a_key_for_its_owner_alone_is_read_before_the_program_becomes_another_user() {
    let dir = site();
    dir.permit("tls/leaf.key", 0o600);
    let server = serve(&dir, "", "");
    assert!(s_client(&server.address, &[], &last("/ten")).has("0123456789"));
}

#[test]
fn a_key_that_cannot_be_read_is_named() {
    if !needs_root() {
        return;
    }
    let dir = site();
    dir.permit("tls/leaf.key", 0o600);
    let ended = Launch::config(&dir, &(listen("") + HOSTS)).by(65534).finish();
    assert_eq!(ended.code, 78, "{}", ended.stderr);
    for words in [&dir.text("tls/leaf.key"), "Permission denied"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

#[test]
fn what_h2o_has_and_needs_nothing_here_is_accepted_with_a_line() {
    let dir = site();
    let ended =
        Launch::config(&dir, &(listen("neverbleed: OFF\ndh-file: DIR/dh.pem\nmax-tickets: 2\n") + HOSTS));
    let ended = ended.finish_test(&[]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("dh-file"), "{}", ended.stderr);
    let old = Launch::config(&dir, &(listen("minimum-version: TLSv1") + HOSTS)).finish_test(&[]);
    assert_eq!(old.code, 0, "h2o's default is accepted: {}", old.stderr);
    assert!(old.stderr.contains("TLS 1.2"), "what it means here is said: {}", old.stderr);
}

#[test]
fn the_banner_names_https() {
    let dir = site();
    let server = serve(&dir, "", "");
    assert!(server.banner("address").starts_with("https://127.0.0.1:"), "{}", server.stderr());
}

#[test]
fn dev_tls_serves_a_folder_over_https_at_once() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let home = dir.text("home");
    dir.write("home/.keep", "");
    let start = || {
        let launch = Launch::new(["--dev-tls", "-l", "127.0.0.1:0", &dir.text("site")]);
        launch.env("HOME", &home).env("XDG_DATA_HOME", dir.text("home/data")).serve()
    };
    let server = start();
    let ca = run("find", &[&dir.text("home"), "-name", "*.pem", "-o", "-name", "*.crt"]);
    let ca = ca
        .lines()
        .find(|path| path.contains("ca"))
        .unwrap_or_else(|| panic!("the authority is kept: {ca}"))
        .to_owned();
    assert!(server.stderr().contains(&ca), "the banner says where it is: {}", server.stderr());
    let get = |port: u16| {
        let url = format!("https://localhost:{port}/ten");
        run("curl", &["-sS", "-m", "20", "--cacert", &ca, "-w", " %{http_version}", &url])
    };
    assert_eq!(get(server.port()), "0123456789 2");
    let key = run("find", &[&dir.text("home"), "-name", "*key*"]);
    for key in key.lines() {
        let mode = std::fs::metadata(key).expect("a file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{key} is nobody else's: {mode:o}");
    }
    let before = std::fs::read(&ca).expect("the authority");
    drop(server);
    let server = start();
    assert_eq!(get(server.port()), "0123456789 2");
    assert!(std::fs::read(&ca).expect("the authority") == before, "the authority stays");
}
