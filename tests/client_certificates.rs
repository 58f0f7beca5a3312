//! Hosts that require a client certificate, next to hosts that do not: no request reaches them without one,
//! by whatever path.

use crate::support::certificates::{Authority, Leaf};
use crate::support::tls::{s_client, wire};
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Client, Launch, Scratch, Server};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

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

#[test]
fn a_connection_that_is_open_when_certificates_become_required_does_not_get_in() {
    let dir = Scratch::new();
    Authority::new(&dir).issue_leaf();
    // A reload reads it as the user that the server runs as.
    std::fs::set_permissions(dir.path("tls/leaf.key"), Permissions::from_mode(0o644)).expect("changed");
    dir.write("site/index.html", "members only");
    let text = |more: &str| {
        format!(
            "listen: {{host: 127.0.0.1, port: 0, ssl: {{certificate-file: DIR/tls/leaf.pem, key-file: \
             DIR/tls/leaf.key{more}}}}}\nhosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}}}}}}}\n"
        )
        .replace("DIR", &dir.text(""))
    };
    let server = Server::config(&dir, &text(""));
    let mut open = wire(&server.address, &[]);
    open.get(1, "/");
    assert_eq!(open.answer(1).text(), "members only");
    dir.replace("hayami.conf", text(", client-ca-file: DIR/tls/ca.pem"));
    // A request the client sends before it has read the GOAWAY.
    let mut crossing = wire(&server.address, &[]);
    crossing.get(1, "/");
    assert_eq!(crossing.answer(1).text(), "members only");
    let reloaded = Launch::new(["reload", &server.banner("control")]).finish();
    assert_eq!(reloaded.code, 0, "{}", reloaded.stderr);
    crossing.get(3, "/");
    assert_eq!(crossing.answer(3).status, 421);
    assert_eq!(open.closed().code(), Some(0), "GOAWAY with NO_ERROR");
    let said = s_client(&server.address, &[], &request("default", "/"));
    assert!(!said.has("members only"), "{said:?}");
}
