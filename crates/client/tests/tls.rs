//! Calls over TLS to upstreams that use rustls directly, with various certificates.

mod calls;

use calls::lines::{LONG, lines};
use calls::*;
use hayami_client::{Origin, Tls};
use hayami_net::dial::Peer;
use hayami_tls::{Authorities, ClientSettings, Connector, Trust};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion, version};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

type Secured = StreamOwned<ServerConnection, TcpStream>;

/// A certificate authority and the file with its certificate.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("authority {number}"));
        let certificate = params.self_signed(&key).expect("signed");
        let file = std::env::temp_dir().join(format!("hayami-upstream-ca-{process}-{number}.pem"));
        std::fs::write(&file, certificate.pem()).expect("written");
        Self { issuer: Issuer::new(params, key), file }
    }

    /// A server configuration with a certificate for `name`.
    fn server(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        change(&mut params);
        let certificate: CertificateDer<'static> =
            params.signed_by(&key, &self.issuer).expect("signed").der().clone();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let both: &[&SupportedProtocolVersion] = &[&version::TLS12, &version::TLS13];
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(both);
        let builder = builder.expect("versions").with_no_client_auth();
        builder.with_single_cert(vec![certificate], key).expect("a certificate")
    }

    fn of_app(&self) -> ServerConfig {
        self.server("app.example", |_| {})
    }

    fn tls(&self, change: impl FnOnce(&mut ClientSettings)) -> Tls {
        let trust = Trust::Only(Authorities::read(&self.file).expect("a file"));
        let mut settings = ClientSettings::new(trust);
        change(&mut settings);
        Tls { connector: Connector::new(&settings).expect("settings"), name: "app.example".to_owned() }
    }

    fn origin(&self, address: SocketAddr) -> Origin {
        Origin { tls: Some(self.tls(|_| {})), ..origin(&[address]) }
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// A TLS upstream that runs `act` on each connection.
fn secured(
    config: ServerConfig,
    act: impl Fn(usize, Secured) + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let config = Arc::new(config);
    upstream(move |number, stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).expect("settings");
        act(number, StreamOwned::new(connection, stream));
    })
}

fn head(stream: &mut Secured) -> Option<String> {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return None;
        }
        all.push(byte[0]);
    }
    String::from_utf8(all).ok()
}

/// Answers every request on a connection.
fn answer_all(_: usize, mut stream: Secured) {
    while head(&mut stream).is_some() && stream.write_all(OK).is_ok() {}
}

/// Answers the first request only.
fn once(bytes: &'static [u8]) -> impl Fn(usize, Secured) {
    move |_, mut stream| {
        if head(&mut stream).is_some() {
            let _ = stream.write_all(bytes);
        }
    }
}

fn only(version: &'static SupportedProtocolVersion, authority: &Authority) -> ServerConfig {
    let config = authority.of_app();
    let provider = Arc::clone(config.crypto_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
    let mut one = builder.expect("a version").with_no_client_auth().with_cert_resolver(config.cert_resolver);
    one.send_tls13_tickets = 4;
    one
}

#[test]
fn requests_over_tls_share_a_connection_in_both_versions() {
    let authority = Authority::new();
    for version in [&version::TLS12, &version::TLS13] {
        let (address, opened) = secured(only(version, &authority), answer_all);
        let server = server(authority.origin(address));
        for _ in 0..5 {
            let got = server.ask("GET", "/a");
            assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("hello"), "{version:?}: {got}");
        }
        assert_eq!(opened.load(Ordering::SeqCst), 1, "{version:?}");
        server.await_counters("opened: 1, reused: 4, failed: 0, resumed: 0 } idle 1 in flight 0");
        server.stop();
    }
}

#[test]
fn the_upstream_is_told_the_name_and_http_1_1() {
    let authority = Authority::new();
    let (told, tellings) = channel();
    let mut config = authority.of_app();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let (address, _) = secured(config, move |_, mut stream| {
        head(&mut stream).expect("a request");
        let alpn = stream.conn.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        told.send((stream.conn.server_name().map(str::to_owned), alpn)).expect("heard");
        stream.write_all(OK).expect("sent");
    });
    let server = server(authority.origin(address));
    assert!(server.ask("GET", "/a").ends_with("hello"));
    let (name, alpn) = tellings.recv_timeout(Duration::from_secs(10)).expect("told");
    assert_eq!((name.as_deref(), alpn.as_deref()), (Some("app.example"), Some("http/1.1")));
    server.stop();
}

