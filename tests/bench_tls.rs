//! `hayami bench` and TLS: suites, groups, the client's certificate.

use crate::support::bench::{bench, measured, total, warnings};
use crate::support::{Scratch, Server, certificates::Authority, tls};
use serde_json::Value;

fn site(dir: &Scratch, ssl: &str) -> (Server, String) {
    dir.write("site/index.html", "front");
    let server = tls::site(dir, ssl, "");
    let url = format!("{}/", server.banner("address").trim_end_matches('/'));
    (server, url)
}

/// The negotiated parameters: version, suite, group.
#[track_caller]
fn agreed(words: &[&str], url: &str) -> [String; 3] {
    let options = ["-k", "-n", "20", "-c", "2"];
    let (report, code) = measured(&[words, &options[..], &[url][..usize::from(!url.is_empty())]].concat());
    assert_eq!((code, &total(&report)["successes"]), (0, &20.into()), "{words:?}: {report}");
    let tls = &report["targets"][0]["sample"]["tls"];
    ["version", "suite", "group"].map(|name| tls[name].as_str().unwrap_or_default().to_owned())
}

#[test]
fn suites_and_groups_are_offered_as_told_and_reported_as_agreed() {
    let dir = Scratch::new();
    let (_server, url) = site(&dir, "");
    let cases: [(&[&str], [&str; 3]); 5] = [
        (
            &["--ciphers", "TLS_CHACHA20_POLY1305_SHA256", "--groups", "P-256"],
            ["TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256", "secp256r1"],
        ),
        (
            &["--ciphers", "TLS_AES_128_GCM_SHA256", "--groups", "X25519,P-256"],
            ["TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519"],
        ),
        (
            &["--tls", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256", "--groups", "secp384r1"],
            ["TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "secp384r1"],
        ),
        (
            &["--http", "1.1", "--ciphers", "TLS_AES_256_GCM_SHA384", "--groups", "X25519MLKEM768"],
            ["TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519MLKEM768"],
        ),
        (
            &["--like", "h2load --tls13-ciphers=TLS_AES_128_GCM_SHA256 --groups=P-256 https://127.0.0.1/"],
            ["TLSv1.3", "TLS_AES_128_GCM_SHA256", "secp256r1"],
        ),
    ];
    for (words, want) in cases {
        let got = match words {
            ["--like", line] => agreed(&["--like", &line.replace("https://127.0.0.1/", &url)], ""),
            words => agreed(words, &url),
        };
        assert_eq!(got, want, "{words:?}");
    }
}

#[test]
fn names_that_mean_nothing_are_answered_with_those_that_do() {
    for (words, known) in
        [(["--groups", "X25519,P-521"], "secp384r1"), (["--ciphers", "RC4-MD5"], "TLS_AES_128_GCM_SHA256")]
    {
        let ended = bench(&[words[0], words[1], "https://a/"]);
        assert!(ended.code == 64 && ended.stderr.contains(known), "{words:?}: {ended:?}");
    }
}

#[test]
fn a_server_that_takes_none_of_the_groups_is_an_error_of_tls() {
    let dir = Scratch::new();
    let (_server, url) = site(&dir, "key-exchange-tls1.3: [x25519]");
    let (report, code) = measured(&["-k", "-n", "4", "-c", "1", "--groups", "P-384", &url]);
    let total = total(&report);
    assert_eq!((code, &total["responses"], &total["errors"]["tls"]), (1, &0.into(), &4.into()), "{report}");
}

#[test]
fn a_server_that_demands_a_certificate_gets_it() {
    let dir = Scratch::new();
    let (_server, url) = site(&dir, "client-ca-file: DIR/tls/ca.pem");
    let run = |words: &[&str]| {
        let (report, code) =
            measured(&[&["-k", "-n", "20", "-c", "2", "--http", "1.1"], words, &[&url]].concat());
        (code, total(&report)["successes"].clone(), total(&report)["errors"]["total"].clone())
    };
    let none: Value = 0.into();
    let (cert, key) = (dir.text("tls/leaf.pem"), dir.text("tls/leaf.key"));
    assert_eq!(run(&["--cert", &cert, "--key", &key]), (0, 20.into(), none.clone()));
    let (code, right, wrong) = run(&[]);
    assert!(code == 1 && right == none && wrong != none, "{right} {wrong}");

    let other = Scratch::new();
    Authority::new(&other).issue_leaf();
    let (cert, key) = (other.text("tls/leaf.pem"), other.text("tls/leaf.key"));
    let (code, right, wrong) = run(&["--cert", &cert, "--key", &key]);
    assert!(code == 1 && right == none && wrong != none, "of another authority: {right} {wrong}");
}

#[test]
fn a_key_that_is_not_the_certificates_is_said_before_anything_is_sent() {
    let dir = Scratch::new();
    let (_server, url) = site(&dir, "");
    let (cert, key) = (dir.text("tls/leaf.pem"), dir.text("tls/ca.key"));
    let ended = bench(&["-k", "-n", "4", "--cert", &cert, "--key", &key, &url]);
    assert!(ended.code != 0 && ended.stderr.contains("ca.key"), "{ended:?}");
}

/// The comparison of these two in the report.
#[track_caller]
fn compared(first: &str, second: &str) -> String {
    let (report, _) = measured(&["-k", "-n", "20", "-c", "2", "--rounds", "1", first, second]);
    warnings(&report)
}

#[test]
fn different_protocols_are_named_with_the_option_that_settles_them() {
    let (dir, plain_dir) = (Scratch::new(), Scratch::new());
    let (_newest, url) = site(&dir, "");
    let old_dir = Scratch::new();
    let (_old, old) = site(&old_dir, "maximum-version: TLSv1.2");
    plain_dir.write("index.html", "front");
    let plain = Server::folder(&plain_dir);
    let plain = format!("http://{}/", plain.address);

    let text = compared(&url, &plain);
    assert!(text.contains("HTTP/2 over TLS at") && text.contains("HTTP/1.1 at"), "{text}");
    assert!(text.contains("see --http"), "{text}");
    let text = compared(&url, &old);
    assert!(text.contains("TLSv1.3 at") && text.contains("TLSv1.2 at"), "{text}");
    assert!(text.contains("see --tls") && !text.contains("see --http"), "{text}");
    assert!(!compared(&url, &url).contains("different protocols"));
}
