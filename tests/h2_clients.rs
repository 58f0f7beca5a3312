//! Third-party HTTP/2 clients, without and over TLS. Those that are not installed are skipped, unless
//! HAYAMI_ALL_CLIENTS=1.

use crate::support::{Launch, Scratch, Server, missing, missing_module, output, run, tls, until};
use std::process::{Child, Command, Stdio};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/ten", "0123456789").write("site/612", vec![b'x'; 612]);
    dir.write("site/page", vec![b'p'; 513 * 1024]).write("site/large", b"0123456789".repeat(500_000));
    dir
}

fn curl(args: &[&str]) -> String {
    let (code, out) = output("curl", ["-sS", "-m", "20"].into_iter().chain(args.iter().copied()));
    assert_eq!(code, 0, "curl {args:?}");
    String::from_utf8_lossy(&out).into_owned()
}

/// The version and the status that curl saw.
const SAW: [&str; 4] = ["-o", "/dev/null", "-w", "%{http_version} %{http_code} %{size_download}"];

#[test]
fn curl_speaks_every_version_over_tls() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let server = tls::site(&dir, "", "");
    let (ca, url) = (dir.text("tls/ca.pem"), |path: &str| format!("https://{}{path}", server.address));
    let get = |more: &[&str], path: &str| curl(&[&["--cacert", &ca], more, &SAW, &[&url(path)]].concat());
    assert_eq!(get(&["--http2"], "/ten"), "2 200 10");
    assert_eq!(get(&["--http1.1"], "/ten"), "1.1 200 10");
    assert_eq!(get(&["--http1.0"], "/ten"), "1.1 200 10");
    assert_eq!(get(&["--no-alpn"], "/ten"), "1.1 200 10", "without ALPN it is HTTP/1.1");
    assert_eq!(get(&["--http2"], "/none").split(' ').take(2).collect::<Vec<_>>(), ["2", "404"]);
    assert_eq!(get(&["--http2", "-r", "2-4"], "/ten"), "2 206 3");
    assert_eq!(get(&["--http2", "-d", "content"], "/ten").split(' ').nth(1), Some("405"));
    let whole = curl(&["--cacert", &ca, "--http2", &url("/large")]);
    assert!(whole.as_bytes() == b"0123456789".repeat(500_000), "{}", whole.len());
}

#[test]
fn curl_speaks_http2_in_clear_by_prior_knowledge_and_by_upgrade() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let url = |path: &str| format!("http://{}{path}", server.address);
    let get = |more: &[&str], path: &str| curl(&[more, &SAW, &[&url(path)]].concat());
    assert_eq!(get(&["--http2-prior-knowledge"], "/ten"), "2 200 10");
    assert_eq!(get(&["--http2"], "/ten"), "2 200 10", "by Upgrade");
    assert_eq!(get(&["--http1.1"], "/ten"), "1.1 200 10");
    assert_eq!(get(&["--http2", "-d", "content"], "/ten").split(' ').nth(1), Some("405"));
    let both = curl(&[
        "--http2",
        "-w",
        "%{num_connects} ",
        "-o",
        "/dev/null",
        &url("/ten"),
        "-o",
        "/dev/null",
        &url("/"),
    ]);
    assert_eq!(both, "1 0 ", "the connection is kept");
    let whole = curl(&["--http2", &url("/large")]);
    assert!(whole.as_bytes() == b"0123456789".repeat(500_000), "{}", whole.len());
}

#[test]
fn curl_gets_many_at_once_over_one_connection() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let server = tls::site(&dir, "", "");
    let url = format!("https://{}/page?[1-60]", server.address);
    let (ca, out) = (dir.text("tls/ca.pem"), dir.text("page-#1"));
    let said =
        curl(&["--cacert", &ca, "-Z", "--parallel-max", "60", "-w", "%{num_connects}\n", "-o", &out, &url]);
    let connects: u32 = said.lines().filter_map(|line| line.parse::<u32>().ok()).sum();
    assert!((1..=2).contains(&connects), "{said}");
    for number in 1..=60 {
        assert_eq!(dir.read(&format!("page-{number}")).len(), 513 * 1024, "{number}");
    }
}

