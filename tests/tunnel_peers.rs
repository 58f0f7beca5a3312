//! Tunnels between third-party clients and servers: WebSocket with Node's `ws` and Python's `websockets`,
//! over HTTP/1.1 and HTTP/2, without and over TLS; curl through CONNECT. Those that are not installed are
//! skipped, unless HAYAMI_ALL_CLIENTS=1.

use crate::support::certificates::Authority;
use crate::support::peers::{Peer, free_port, listens};
use crate::support::{Scratch, Server, missing, missing_module, missing_package, output, run, tls, until};
use std::process::{Child, Command, Stdio};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tunnel_peers");

/// A server of WebSocket; dropping it kills it.
struct Echo {
    child: Child,
    port: u16,
}

impl Echo {
    #[track_caller]
    fn start(program: &str, args: &[&str]) -> Self {
        let port = free_port();
        let mut command = Command::new(program);
        command.args(args).arg(port.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
        until(&format!("{program} {args:?} listens"), || listens(port));
        Self { child, port }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// hayami in front of that port, with and without TLS: the addresses of both, and the authority.
fn before(dir: &Scratch, port: u16) -> (Server, String, String, String) {
    Authority::new(dir).issue_leaf();
    let listen = tls::listen("").replace("listen:\n  ", "  - ").replace("\n  ", "\n    ");
    let text = format!(
        "num-threads: 1\nlisten:\n  - {{host: 127.0.0.2, port: 0}}\n{listen}\nhosts: {{default: {{paths: {{/: \
         {{proxy.reverse.url: 'http://127.0.0.1:{port}'}}}}}}}}\n"
    );
    let server = Server::config(dir, &text);
    let addresses = server.addresses();
    let (clear, secure) = (addresses[0].clone(), addresses[1].clone());
    (server, clear, secure, dir.text("tls/ca.pem"))
}

fn script(name: &str) -> String {
    format!("{SCRIPTS}/{name}")
}

#[test]
fn websocket_of_node_passes_by_every_protocol() {
    if missing_package("ws") {
        return;
    }
    for scheme in ["ws", "wss", "http", "https"] {
        // The last command makes it exit.
        let echo = Echo::start("node", &[&script("server.js")]);
        let dir = Scratch::new();
        let (server, clear, secure, ca) = before(&dir, echo.port);
        let address = if scheme.ends_with('s') && scheme != "ws" { secure } else { clear };
        run("node", &[&script("client.js"), &format!("{scheme}://{address}/"), &ca]);
        assert!(server.stderr().ends_with("ready\n"), "{}", server.stderr());
    }
}

#[test]
fn websocket_of_python_passes_in_clear_and_over_tls() {
    if missing_module("websockets") {
        return;
    }
    let echo = Echo::start("python3", &[&script("peers.py"), "server"]);
    let dir = Scratch::new();
    let (_server, clear, secure, ca) = before(&dir, echo.port);
    run("python3", &[&script("peers.py"), "client", &format!("ws://{clear}/")]);
    run("python3", &[&script("peers.py"), "client", &format!("wss://{secure}/"), &ca]);
}

#[test]
fn websocket_over_http_2_by_python_frame_by_frame() {
    if missing_module("h2") || missing_module("websockets") {
        return;
    }
    let echo = Echo::start("python3", &[&script("peers.py"), "server"]);
    let dir = Scratch::new();
    let (_server, clear, ..) = before(&dir, echo.port);
    let (host, port) = clear.rsplit_once(':').expect("an address");
    run("python3", &[&script("http2.py"), host, port]);
}

#[test]
fn curl_finds_its_way_through_connect() {
    if missing("curl") || missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    let large: String = (0..1_000_000).map(|number| format!("{number:08}")).collect();
    dir.write("site/small", "small").write("site/large", &large);
    let nginx = Peer::nginx(&dir, "root DIR/site;");
    Authority::new(&dir).issue_leaf();
    let rules = format!("proxy.connect: ['-*:1', '+127.0.0.1:{}']", nginx.port);
    let listen = tls::listen("").replace("listen:\n  ", "  - ").replace("\n  ", "\n    ");
    let text = format!(
        "listen:\n  - {{host: 127.0.0.2, port: 0}}\n{listen}\nhosts: {{default: {{paths: {{/: {{{rules}}}}}}}}}\n"
    );
    let server = Server::config(&dir, &text);
    let addresses = server.addresses();
    let proxies = [format!("http://{}", addresses[0]), format!("https://{}", addresses[1])];
    let ca = dir.text("tls/ca.pem");
    for proxy in &proxies {
        let through = ["-sS", "-m", "60", "-p", "-x", proxy, "--proxy-cacert", &ca];
        let get = |url: &str| output("curl", [&through[..], &[url]].concat());
        let site = format!("http://127.0.0.1:{}", nginx.port);
        assert_eq!(get(&format!("{site}/small")), (0, b"small".to_vec()), "{proxy}");
        assert!(get(&format!("{site}/large")).1 == large.as_bytes(), "{proxy}");
        let status = ["-o", "/dev/null", "-w", "%{http_connect}", "http://127.0.0.1:1/"];
        let denied = output("curl", [&through[..], &status].concat());
        assert_eq!(denied, (56, b"403".to_vec()), "{proxy}");
    }
}