#[test]
fn whoever_is_not_who_it_should_be_gets_no_request() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let year = |first, last| {
        move |params: &mut CertificateParams| {
            params.not_before = date_time_ymd(first, 1, 1);
            params.not_after = date_time_ymd(last, 1, 1);
        }
    };
    let cases = [
        (
            authority.server("other.example", |_| {}),
            "the server's certificate isn't for app.example but for other.example",
        ),
        (authority.server("app.example", year(2001, 2002)), "the server's certificate expired on 2002-01-01"),
        (
            authority.server("app.example", year(3000, 3001)),
            "the server's certificate isn't valid before 3000-01-01",
        ),
        (stranger.of_app(), "the server's certificate is from an untrusted issuer"),
    ];
    for (config, words) in cases {
        let (asked, requests) = channel();
        let (address, _) = secured(config, move |_, mut stream| {
            let _ = asked.send(head(&mut stream));
        });
        let server = server(authority.origin(address));
        let got = server.ask("POST", "/length/10");
        assert!(got.contains(words), "{got}");
        assert!(got.contains("Failure(connecting: ") && got.contains("again true"), "{got}");
        assert_eq!(requests.recv_timeout(Duration::from_secs(10)), Ok(None), "{words}");
        server.await_counters("opened: 0, reused: 0, failed: 1, resumed: 0 } idle 0 in flight 0");
        server.stop();
    }
}

#[test]
fn without_verification_anyone_is_believed() {
    let stranger = Authority::new();
    let (address, _) = secured(stranger.server("other.example", |_| {}), answer_all);
    let tls = stranger.tls(|settings| settings.trust = Trust::Anyone);
    let server = server(Origin { tls: Some(tls), ..origin(&[address]) });
    assert!(server.ask("GET", "/a").ends_with("hello"));
    server.stop();
}

#[test]
fn an_upstream_that_speaks_no_tls_is_a_failure_at_once() {
    let authority = Authority::new();
    let cases: &[(&[u8], &str)] = &[
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the upstream does not speak TLS on this port"),
        (b"220 mail.example ESMTP\r\n", "the upstream does not speak TLS on this port"),
        (b"\x15\x03\x03\0\x02\x02\x28", "the peer sent alert 40 (handshake_failure)"),
        (b"", "the upstream closed the connection"),
    ];
    for (bytes, words) in cases {
        let (address, _) = upstream(move |_, mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(bytes);
        });
        let server = server(authority.origin(address));
        let got = server.ask("GET", "/a");
        assert!(got.contains(words) && got.contains("Failure(connecting: "), "{got}");
        server.stop();
    }
}

#[test]
fn a_handshake_that_does_not_end_is_a_timeout_of_connecting() {
    let authority = Authority::new();
    let (done, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (address, _) = upstream(move |_, mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = wait.lock().map(|wait| wait.recv());
    });
    let server = server(Origin { tls: Some(authority.tls(|_| {})), ..impatient(&[address]) });
    let got = server.ask("GET", "/a");
    assert!(got.contains("Failure(connecting: timed out") && got.contains("again true"), "{got}");
    drop(done);
    server.stop();
}

#[test]
fn the_next_address_is_tried_when_a_handshake_fails() {
    let authority = Authority::new();
    let (wrong, _) = secured(authority.server("other.example", |_| {}), answer_all);
    let (right, _) = secured(authority.of_app(), answer_all);
    let server = server(Origin { tls: Some(authority.tls(|_| {})), ..origin(&[wrong, right]) });
    assert!(server.ask("POST", "/length/1000").ends_with("hello"));
    server.await_counters("opened: 1, reused: 0, failed: 1,");
    server.stop();
}

