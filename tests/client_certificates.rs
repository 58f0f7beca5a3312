//! Hosts that require a client certificate, beside hosts that do not: no way into them without one, whatever
//! leads there.

use crate::support::certificates::{Authority, Leaf};
use crate::support::tls::s_client;
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Client, Scratch, Server};

/// A public host and one that requires a certificate, on one address; and a port without TLS for the first
/// one. The public one leads to the other in every possible way.
fn site() -> (Scratch, Upstream, Server) {
    let dir = Scratch::new();
    Authority::new(&dir).issue_leaf().issue(&Leaf {
        file: "client",
        names: "DNS:client",
        rsa: false,
        extensions: &[],
    });
    dir.write("public/index.html", "public").write("private/index.html", "members only");
    let upstream = Upstream::scripted(|conn: &mut Conn| {
        while let Some(asked) = conn.request() {
            let field = asked.line().split(['/', ' ']).nth(2).expect("a path").to_owned();
            let content = "Content-Length: 0\r\n";
            conn.send(format!("HTTP/1.1 200 OK\r\n{field}: https://private.example/\r\n{content}\r\n"));
        }
    });
    let text = format!(
        "listen: &tls
  host: 127.0.0.1
  port: 0
  ssl: {{certificate-file: DIR/tls/leaf.pem, key-file: DIR/tls/leaf.key}}
reproxy: ON
hosts:
  public.example:
    listen: {{host: 127.0.0.2, port: 0}}
    paths:
      /: {{file.dir: DIR/public, error-doc: {{status: 404, url: 'https://private.example/'}}}}
      /internal: {{redirect: {{url: 'https://private.example/', internal: YES}}}}
      /clear: {{redirect: {{url: 'http://private.example/', internal: YES}}}}
      /up: {{proxy.reverse.url: 'http://{}'}}
  private.example:
    listen:
      host: 127.0.0.1
      port: 0
      ssl: {{certificate-file: DIR/tls/leaf.pem, key-file: DIR/tls/leaf.key, client-ca-file: DIR/tls/ca.pem}}
    error-doc: {{status: 421, url: /}}
    paths: {{/: {{file.dir: DIR/private}}}}
",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    (dir, upstream, server)
}

fn request(host: &str, target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
}

const WAYS: [&str; 4] = ["/internal", "/clear", "/up/x-reproxy-url", "/none"];

#[test]
fn nothing_leads_to_a_host_that_requires_a_certificate_without_one() {
    let (_dir, _upstream, server) = site();
    let name = ["-servername", "public.example"];
    for target in WAYS {
        let said = s_client(&server.address, &name, &request("public.example", target));
        let want = if target == "/none" { "HTTP/1.1 404 " } else { "HTTP/1.1 403 " };
        assert!(said.has(want) && !said.has("members only"), "{target}: {said:?}");
        // A listener that the host does not have.
        let clear = &server.addresses()[1];
        assert!(clear.starts_with("127.0.0.2:"), "{clear}");
        let answer = Client::connect(clear).send(request("public.example", target)).answer();
        let want = if target == "/none" { 404 } else { 403 };
        assert_eq!(answer.status, want, "{target}: {answer:?}");
        assert!(!answer.text().contains("members only"), "{target}: {answer:?}");
    }
    server.until_stderr("requires a client certificate");
    // Requested by its name, with its own error page.
    let said = s_client(&server.address, &name, &request("private.example", "/"));
    assert!(said.has("HTTP/1.1 421 ") && !said.has("members only"), "{said:?}");
}

#[test]
fn with_its_certificate_every_way_leads_there() {
    let (dir, _upstream, server) = site();
    let (certificate, key) = (dir.text("tls/client.pem"), dir.text("tls/client.key"));
    let args = ["-servername", "private.example", "-cert", &certificate, "-key", &key];
    for target in WAYS {
        let said = s_client(&server.address, &args, &request("public.example", target));
        let want = if target == "/none" { "HTTP/1.1 404 " } else { "HTTP/1.1 200 " };
        assert!(said.has(want) && said.has("members only"), "{target}: {said:?}");
    }
    let said = s_client(&server.address, &args, &request("private.example", "/"));
    assert!(said.has("HTTP/1.1 200 ") && said.has("members only"), "{said:?}");
}
