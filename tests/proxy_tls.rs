//! The reverse proxy over TLS to a real nginx: which certificates are trusted, the errors for others, and
//! session resumption.

use crate::support::certificates::{Authority, Leaf};
use crate::support::peers::Peer;
use crate::support::{Launch, Scratch, Server, missing};

/// nginx with TLS, by certificates of an authority: `leaf` for localhost and 127.0.0.1, `other` for other.example.
struct Upstream(Peer);

const TELL: &str = "location = /tell { default_type text/plain; return 200 '$ssl_server_name $ssl_protocol \
                    reused:$ssl_session_reused connection:$connection client:$ssl_client_s_dn'; }";

impl Upstream {
    fn new(dir: &Scratch, certificate: &str, lines: &str) -> Self {
        let lines = format!(
            "ssl_certificate DIR/tls/{certificate}.pem; \
             ssl_certificate_key DIR/tls/{certificate}.key; root DIR/site; {TELL} {lines}"
        );
        Self(Peer::nginx_speaking(dir, "ssl", &lines))
    }

    /// hayami before it, which trusts the authority of the test.
    fn proxy(&self, dir: &Scratch, host: &str, lines: &str) -> Server {
        Server::config(dir, &self.config(dir, host, lines))
    }

    fn config(&self, dir: &Scratch, host: &str, lines: &str) -> String {
        let (ca, port) = (dir.text("tls/ca.pem"), self.0.port);
        format!(
            "num-threads: 1\nproxy.ssl.cafile: {ca}\n{lines}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: \
             'https://{host}:{port}'}}}}}}}}\n"
        )
    }
}

fn authority(dir: &Scratch) -> Authority<'_> {
    let authority = Authority::new(dir);
    authority.issue_leaf();
    let other = Leaf { file: "other", names: "DNS:other.example", rsa: true, extensions: &[] };
    authority.issue(&other);
    authority
}

/// The text after `key:` in the upstream's response.
fn told(server: &Server, key: &str) -> String {
    let answer = server.get("/tell");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    let after = text.split_once(&format!("{key}:")).map(|(_, after)| after.to_owned());
    after.unwrap_or(text).split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn content_goes_both_ways_over_connections_that_are_kept() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    authority(&dir);
    let large: String = (0..500_000).map(|number| format!("{number:08}")).collect();
    dir.write("site/large", &large).write("site/put/x", "");
    dir.permit("site/put", 0o777);
    for versions in ["TLSv1.2", "TLSv1.3"] {
        let put = "client_max_body_size 0; location /put/ { dav_methods PUT; }";
        let upstream = Upstream::new(
            &dir,
            "leaf",
            &format!("keepalive_requests 10000; ssl_protocols {versions}; {put}"),
        );
        let server = upstream.proxy(&dir, "localhost", "");
        let first = server.get("/tell").text();
        assert!(first.starts_with(&format!("localhost {versions} reused:. ")), "{first}");
        for _ in 0..100 {
            assert_eq!(server.get("/tell").text(), first, "the same connection");
        }
        assert!(server.get("/large").content == large.as_bytes(), "{versions}");
        let body = large.as_bytes().repeat(2);
        let head =
            format!("PUT /put/{versions} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
        let answers = server.ask([head.as_bytes(), &body].concat());
        assert_eq!(answers[0].status, 201, "{}", answers[0].text());
        assert!(std::fs::read(dir.text(&format!("site/put/{versions}"))).expect("put") == body);
        assert!(server.stderr().ends_with("ready\n"), "{}", server.stderr());
    }
}

#[test]
fn an_untrusted_upstream_is_502_and_the_log_says_why() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    authority(&dir);
    let stranger = Scratch::new();
    Authority::new(&stranger); // of the same name
    let of_stranger = format!("proxy.ssl.cafile: {}", stranger.text("tls/ca.pem"));
    let cases = [
        ("other", "", "the server's certificate isn't for 127.0.0.1 but for other.example"),
        ("leaf", &of_stranger[..], "a signature in the server's certificates is wrong"),
    ];
    for (certificate, lines, words) in cases {
        let upstream = Upstream::new(&dir, certificate, "");
        let text = upstream.config(&dir, "127.0.0.1", "");
        let text = match lines {
            "" => text,
            lines => text.replace(&format!("proxy.ssl.cafile: {}", dir.text("tls/ca.pem")), lines),
        };
        let server = Server::config(&dir, &text);
        let answer = server.get("/tell");
        assert_eq!((answer.status, answer.text()), (502, "Bad Gateway\n".to_owned()), "{certificate}");
        server.until_stderr(&format!(
            "error request: from 127.0.0.1 for \"/tell\": upstream https://127.0.0.1:{}: the TLS handshake failed: {words}",
            upstream.0.port
        ));
        server.until_stderr(" while connecting, after ");
    }
}