#[test]
fn content_up_to_close_is_complete_only_with_the_goodbye_of_tls() {
    let authority = Authority::new();
    for goodbye in [true, false] {
        let (address, _) = secured(authority.of_app(), move |_, mut stream| {
            head(&mut stream).expect("a request");
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nuntil the end").expect("sent");
            if goodbye {
                stream.conn.send_close_notify();
            }
            stream.flush().expect("sent");
        });
        let server = server(authority.origin(address));
        let got = server.ask("GET", "/a");
        // The response to the client ends with the last chunk, or without it.
        assert_eq!(got.ends_with("until the end\r\n0\r\n\r\n"), goodbye, "{got}");
        server.await_counters("idle 0 in flight 0");
        server.stop();
    }
}

#[test]
fn content_with_a_length_is_complete_without_goodbye_and_cut_off_content_never_is() {
    let authority = Authority::new();
    let cases: &[(&[u8], bool)] = &[
        (OK, true),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello", false),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello", false),
    ];
    for (bytes, complete) in cases {
        let (address, _) = secured(authority.of_app(), once(bytes));
        let server = server(authority.origin(address));
        let got = server.ask("GET", "/a");
        let looks =
            got.contains("content-length: 5\r\n") && got.ends_with("hello") || got.ends_with("0\r\n\r\n");
        assert_eq!(looks, *complete, "{got}");
        server.stop();
    }
}

#[test]
fn messages_of_tls_itself_that_come_while_a_connection_is_idle_cost_it_nothing() {
    let authority = Authority::new();
    let mut config = authority.of_app();
    config.send_tls13_tickets = 0;
    let (go, gone) = channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let (sent, later) = channel();
    let (address, opened) = secured(config, move |_, mut stream| {
        head(&mut stream).expect("a request");
        stream.write_all(OK).expect("sent");
        gone.lock().expect("whole").recv().expect("told");
        // A KeyUpdate is a TLS message, as is the one requested in return.
        stream.conn.refresh_traffic_keys().expect("open");
        stream.flush().expect("sent");
        sent.send(()).expect("heard");
        answer_all(0, stream);
    });
    let server = server(authority.origin(address));
    assert!(server.ask("GET", "/a").ends_with("hello"));
    go.send(()).expect("heard");
    later.recv_timeout(Duration::from_secs(10)).expect("sent");
    server.await_counters("idle 1");
    // A request that is not repeatable asks the kernel first.
    assert!(server.ask("POST", "/a").ends_with("hello"));
    assert!(server.ask("GET", "/a").ends_with("hello"));
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    server.stop();
}

#[test]
fn content_or_goodbye_on_an_idle_connection_ends_it() {
    let authority = Authority::new();
    for goodbye in [true, false] {
        let (address, opened) = secured(authority.of_app(), move |number, mut stream| {
            head(&mut stream).expect("a request");
            stream.write_all(OK).expect("sent");
            if number == 0 && goodbye {
                stream.conn.send_close_notify();
            } else if number == 0 {
                stream.write_all(OK).expect("sent");
            }
            stream.flush().expect("sent");
            let _ = stream.sock.read(&mut [0; 1]);
        });
        let server = server(authority.origin(address));
        assert!(server.ask("GET", "/a").ends_with("hello"));
        server.await_counters("idle 0 in flight 0");
        assert!(server.ask("GET", "/a").ends_with("hello"));
        assert_eq!(opened.load(Ordering::SeqCst), 2, "{goodbye}");
        server.stop();
    }
}

#[test]
fn sessions_are_taken_up_again_by_later_connections_and_by_other_workers() {
    let authority = Authority::new();
    for version in [&version::TLS12, &version::TLS13] {
        let tls = authority.tls(|_| {});
        let (address, _) = secured(only(version, &authority), once(OK));
        let origin = || Origin { tls: Some(tls.clone()), idle: 0, ..origin(&[address]) };
        let (one, other) = (server(origin()), server(origin()));
        for _ in 0..3 {
            assert!(one.ask("GET", "/a").ends_with("hello"));
        }
        one.await_counters("opened: 3, reused: 0, failed: 0, resumed: 2 }");
        assert!(other.ask("GET", "/a").ends_with("hello"));
        other.await_counters("opened: 1, reused: 0, failed: 0, resumed: 1 }");
        one.stop();
        other.stop();
    }
}

