//! Tests of configurations with `ssl`, from text to loaded files, with generated certificates.

use crate::config::Loaded;
use crate::features::load_text;
use crate::modules::file::scratch::Scratch;
use crate::modules::listen;
use crate::modules::listen::{Acceptors, bindings};
use hayami_tls::{Resumption, Version};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};

/// A directory with certificates: `a`, `b` (valid), `old` (expired), `ca`.
fn folder() -> Scratch {
    let folder = Scratch::new();
    for name in ["a", "b", "ca"] {
        write_identity(&folder, name, 2090);
    }
    write_identity(&folder, "old", 2001);
    folder.write("text", "no certificate");
    folder
}

fn write_identity(folder: &Scratch, name: &str, until: i32) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![format!("{name}.example")]).expect("a name");
    (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(until, 1, 1));
    let certificate = params.self_signed(&key).expect("a certificate");
    folder.write(&format!("{name}.crt"), certificate.pem());
    folder.write(&format!("{name}.key"), key.serialize_pem());
}

/// Loads a configuration in which `ROOT` stands for the directory.
fn load(folder: &Scratch, text: &str) -> Result<Loaded, String> {
    let root = folder.path("").display().to_string();
    let loaded = load_text("test", &text.replace("ROOT", root.trim_end_matches('/')));
    loaded.map_err(|errors| {
        let error = &errors.errors[0];
        let text = format!("{}; {}", error.message, error.help).replace(root.trim_end_matches('/'), "ROOT");
        text.trim_end_matches("; ").to_owned()
    })
}

/// One listener with these attributes and the valid certificate `a`.
fn with(folder: &Scratch, attributes: &str) -> Result<Loaded, String> {
    let text = format!(
        "listen: {{port: 443, ssl: {{certificate-file: ROOT/a.crt, key-file: ROOT/a.key{attributes}}}}}\n\
         hosts: {{a: {{paths: {{}}}}}}\n"
    );
    load(folder, &text)
}

#[test]
fn attributes_of_h2o_are_read() {
    let folder = folder();
    let loaded = with(
        &folder,
        ", minimum-version: TLSv1.2, max-version: TLSv1.3, cipher-preference: server, \
         cipher-suite: 'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256', \
         cipher-suite-tls1.3: [TLS_AES_128_GCM_SHA256], key-exchange-tls1.3: [x25519mlkem768, x25519], \
         client-ca-file: ROOT/ca.crt, early-data: ON, ocsp-update-interval: 0, ocsp-max-failures: 5, \
         ocsp-update-cmd: 'fetch it', neverbleed: OFF",
    )
    .expect("read");
    assert_eq!(loaded.warnings, []);
    let ssl = loaded.settings.global.get::<listen::Listeners>()[0].ssl.as_deref().expect("TLS");
    let read = ssl.load().expect("loaded");
    assert_eq!((read.min_version, read.max_version), (Version::Tls12, Version::Tls13));
    assert_eq!(read.suites_tls12.as_ref().map(Vec::len), Some(2));
    assert_eq!(read.suites_tls13.as_ref().map(Vec::len), Some(1));
    assert_eq!(read.groups.as_ref().map(Vec::len), Some(2));
    assert!(read.server_preference && read.client_ca.is_some() && read.early_data > 0 && read.alpn_h2);
    assert_eq!((ssl.ocsp.interval, ssl.ocsp.max_failures), (None, 5));
    assert_eq!(ssl.ocsp.command.as_deref(), Some("fetch it"));
}

#[test]
fn what_cannot_apply_is_accepted_with_a_line_each() {
    let folder = folder();
    for (attribute, want) in [
        ("dh-file: x", "`dh-file` has no effect: no supported suite uses finite-field Diffie-Hellman"),
        ("neverbleed: ON", "`neverbleed` has no effect: the keys stay in the memory of this process"),
        ("max-tickets: 4", "`max-tickets` has no effect: every client gets the same number of tickets"),
        ("ech: []", "`ech` has no effect: Encrypted Client Hello is not supported yet"),
        ("minimum-version: TLSv1", "`TLSv1` is insecure and not supported; TLS 1.2 is the minimum version"),
        ("cipher-suite: 'ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA'", "unsupported names ignored: AES128-SHA"),
    ] {
        let loaded = with(&folder, &format!(", {attribute}")).expect(attribute);
        let said: Vec<_> = loaded.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert_eq!(said, [want], "{attribute}");
    }
}

