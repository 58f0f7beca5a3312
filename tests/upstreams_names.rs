//! Upstreams whose names cannot be resolved at the start: everything else is served, and they are as soon as they can
//! be found.

use crate::support::dns::Dns;
use crate::support::upstream::Upstream;
use crate::support::{Launch, Scratch, Server, until};
use std::net::{Ipv4Addr, SocketAddr};

/// A site, and an application whose upstream name is resolved by these name servers.
fn config(resolver: SocketAddr, handler: &str) -> String {
    format!(
        "num-threads: 1\nresolver: {resolver}\nhosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}, /app: {{{handler}}}}}}}}}\n"
    )
}

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    dir
}

fn port(upstream: &Upstream) -> &str {
    upstream.address.rsplit(':').next().expect("a port")
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nup";

#[test]
fn a_name_that_does_not_resolve_is_a_warning_and_is_asked_for_again() {
    let (dir, dns, upstream) = (site(), Dns::new(), Upstream::answering(OK));
    let url = format!("http://app.test:{}", port(&upstream));
    let text = config(dns.address, &format!("proxy.reverse.url: '{url}/'"));
    let test = Launch::config(&dir, &text).finish_test(&[]);
    assert_eq!((test.code, test.stdout.as_str()), (0, "configuration OK\n"), "{}", test.stderr);
    let fault = format!("warning: cannot resolve the host name of `{url}`: `app.test` does not exist");
    for words in [&fault, "hayami.conf:4:", "the server starts without this upstream and keeps trying"] {
        assert!(test.stderr.contains(words), "{words}: {}", test.stderr);
    }

    let server = Launch::config(&dir, &text).serve();
    assert!(server.stderr().starts_with(&test.stderr), "the start and -t agree: {}", server.stderr());
    assert_eq!(server.get("/").text(), "front");
    let lost = format!("warn upstream: {url}: cannot resolve the host name: `app.test` does not exist");
    server.until_stderr(&lost);
    for _ in 0..20 {
        assert_eq!(server.get("/app").status, 502);
    }
    assert_eq!(server.stderr().matches("cannot resolve the host name").count(), 2, "{}", server.stderr());
    assert!(!server.stderr().contains(" request: "), "not for every request: {}", server.stderr());

    dns.addresses("app.test", 1, &[Ipv4Addr::LOCALHOST]);
    until("it is found", || server.get("/app").status == 200);
    server.until_stderr(&format!("notice upstream: {url}: the host name resolves again"));
}

#[test]
fn the_upstreams_whose_names_resolve_serve_meanwhile() {
    let (dir, dns, upstream) = (site(), Dns::new(), Upstream::answering(OK));
    dns.addresses("there.test", 60, &[Ipv4Addr::LOCALHOST]);
    let urls = format!("[http://gone.test, 'http://there.test:{}']", port(&upstream));
    let server = Server::config(&dir, &config(dns.address, &format!("proxy.reverse.url: {urls}")));
    for _ in 0..10 {
        assert_eq!(server.get("/app").text(), "up");
    }
}

#[test]
fn a_silent_name_server_does_not_keep_the_server_from_starting() {
    let (dir, dns) = (site(), Dns::silent());
    let more = "proxy.reverse.url: [http://a.test, http://b.test]}, /srv: {proxy.reverse.url: {url: http://_app._tcp.test, \
                srv: YES}}, /fast: {fastcgi.connect: {host: a.test, port: 9000}";
    let server = Server::config(&dir, &config(dns.local_addr().expect("bound"), more));
    assert_eq!(server.get("/").text(), "front");
    for path in ["/app", "/srv", "/fast"] {
        assert_eq!(server.get(path).status, 502, "{path}");
    }
    assert_eq!(server.stderr().matches(": temporary failure: no ").count(), 4);
}

#[test]
fn what_can_be_no_name_still_ends_the_start() {
    let dir = site();
    let name = "a".repeat(64);
    let text = config(([127, 0, 0, 1], 53).into(), &format!("proxy.reverse.url: http://{name}/"));
    let ended = Launch::config(&dir, &text).finish();
    assert_eq!(ended.code, 78, "{}", ended.stderr);
    assert!(ended.stderr.contains("is not a valid host name"), "{}", ended.stderr);
}