#[test]
fn records_in_pieces_and_new_keys_in_between_change_nothing() {
    let authority = Authority::new();
    let (address, _) = secured(authority.of_app(), |_, mut stream| {
        while head(&mut stream).is_some() {
            let mut records = Vec::new();
            let conn = &mut stream.conn;
            conn.writer()
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n0123456789")
                .expect("taken");
            conn.write_tls(&mut records).expect("written");
            conn.refresh_traffic_keys().expect("open");
            conn.writer().write_all(b"0123456789").expect("taken");
            conn.write_tls(&mut records).expect("written");
            for byte in records {
                stream.sock.write_all(&[byte]).expect("sent");
            }
        }
    });
    let server = server(authority.origin(address));
    for _ in 0..3 {
        assert!(server.ask("GET", "/a").ends_with("01234567890123456789"));
    }
    server.stop();
}

#[test]
fn uploads_in_chunks_and_large_heads_arrive_whole() {
    let authority = Authority::new();
    let (address, _) = secured(authority.of_app(), |_, mut stream| {
        head(&mut stream).expect("a request");
        let (mut all, mut bytes) = (Vec::new(), vec![0; 8192]);
        while !all.ends_with(b"0\r\nsum: 1\r\n\r\n") {
            let read = stream.read(&mut bytes).expect("content");
            assert_ne!(read, 0, "{}", all.len());
            all.extend_from_slice(&bytes[..read]);
        }
        let count = all.iter().filter(|byte| **byte == b'u').count() - 1; // the trailer's
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nx-large: {}\r\ncontent-length: 6\r\n\r\n{count}",
            "x".repeat(20_000)
        )
        .expect("sent");
        let _ = head(&mut stream);
    });
    let server = server(authority.origin(address));
    let got = server.ask("POST", "/chunked/300000");
    assert!(got.contains(&"x".repeat(20_000)) && got.ends_with("300000"), "{}", got.len());
    server.stop();
}

#[test]
fn large_content_goes_both_ways() {
    let authority = Authority::new();
    for version in [&version::TLS12, &version::TLS13] {
        let (address, _) = secured(only(version, &authority), |_, mut stream| {
            let asked = head(&mut stream).expect("a request");
            let length = if asked.contains("content-length: 1000000\r\n") { 1_000_000 } else { 0 };
            let mut content = vec![0; length];
            stream.read_exact(&mut content).expect("content");
            assert!(content.iter().all(|byte| *byte == b'u'));
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n";
            stream.write_all(answer.as_bytes()).expect("sent");
            let pattern: Vec<u8> = (0..3_000_000_usize).map(|at| (at % 251) as u8).collect();
            stream.write_all(&pattern).expect("sent");
            let _ = head(&mut stream);
        });
        let server = server(authority.origin(address));
        let mut client = server.connect();
        write!(client, "POST /length/1000000 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .expect("sent");
        let answer = read_head(&mut client).expect("a head");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let mut all = Vec::new();
        client.read_to_end(&mut all).expect("content");
        assert_eq!(all.len(), 3_000_000);
        assert!(all.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8));
        server.await_counters("idle 1 in flight 0");
        server.stop();
    }
}

#[test]
fn a_raw_stream_over_tls_is_used_again_and_trusts_only_whom_it_should() {
    let authority = Authority::new();
    let echo_all = |_: usize, stream: Secured| {
        let (mut stream, mut all) = (stream, Vec::new());
        let mut byte = [0];
        while stream.read(&mut byte).unwrap_or(0) > 0 {
            all.push(byte[0]);
            if byte[0] == b'\n' && stream.write_all(&std::mem::take(&mut all)).is_err() {
                return;
            }
        }
    };
    let (address, opened) = secured(authority.of_app(), echo_all);
    let server = lines(Peer::Tcp(address), Some(authority.tls(|_| {})), 10, LONG);
    for (path, want) in [("/a", "Ok(\"/a\") reused 0"), ("/b", "Ok(\"/b\") reused 1")] {
        let got = server.ask("GET", path);
        assert!(got.ends_with(want), "{got}");
    }
    server.stop();
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    let server = lines(Peer::Tcp(address), Some(Authority::new().tls(|_| {})), 10, LONG);
    let got = server.ask("GET", "/a");
    assert!(got.contains("not connected: the TLS handshake failed"), "{got}");
    server.stop();
}
