//! Handshakes: versions, certificates by name and by type, client certificates, secrets, and bytes that are
//! not a handshake.

use crate::support::certificates::{Authority, Leaf};
use crate::support::tls::{HOSTS, last, listen, s_client, site as serve};
use crate::support::{Client, PATIENCE, Scratch, Server, missing, run, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front")
        .write("site/ten", "0123456789")
        .write("site/large", vec![b'x'; 2_000_000]);
    dir
}

#[test]
fn only_versions_that_are_safe_are_spoken() {
    let dir = site();
    let server = serve(&dir, "", "");
    let weak = "DEFAULT:@SECLEVEL=0";
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let said = s_client(&server.address, &[version], &last("/ten"));
        assert!(said.has(name) && said.has("0123456789"), "{said:?}");
    }
    for version in ["-tls1", "-tls1_1"] {
        let said = s_client(&server.address, &[version, "-cipher", weak], &last("/ten"));
        assert!(said.code != 0 && !said.has("0123456789") && said.has("alert "), "{said:?}");
    }
    // Without forward secrecy, or with old ciphers.
    for cipher in [
        "kRSA:@SECLEVEL=0",
        "3DES:@SECLEVEL=0",
        "AES256-SHA:@SECLEVEL=0",
        "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0",
    ] {
        let said = s_client(&server.address, &["-tls1_2", "-cipher", cipher], &last("/ten"));
        assert!(said.code != 0 && !said.has("0123456789"), "{cipher}: {said:?}");
    }
}