#[test]
fn nghttp_gets_its_priorities_through() {
    if missing("nghttp") {
        return;
    }
    let dir = site();
    let server = tls::site(&dir, "", "");
    let url = |path: &str| format!("https://{}{path}", server.address);
    let text = run(
        "nghttp",
        &["-nv", "-p", "256", "-H", "priority: u=0, i", &url("/page"), &url("/ten"), &url("/none")],
    );
    for part in ["The negotiated protocol: h2", ":status: 200", ":status: 404", "recv SETTINGS frame", "ACK"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("recv RST_STREAM") && !text.contains("error_code=PROTOCOL_ERROR"), "{text}");
    // -c changes the server's table size by SETTINGS; -t waits, -m requests each several times.
    let text = run("nghttp", &["-nv", "-c", "0", "-m", "20", &url("/612")]);
    assert_eq!(text.matches(":status: 200").count(), 20, "{text}");
    let clear = Server::site(&dir, "");
    let text = run("nghttp", &["-nvu", &format!("http://{}/ten", clear.address)]);
    assert!(text.contains("HTTP Upgrade success") && text.contains(":status: 200"), "{text}");
}

/// Runs h2load; all requests must have succeeded.
#[track_caller]
fn h2load(args: &[&str], requests: usize) {
    let text = run("h2load", args);
    let line =
        format!("{requests} total, {requests} started, {requests} done, {requests} succeeded, 0 failed");
    assert!(text.contains(&line), "{args:?}: {text}");
    assert!(text.contains(&format!("{requests} 2xx")), "{args:?}: {text}");
}

#[test]
fn h2load_has_every_answer_in_clear_and_over_tls() {
    if missing("h2load") {
        return;
    }
    let dir = site();
    let many = ["-n", "20000", "-c", "20", "-m", "50", "-t", "1"];
    let clear = Server::site(&dir, "");
    h2load(&[&many[..], &[&format!("http://{}/612", clear.address)]].concat(), 20_000);
    let server = tls::site(&dir, "", "");
    h2load(&[&many[..], &[&format!("https://{}/612", server.address)]].concat(), 20_000);
    let first = ["--h1", "-n", "2000", "-c", "20", "-m", "1", "-t", "1"];
    h2load(&[&first[..], &[&format!("https://{}/612", server.address)]].concat(), 2000);
    // Windows of one KB: the server waits for credit all the time.
    let narrow = ["-n", "20", "-c", "2", "-m", "10", "-w", "10", "-W", "10"];
    h2load(&[&narrow[..], &[&format!("https://{}/page", server.address)]].concat(), 20);
}

#[test]
fn a_large_page_reaches_hundreds_of_clients_with_a_hundred_streams_each() {
    if missing("h2load") {
        return;
    }
    let dir = site();
    let server = tls::site(&dir, "", "http2-max-concurrent-requests-per-connection: 256\n");
    let url = format!("https://{}/page", server.address);
    h2load(&["-n", "4000", "-c", "200", "-m", "100", "-t", "1", &url], 4000);
    until("the connections are gone", || server.sockets() < 100);
    h2load(&["-n", "400", "-c", "20", "-m", "20", "-t", "1", &url], 400);
}

#[test]
fn a_thousand_connections_fit_into_a_low_limit_of_open_files() {
    if missing("h2load") {
        return;
    }
    let dir = site();
    certificates(&dir);
    let launch = Launch::config(&dir, &format!("{}{}", tls::listen(""), tls::HOSTS));
    let server = launch.after("ulimit -n 1100").serve();
    let url = format!("https://{}/page", server.address);
    h2load(&["-n", "2040", "-c", "1020", "-m", "2", "-t", "1", &url], 2040);
    // More than the limit: those beyond it wait or are refused; the others are served.
    let text =
        run("h2load", &["-n", "1020", "-c", "1020", "-m", "1", &format!("https://{}/612", server.address)]);
    assert!(text.contains("1020 succeeded"), "{text}");
}

