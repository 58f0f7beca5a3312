//! Other people's clients. One that is not installed is skipped, unless HAYAMI_ALL_CLIENTS=1.

use crate::support::{Scratch, Server, missing, output};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/ten", "0123456789").write("site/612", vec![b'x'; 612]);
    dir.write("site/a.js", "plain").write("site/large", b"0123456789".repeat(500_000));
    dir
}

fn curl(args: &[&str]) -> String {
    let (code, out) = output("curl", ["-sS", "-m", "20"].into_iter().chain(args.iter().copied()));
    assert_eq!(code, 0, "curl {args:?}");
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn curl_gets_files_heads_parts_and_several_over_one_connection() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let url = |path: &str| format!("http://{}{path}", server.address);
    assert_eq!(curl(&[&url("/")]), "front");
    assert!(curl(&["-I", &url("/ten")]).to_ascii_lowercase().contains("content-length: 10\r\n"));
    assert_eq!(curl(&["-r", "2-4", &url("/ten")]), "234");
    assert!(curl(&["-r", "0-1,5-6", &url("/ten")]).contains("bytes 5-6/10"));
    assert_eq!(curl(&["--http1.0", &url("/ten")]), "0123456789");
    assert_eq!(
        curl(&["--path-as-is", "-o", "/dev/null", "-w", "%{http_code}", &url("/../../etc/passwd")]),
        "404"
    );
    let connections =
        curl(&["-w", "%{num_connects} ", "-o", "/dev/null", &url("/ten"), "-o", "/dev/null", &url("/")]);
    assert_eq!(connections, "1 0 ");
    assert_eq!(curl(&["-d", "content", "-w", "%{http_code}", "-o", "/dev/null", &url("/ten")]), "405");
    let expect = [
        "-H",
        "Expect: 100-continue",
        "-d",
        "content",
        "-w",
        "%{http_code}",
        "-o",
        "/dev/null",
        &url("/ten"),
    ];
    assert_eq!(curl(&expect), "405");
    assert_eq!(
        curl(&[
            "-T",
            "/etc/hostname",
            "-H",
            "Transfer-Encoding: chunked",
            "-w",
            "%{http_code}",
            "-o",
            "/dev/null",
            &url("/x")
        ])
        .trim(),
        "404"
    );
}

#[test]
fn curl_resumes_a_broken_download() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let part = dir.text("part");
    let whole = std::fs::read(dir.path("site/large")).expect("the file");
    std::fs::write(&part, &whole[..1_234_567]).expect("written");
    curl(&["-C", "-", "-o", &part, &format!("http://{}/large", server.address)]);
    assert!(std::fs::read(&part).expect("the download") == whole);
}

#[test]
fn curl_unpacks_what_is_sent_compressed() {
    if missing("curl") || missing("gzip") {
        return;
    }
    let dir = site();
    assert_eq!(output("gzip", ["-k", &dir.text("site/a.js")]).0, 0);
    let server = Server::site(&dir, "file.send-compressed: ON");
    let url = format!("http://{}/a.js", server.address);
    assert_eq!(curl(&["--compressed", &url]), "plain");
    assert!(curl(&["--compressed", "-D", "-", "-o", "/dev/null", &url]).contains("content-encoding: gzip"));
}

#[test]
fn zstd_unpacks_what_is_sent_compressed() {
    if missing("curl") || missing("zstd") {
        return;
    }
    let dir = site();
    assert_eq!(output("zstd", ["-q", &dir.text("site/large")]).0, 0);
    let server = Server::site(&dir, "file.send-compressed: ON");
    let (url, packed) = (format!("http://{}/large", server.address), dir.text("packed"));
    curl(&["-H", "Accept-Encoding: zstd", "-o", &packed, &url]);
    let (code, content) = output("zstd", ["-dc", &packed]);
    assert!(code == 0 && content == b"0123456789".repeat(500_000), "{} bytes", content.len());
}

#[test]
fn curl_speaks_over_a_unix_socket() {
    if missing("curl") {
        return;
    }
    let dir = site();
    let text =
        "listen: {type: unix, port: DIR/socket}\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let _server = Server::config(&dir, text);
    assert_eq!(curl(&["--unix-socket", &dir.text("socket"), "http://a/ten"]), "0123456789");
}

const PYTHON: &str = r#"
import http.client, sys
c = http.client.HTTPConnection(sys.argv[1], timeout=20)
sock = None
for method, path, body, status, text in [
    ("GET", "/ten", None, 200, b"0123456789"),
    ("HEAD", "/ten", None, 200, b""),
    ("POST", "/ten", b"content", 405, None),
    ("POST", "/ten", iter([b"chunk", b"ed"]), 405, None),
    ("OPTIONS", "*", None, 200, b""),
    ("GET", "/none", None, 404, None),
    ("GET", "/", None, 200, b"front"),
]:
    c.request(method, path, body=body)
    assert sock is None or c.sock is sock, "the connection was kept"
    sock = c.sock
    r = c.getresponse()
    got = r.read()
    assert r.status == status and (text is None or got == text), (method, path, r.status, got)
print("kept")
"#;

#[test]
fn python_keeps_its_connection() {
    if missing("python3") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let (code, out) = output("python3", ["-c", PYTHON, &server.address]);
    assert_eq!((code, String::from_utf8_lossy(&out).trim()), (0, "kept"));
}

#[test]
fn wrk_counts_no_errors() {
    if missing("wrk") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let (code, out) =
        output("wrk", ["-c", "20", "-t", "1", "-d", "1", &format!("http://{}/612", server.address)]);
    let text = String::from_utf8_lossy(&out).into_owned();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Requests/sec"), "{text}");
    assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "{text}");
}

#[test]
fn ab_counts_no_errors_with_and_without_keep_alive() {
    if missing("ab") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let url = format!("http://{}/612", server.address);
    for keep_alive in ["-k", "-q"] {
        let (code, out) = output("ab", ["-q", keep_alive, "-c", "20", "-n", "2000", &url]);
        let text = String::from_utf8_lossy(&out).into_owned();
        assert_eq!(code, 0, "{text}");
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map_or_else(|| "0".to_owned(), |value| value.trim().to_owned())
        };
        assert_eq!(value("Complete requests:"), "2000", "{text}");
        assert_eq!(
            (value("Failed requests:"), value("Non-2xx responses:")),
            ("0".to_owned(), "0".to_owned()),
            "{text}"
        );
        assert_eq!(value("Keep-Alive requests:"), if keep_alive == "-k" { "2000" } else { "0" }, "{text}");
    }
}

#[test]
fn nc_gets_its_answer_after_it_has_closed_its_half() {
    if missing("nc") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let (host, port) = server.address.split_once(':').expect("an address");
    let command = format!("printf 'GET /ten HTTP/1.0\\r\\n\\r\\n' | nc -w 10 {host} {port}");
    let (code, out) = output("sh", ["-c", &command]);
    assert_eq!(code, 0);
    assert!(String::from_utf8_lossy(&out).ends_with("\r\n\r\n0123456789"));
}