#[test]
fn files_that_cannot_be_used_are_named_with_what_to_do() {
    let folder = folder();
    let one = |certificate: &str, key: &str| {
        let text = format!(
            "listen: {{port: 443, ssl: {{certificate-file: ROOT/{certificate}, key-file: ROOT/{key}}}}}\n\
             hosts: {{a: {{paths: {{}}}}}}\n"
        );
        load(&folder, &text).expect_err(&text)
    };
    for (certificate, key, words) in [
        ("missing.crt", "a.key", ["ROOT/missing.crt", "does not exist"]),
        ("a.crt", "missing.key", ["ROOT/missing.key", "does not exist"]),
        ("a.crt", "b.key", ["ROOT/b.key", "belong"]),
        ("old.crt", "old.key", ["ROOT/old.crt", "expired"]),
        ("text", "a.key", ["ROOT/text", "certificate"]),
        ("a.crt", "text", ["ROOT/text", "key"]),
    ] {
        let said = one(certificate, key);
        assert!(words.iter().all(|word| said.contains(word)), "{certificate} {key}: {said}");
    }
    for (attribute, word) in [
        (", client-ca-file: ROOT/text", "ROOT/text"),
        (", client-ca-file: ROOT/missing", "ROOT/missing"),
        (", ocsp-file: ROOT/text", "it is not a DER-encoded OCSP response; create one with `openssl ocsp"),
    ] {
        let said = with(&folder, attribute).expect_err(attribute);
        assert!(said.contains(word), "{attribute}: {said}");
    }
}

#[test]
fn an_address_speaks_tls_or_does_not() {
    let folder = folder();
    let ssl = "{port: 443, ssl: {certificate-file: ROOT/a.crt, key-file: ROOT/a.key}}";
    for (first, second) in [(ssl, "443"), ("443", ssl)] {
        let text =
            format!("hosts: {{a: {{listen: {first}, paths: {{}}}}, b: {{listen: {second}, paths: {{}}}}}}");
        assert!(load(&folder, &text).expect_err(&text).contains("this address"), "{text}");
        let text = format!("listen: {first}\nhosts: {{b: {{listen: {second}, paths: {{}}}}}}");
        assert!(load(&folder, &text).expect_err(&text).contains("this address"), "{text}");
    }
    let text = format!("listen: {ssl}\nlisten: 80\nhosts: {{a: {{listen: 80, paths: {{}}}}}}");
    assert!(load(&folder, &text).is_ok());
}

const TWO_HOSTS: &str = "
hosts:
  a.example:
    listen:
      port: 443
      ssl: &ssl
        identity:
        - {certificate-file: ROOT/a.crt, key-file: ROOT/a.key}
        - {certificate-file: ROOT/b.crt, key-file: ROOT/b.key}
    paths: {}
  www.a.example:
    listen: {port: 443, ssl: *ssl}
    paths: {}
  b.example:
    listen: {port: 443, ssl: {certificate-file: ROOT/b.crt, key-file: ROOT/b.key}}
    paths: {}
";

#[test]
fn an_alias_shares_what_is_read() {
    let folder = folder();
    let settings = load(&folder, TWO_HOSTS).expect("read").settings;
    let bindings = bindings(&settings);
    let names: Vec<_> = bindings[0].blocks.iter().map(|block| block.names.join(" ")).collect();
    assert_eq!(names, ["a.example www.a.example", "b.example"]);
    let acceptors = Acceptors::new(&settings, Resumption::off(), None).expect("acceptors");
    assert!(acceptors.get(0).is_some() && acceptors.get(1).is_none());
}

#[test]
fn a_broken_certificate_leaves_the_acceptors_as_they_are() {
    let folder = folder();
    let settings = load(&folder, TWO_HOSTS).expect("read").settings;
    let acceptors = Acceptors::new(&settings, Resumption::off(), None).expect("acceptors");
    write_identity(&folder, "a", 2091);
    assert!(Acceptors::new(&settings, acceptors.resumption(), Some(&acceptors)).is_ok());
    folder.write("b.key", "half of a k");
    let error = Acceptors::new(&settings, acceptors.resumption(), Some(&acceptors)).expect_err("half a key");
    assert!(error.line().contains("b.key"), "{}", error.line());
    assert!(acceptors.get(0).is_some());
}