fn certificates(dir: &Scratch) {
    crate::support::certificates::Authority::new(dir).issue_leaf();
}

const PYTHON: &str = r#"
import httpx, ssl, sys
address, ca = sys.argv[1:]
clear = not ca
scheme = "http" if clear else "https"
verify = ssl.create_default_context(cafile=ca) if ca else True
with httpx.Client(http1=False, http2=True, verify=verify, timeout=20) as client:
    for method, path, content, status, text in [
        ("GET", "/ten", None, 200, b"0123456789"),
        ("HEAD", "/ten", None, 200, b""),
        ("POST", "/ten", b"content" * 20000, 405, None),
        ("OPTIONS", "/ten", None, None, None),
        ("GET", "/none", None, 404, None),
        ("GET", "/page", None, 200, b"p" * 513 * 1024),
        ("GET", "/", None, 200, b"front"),
    ]:
        r = client.request(method, f"{scheme}://{address}{path}", content=content)
        assert r.http_version == "HTTP/2", r.http_version
        assert status in (None, r.status_code) and text in (None, r.content), (method, path, r.status_code, r.content[:99])
    with client.stream("GET", f"{scheme}://{address}/large") as r:
        assert sum(len(piece) for piece in r.iter_bytes()) == 5_000_000
import asyncio
async def many():
    async with httpx.AsyncClient(http1=False, http2=True, verify=verify, timeout=20) as client:
        answers = await asyncio.gather(*[client.get(f"{scheme}://{address}/612") for _ in range(90)])
        assert all(r.status_code == 200 and len(r.content) == 612 for r in answers)
asyncio.run(many())
print("kept")
"#;

#[test]
fn python_httpx_gets_everything_by_http2() {
    if missing_module("httpx, h2") {
        return;
    }
    let dir = site();
    let (clear, server) = (Server::site(&dir, ""), tls::site(&dir, "", ""));
    let ca = dir.text("tls/ca.pem");
    for (address, ca) in [(&clear.address, ""), (&server.address, ca.as_str())] {
        let said = run("python3", &["-c", PYTHON, address, ca]);
        assert_eq!(said.trim(), "kept", "{said}");
    }
}

/// Starts the client in Go; it is built once, into the target folder.
fn go_client() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/go");
    let program = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-client");
    let program = program.to_str().expect("test paths are UTF-8").to_owned();
    let built = Command::new("go").args(["build", "-o", &program, "."]).current_dir(folder).status();
    assert!(built.is_ok_and(|status| status.success()), "the client in Go is built");
    program
}

#[test]
fn go_net_http_gets_everything_by_http2_and_agrees_on_a_post_quantum_secret() {
    if missing("go") {
        return;
    }
    let dir = site();
    let (clear, server) = (Server::site(&dir, ""), tls::site(&dir, "", ""));
    let program = go_client();
    let said = run(&program, &[&format!("https://{}", server.address), &dir.text("tls/ca.pem")]);
    assert!(said.contains("TLS 1.3, X25519MLKEM768"), "{said}");
    assert!(said.ends_with("done\n"), "{said}");
    let said = run(&program, &[&format!("http://{}", clear.address), ""]);
    assert!(said.ends_with("done\n"), "{said}");
}

#[test]
fn a_client_that_is_killed_in_the_middle_leaves_nothing_behind() {
    if missing("h2load") {
        return;
    }
    let dir = site();
    let server = tls::site(&dir, "", "");
    let before = server.sockets();
    let url = format!("https://{}/page", server.address);
    for _ in 0..3 {
        let mut child: Child = Command::new("h2load")
            .args(["-n", "1000000", "-c", "50", "-m", "50", &url])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("h2load starts");
        until("connections are open", || server.sockets() > before + 40);
        child.kill().expect("it runs");
        child.wait().expect("a child");
        until("they are gone", || server.sockets() <= before);
    }
}