/// The output of `gnutls-cli` for a request of `/ten`, with this server certificate type.
fn gnutls(server: &Server, kind: &str) -> String {
    let (host, port) = server.address.split_once(':').expect("an address");
    let priority = format!("NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CTYPE-SRV-ALL:{kind}");
    let mut child = Command::new("gnutls-cli")
        .args(["--insecure", "--priority", &priority, "-p", port, host])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("gnutls-cli starts");
    // Its input stays open until the server has closed.
    let mut input = child.stdin.take().expect("a pipe");
    let _ = input.write_all(last("/ten").as_bytes()); // where the handshake fails, it is not read
    let output = child.wait_with_output().expect("it ends");
    drop(input);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_raw_public_key_is_for_clients_that_want_no_certificate() {
    if missing("gnutls-cli") {
        return;
    }
    let dir = site();
    let authority = Authority::new(&dir);
    authority.issue_leaf();
    run("openssl", &["genpkey", "-algorithm", "ed25519", "-out", &dir.text("tls/raw.key")]);
    run("openssl", &["pkey", "-in", &dir.text("tls/raw.key"), "-pubout", "-out", &dir.text("tls/raw.pem")]);
    let raw = "{certificate-file: DIR/tls/raw.pem, key-file: DIR/tls/raw.key}";
    let leaf = "{certificate-file: DIR/tls/leaf.pem, key-file: DIR/tls/leaf.key}";
    let serve = |identities: &str| {
        let listen = format!("listen: {{host: 127.0.0.1, port: 0, ssl: {{identity: [{identities}]}}}}\n");
        Server::config(&dir, &format!("{listen}{HOSTS}"))
    };
    const RAW: &str = "+CTYPE-SRV-RAWPK";
    const CERTIFICATE: &str = "+CTYPE-SRV-X509";
    let both = serve(&format!("{leaf}, {raw}"));
    for (wanted, kind) in [
        (RAW.to_owned(), "Raw Public Key"),
        (CERTIFICATE.to_owned(), "X.509"),
        (format!("{RAW}:{CERTIFICATE}"), "Raw Public Key"),
        (format!("{CERTIFICATE}:{RAW}"), "X.509"),
    ] {
        let said = gnutls(&both, &wanted);
        assert!(said.contains(&format!("Certificate type: {kind}")), "{wanted}: {said}");
        assert!(said.contains("0123456789"), "{wanted}: {said}");
    }
    assert!(s_client(&both.address, &["-tls1_2"], &last("/ten")).has("0123456789"));
    let only = serve(raw);
    assert!(gnutls(&only, RAW).contains("0123456789"));
    assert!(!gnutls(&only, CERTIFICATE).contains("0123456789"));
    assert_ne!(s_client(&only.address, &[], &last("/ten")).code, 0);
}

#[test]
fn versions_and_suites_are_directives() {
    let dir = site();
    let server = serve(&dir, "minimum-version: TLSv1.3", "");
    assert_eq!(s_client(&server.address, &["-tls1_3"], &last("/ten")).code, 0);
    assert_ne!(s_client(&server.address, &["-tls1_2"], &last("/ten")).code, 0);
    let server = serve(&dir, "maximum-version: TLSv1.2\ncipher-suite: ECDHE-ECDSA-CHACHA20-POLY1305", "");
    assert_ne!(s_client(&server.address, &["-tls1_3"], &last("/ten")).code, 0);
    let said = s_client(&server.address, &[], &last("/ten"));
    assert!(said.has("ECDHE-ECDSA-CHACHA20-POLY1305") && said.has("0123456789"), "{said:?}");
    let server = serve(&dir, "cipher-suite-tls1.3: [TLS_CHACHA20_POLY1305_SHA256]", "");
    assert!(s_client(&server.address, &[], &last("/ten")).has("TLS_CHACHA20_POLY1305_SHA256"));
    let server = serve(
        &dir,
        "cipher-preference: server\ncipher-suite: ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256",
        "",
    );
    let both = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384";
    let said = s_client(&server.address, &["-tls1_2", "-cipher", both], &last("/ten"));
    assert!(said.has("Cipher is ECDHE-ECDSA-AES256-GCM-SHA384"), "{said:?}");
}

#[test]
fn alpn_chooses_what_is_spoken() {
    let dir = site();
    let server = serve(&dir, "", "");
    let cases = [
        ("h2,http/1.1", "ALPN protocol: h2"),
        ("http/1.1,h2", "ALPN protocol: h2"),
        ("http/1.1", "ALPN protocol: http/1.1"),
    ];
    for (offer, chosen) in cases {
        let said = s_client(&server.address, &["-alpn", offer], &last("/ten"));
        assert!(said.has(chosen), "{offer}: {said:?}");
    }
    // RFC 7301 section 3.2: nothing in common is an alert.
    let said = s_client(&server.address, &["-alpn", "smtp"], &last("/ten"));
    assert!(said.code != 0 && said.has("alert no application protocol"), "{said:?}");
    let said = s_client(&server.address, &[], &last("/ten"));
    assert!(said.has("No ALPN negotiated") && said.has("0123456789"), "{said:?}");
}

#[test]
fn many_hosts_share_one_address_each_with_its_certificate() {
    let dir = site();
    let authority = Authority::new(&dir);
    let mut hosts = String::new();
    for name in ["one.example", "two.example", "*.wild.example"] {
        let file = name.trim_start_matches("*.");
        authority.issue(&Leaf { file, names: &format!("DNS:{name}"), rsa: false, extensions: &[] });
        dir.write(&format!("{file}/who"), format!("this is {name}"));
        hosts.push_str(&format!(
            "  \"{name}\":\n    listen:\n      host: 127.0.0.1\n      port: PORT\n      ssl:\n        \
             certificate-file: DIR/tls/{file}.pem\n        key-file: DIR/tls/{file}.key\n    \
             paths:\n      /:\n        file.dir: DIR/{file}\n"
        ));
    }
    let port = crate::support::peers::free_port().to_string();
    let server = Server::config(&dir, &format!("hosts:\n{}", hosts.replace("PORT", &port)));
    let ca = dir.text("tls/ca.pem");
    for (name, who, certificate) in [
        ("one.example", "this is one.example", "CN = one.example"),
        ("two.example", "this is two.example", "CN = two.example"),
        ("any.wild.example", "this is *.wild.example", "CN = wild.example"),
        ("TWO.EXAMPLE", "this is two.example", "CN = two.example"),
    ] {
        let request = last("/who").replace("localhost", name);
        let said = s_client(
            &server.address,
            &["-servername", name, "-CAfile", &ca, "-verify_return_error"],
            &request,
        );
        assert!(said.has(who) && said.has(&format!("subject={certificate}")), "{name}: {said:?}");
    }
    // An unknown name, or none: the first.
    for args in [&["-servername", "other.example"][..], &["-noservername"]] {
        let said = s_client(&server.address, args, &last("/who"));
        assert!(said.has("subject=CN = one.example"), "{said:?}");
    }
}

#[test]
fn a_host_that_demands_certificates_answers_421_where_the_handshake_did_not_ask_for_them() {
    let dir = site();
    let authority = Authority::new(&dir);
    let mut hosts = String::new();
    for (name, demand) in [("open.example", ""), ("closed.example", "client-ca-file: DIR/tls/ca.pem")] {
        authority.issue(&Leaf { file: name, names: &format!("DNS:{name}"), rsa: false, extensions: &[] });
        dir.write(&format!("{name}/who"), format!("this is {name}"));
        hosts.push_str(&format!(
            "  {name}:\n    listen:\n      host: 127.0.0.1\n      port: PORT\n      ssl:\n        \
             certificate-file: DIR/tls/{name}.pem\n        key-file: DIR/tls/{name}.key\n        {demand}\n    \
             paths:\n      /:\n        file.dir: DIR/{name}\n"
        ));
    }
    authority.issue(&Leaf { file: "client", names: "DNS:client", rsa: false, extensions: &[] });
    let port = crate::support::peers::free_port().to_string();
    let server = Server::config(&dir, &format!("hosts:\n{}", hosts.replace("PORT", &port)));
    let (certificate, key) = (dir.text("tls/client.pem"), dir.text("tls/client.key"));
    let ours = ["-cert", &certificate[..], "-key", &key];
    // The name of the handshake, the client's certificate, the name of the request, the status.
    let cases: [(&str, &[&str], &str, &str); 5] = [
        ("open.example", &[], "open.example", "200"),
        ("closed.example", &ours, "closed.example", "200"),
        ("closed.example", &ours, "open.example", "200"),
        ("open.example", &[], "closed.example", "421"),
        ("open.example", &ours, "closed.example", "421"),
    ];
    for (name, certificate, host, status) in cases {
        let request = last("/who").replace("localhost", host);
        let args = [&["-servername", name], certificate].concat();
        let said = s_client(&server.address, &args, &request);
        assert!(said.has(&format!("HTTP/1.1 {status} ")), "{name} {certificate:?} {host}: {said:?}");
        assert_eq!(said.has(&format!("this is {host}")), status == "200", "{name} {host}: {said:?}");
    }
}

#[test]
fn rsa_and_ecdsa_certificates_stand_side_by_side() {
    let dir = site();
    let authority = Authority::new(&dir);
    for (file, rsa) in [("leaf", false), ("rsa", true)] {
        authority.issue(&Leaf { file, names: "DNS:localhost", rsa, extensions: &[] });
    }
    let both = "identity:\n  - certificate-file: DIR/tls/leaf.pem\n    key-file: DIR/tls/leaf.key\n  \
                - certificate-file: DIR/tls/rsa.pem\n    key-file: DIR/tls/rsa.key\n";
    let text = listen("").lines().take(4).fold(String::new(), |text, line| text + line + "\n")
        + &both.lines().fold(String::new(), |text, line| format!("{text}    {line}\n"));
    let server = Server::config(&dir, &format!("{text}{HOSTS}"));
    for version in ["-tls1_2", "-tls1_3"] {
        for (algorithms, subject) in
            [("ECDSA+SHA256", "CN = leaf"), ("RSA-PSS+SHA256:RSA+SHA256", "CN = rsa")]
        {
            let said = s_client(&server.address, &[version, "-sigalgs", algorithms], &last("/ten"));
            assert!(
                said.has(&format!("subject={subject}")) && said.has("0123456789"),
                "{version} {algorithms}: {said:?}"
            );
        }
    }
    assert!(s_client(&server.address, &[], &last("/ten")).has("subject=CN = leaf"), "the cheaper one first");
}

#[test]
fn clients_without_the_right_certificate_are_refused_where_one_is_asked_for() {
    let dir = site();
    let (authority, stranger) = (Authority::new(&dir), Scratch::new());
    authority.issue_leaf().issue(&Leaf { file: "client", names: "DNS:client", rsa: false, extensions: &[] });
    authority.issue_between("expired", "20200101000000Z", "20200201000000Z");
    Authority::new(&stranger).issue(&Leaf {
        file: "client",
        names: "DNS:client",
        rsa: false,
        extensions: &[],
    });
    let server = serve(&dir, "client-ca-file: DIR/tls/ca.pem", "");
    let with = |dir: &Scratch, file: &str, version: &str| {
        let (certificate, key) = (dir.text(&format!("tls/{file}.pem")), dir.text(&format!("tls/{file}.key")));
        s_client(&server.address, &[version, "-cert", &certificate, "-key", &key], &last("/ten"))
    };
    for version in ["-tls1_2", "-tls1_3"] {
        let said = with(&dir, "client", version);
        assert!(said.has("0123456789") && said.has("Acceptable client certificate CA names"), "{said:?}");
        for said in [with(&stranger, "client", version), with(&dir, "expired", version)] {
            assert!(!said.has("0123456789") && said.has("alert"), "{version}: {said:?}");
        }
        let said = s_client(&server.address, &[version], &last("/ten"));
        assert!(!said.has("0123456789") && said.has("alert"), "{version}: {said:?}");
    }
}

#[test]
fn plain_http_on_a_tls_port_is_answered_so() {
    let dir = site();
    let server = serve(&dir, "", "");
    for request in [
        "GET /ten HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.0\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answers = server.ask(request);
        assert_eq!(answers.len(), 1, "{request:?}");
        assert_eq!((answers[0].status, answers[0].field("connection")), (400, Some("close")), "{request:?}");
        assert!(answers[0].text().to_ascii_lowercase().contains("https"), "{:?}", answers[0].text());
    }
}

#[test]
fn a_thousand_handshakes_of_garbage_or_cut_short_leave_nothing_behind() {
    let dir = site();
    let server = serve(&dir, "", "");
    let hello = hello();
    let before = server.sockets();
    let mut random = 1_u32;
    for round in 0..1000_usize {
        let mut bytes = hello.clone();
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = random as usize % bytes.len();
        match round % 4 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 0xff,
            2 => bytes = (0..300).map(|at: u32| (random.wrapping_mul(at) >> 13) as u8).collect(),
            _ => bytes[3..5].copy_from_slice(&0xffff_u16.to_be_bytes()),
        }
        let mut stream = TcpStream::connect(&server.address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let _ = stream.write_all(&bytes);
        if round % 8 < 4 {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
    until("all are gone", || server.sockets() <= before);
    assert!(s_client(&server.address, &[], &last("/ten")).has("0123456789"));
    assert!(!server.stderr().contains("panic"), "{}", server.stderr());
}

/// The first record that openssl sends.
fn hello() -> Vec<u8> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let mut child = Command::new("openssl")
        .args(["s_client", "-connect", &address])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl starts");
    let (mut stream, _) = listener.accept().expect("it connects");
    let mut head = [0; 5];
    stream.read_exact(&mut head).expect("a record");
    let mut record = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    stream.read_exact(&mut record).expect("a whole record");
    child.kill().expect("it runs");
    child.wait().expect("a child");
    [&head[..], &record].concat()
}

/// A client whose bytes pass through the test, which sees the records (RFC 8446 section 5.1).
#[test]
fn records_are_small_at_first_and_large_later() {
    let dir = site();
    let server = serve(&dir, "", "");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let request = last("/large");
    let reading = std::thread::spawn(move || s_client(&address, &["-tls1_3"], &request));
    let (client, _) = listener.accept().expect("it connects");
    let upstream = TcpStream::connect(&server.address).expect("connected");
    let (mut up, mut down) = (client.try_clone().expect("a handle"), upstream.try_clone().expect("a handle"));
    std::thread::spawn(move || std::io::copy(&mut up, &mut down));
    let mut seen = Vec::new();
    let (mut from, mut to, mut piece) = (upstream, client, vec![0; 64 * 1024]);
    while let Ok(count @ 1..) = from.read(&mut piece) {
        seen.extend_from_slice(&piece[..count]);
        to.write_all(&piece[..count]).expect("openssl reads");
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
    assert!(reading.join().expect("openssl ends").has("xxxxxxxxxx"));
    let sizes = application_records(&seen);
    // The first responses fit into one segment each, so that none waits for the next to be decrypted.
    let small = sizes.iter().take_while(|size| **size <= 1500).count();
    assert!(small >= 10, "{:?}", &sizes[..20.min(sizes.len())]);
    assert!(sizes.iter().filter(|size| **size > 16_000).count() > 50, "{sizes:?}");
    assert!(sizes.iter().all(|size| *size <= 16_384 + 256), "{sizes:?}");
}

/// The lengths of the records of application data.
fn application_records(mut bytes: &[u8]) -> Vec<usize> {
    let mut sizes = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(5) {
        let len = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if head[0] == 23 {
            sizes.push(len);
        }
        bytes = rest.get(len..).unwrap_or_default();
    }
    // The certificate is sent as application data too; the rest begins with the response.
    sizes
}

#[test]
fn a_connection_is_closed_by_an_alert_that_says_so() {
    let dir = site();
    let server = serve(&dir, "", "");
    let said = s_client(&server.address, &["-tls1_3"], &last("/ten"));
    // openssl calls an end without close_notify an unexpected eof.
    assert!(said.code == 0 && said.has("0123456789") && !said.has("unexpected eof"), "{said:?}");
}

#[test]
fn a_handshake_byte_by_byte_is_understood() {
    let dir = site();
    let server = serve(&dir, "", "");
    let mut client = Client::connect(&server.address);
    for byte in hello() {
        client.send([byte]);
    }
    // A ServerHello in a handshake record.
    assert!(client.receive_at_least(6) >= 6);
}