#[test]
fn an_upstream_in_clear_is_502_and_the_log_says_so() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    authority(&dir);
    let upstream = Upstream(Peer::nginx(&dir, ""));
    let server = upstream.proxy(&dir, "127.0.0.1", "");
    assert_eq!(server.get("/tell").status, 502);
    server.until_stderr("the upstream does not speak TLS on this port while connecting");
}

#[test]
fn verification_can_be_off_and_another_name_be_asked_for() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    authority(&dir);
    let upstream = Upstream::new(&dir, "other", "");
    let off = upstream.proxy(&dir, "localhost", "proxy.ssl.verify-peer: OFF");
    assert!(off.get("/tell").text().starts_with("localhost TLSv1"));
    let named = upstream.proxy(&dir, "127.0.0.1", "proxy.ssl.name: other.example");
    assert!(named.get("/tell").text().starts_with("other.example TLSv1"));
    // An address is verified too, and not sent as SNI (RFC 6066 §3).
    let leaf = Upstream::new(&dir, "leaf", "");
    assert!(leaf.proxy(&dir, "127.0.0.1", "").get("/tell").text().starts_with(" TLSv1"));
}

#[test]
fn the_authorities_of_the_machine_are_believed_by_default() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    authority(&dir);
    let upstream = Upstream::new(&dir, "leaf", "");
    let text = upstream.config(&dir, "localhost", "");
    let text = text.replace(&format!("proxy.ssl.cafile: {}", dir.text("tls/ca.pem")), "");
    let server = Launch::config(&dir, &text).env("SSL_CERT_FILE", dir.text("tls/ca.pem")).serve();
    assert_eq!(server.get("/tell").status, 200);
    let server = Server::config(&dir, &text);
    assert_eq!(server.get("/tell").status, 502);
}

#[test]
fn sessions_are_taken_up_again_unless_that_is_off() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    authority(&dir);
    for versions in ["TLSv1.2", "TLSv1.3"] {
        let upstream =
            Upstream::new(&dir, "leaf", &format!("ssl_protocols {versions}; ssl_session_cache shared:a:1m;"));
        let each = "proxy.timeout.keepalive: 0";
        let server = upstream.proxy(&dir, "localhost", each);
        let reused: Vec<_> = (0..4).map(|_| told(&server, "reused")).collect();
        assert_eq!(reused, [".", "r", "r", "r"], "{versions}");
        let bounded =
            upstream.proxy(&dir, "localhost", &format!("{each}\nproxy.ssl.session-cache: {{capacity: 1}}"));
        assert_eq!([told(&bounded, "reused"), told(&bounded, "reused")], [".", "r"], "{versions}");
        let off = upstream.proxy(&dir, "localhost", &format!("{each}\nproxy.ssl.session-cache: OFF"));
        assert_eq!([told(&off, "reused"), told(&off, "reused")], [".", "."], "{versions}");
    }
}

#[test]
fn an_upstream_that_requests_a_client_certificate_gets_it() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    authority(&dir);
    let upstream =
        Upstream::new(&dir, "leaf", "ssl_verify_client on; ssl_client_certificate DIR/tls/ca.pem;");
    let (certificate, key) = (dir.text("tls/other.pem"), dir.text("tls/other.key"));
    let ours = format!("proxy.ssl.certificate: {{certificate-file: {certificate}, key-file: {key}}}");
    assert_eq!(told(&upstream.proxy(&dir, "localhost", &ours), "client"), "CN=other");
    // nginx says so in its own error response.
    let answer = upstream.proxy(&dir, "localhost", "").get("/tell");
    assert_eq!(answer.status, 400, "{}", answer.text());
}

#[test]
fn files_that_cannot_be_used_stop_the_start_and_are_named_with_their_line() {
    let dir = Scratch::new();
    authority(&dir);
    dir.write("empty.pem", "");
    let files = |certificate: &str, key: &str| {
        let (certificate, key) = (dir.text(certificate), dir.text(key));
        format!("proxy.ssl.certificate: {{certificate-file: {certificate}, key-file: {key}}}")
    };
    let cases = [
        (format!("proxy.ssl.cafile: {}", dir.text("none.pem")), "does not exist"),
        (format!("proxy.ssl.cafile: {}", dir.text("empty.pem")), "there is no certificate in this file"),
        (files("tls/leaf.pem", "tls/other.key"), "this key doesn't belong to the first certificate"),
    ];
    for (line, words) in cases {
        let text = format!(
            "listen: 0\n{line}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'https://localhost:1'}}}}}}}}\n"
        );
        let finished = Launch::config(&dir, &text).finish();
        assert_eq!(finished.code, 78, "{line}");
        assert!(finished.stderr.contains(words) && finished.stderr.contains(":2:"), "{}", finished.stderr);
    }
}
