//! `hayami bench` against other people's servers: nginx, nghttpd, Python's http.server.

use crate::support::bench::{measured, total};
use crate::support::peers::free_port;
use crate::support::{Scratch, missing, until};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A server in the foreground, ended with its test.
struct Running(Child);

impl Running {
    #[track_caller]
    fn start(port: u16, program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
        let mut running = Self(child);
        until(&format!("{program} listens"), || {
            assert!(running.0.try_wait().expect("a child").is_none(), "{program} {args:?} ended");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // nginx's master takes its workers along on SIGTERM, and only then.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.0),
            rustix::process::Signal::TERM,
        );
        let _ = self.0.wait();
    }
}

#[track_caller]
fn all_right(words: &[&str], url: &str, protocol: &str) {
    let (report, code) = measured(&[&["-n", "300", "-c", "5"], words, &[url]].concat());
    let total = total(&report);
    assert_eq!((code, &total["successes"]), (0, &300.into()), "{words:?} {report}");
    assert_eq!(total["content_bytes"], 1500, "{words:?}");
    assert_eq!(report["targets"][0]["sample"]["protocol"], protocol, "{words:?}");
}

#[test]
fn nginx_is_loaded_in_every_way() {
    if missing("nginx") {
        return;
    }
    let (dir, port) = (Scratch::new(), free_port());
    dir.write("index.html", "hello");
    dir.write(
        "nginx.conf",
        format!(
            "daemon off; pid {0}/pid; error_log /dev/null; events {{}}\nhttp {{ access_log off; \
             client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c; \
             uwsgi_temp_path {0}/d; scgi_temp_path {0}/e; \
             server {{ listen 127.0.0.1:{port}; root {0}; }} }}",
            dir.text("")
        ),
    );
    let _nginx = Running::start(port, "nginx", &["-c", &dir.text("nginx.conf")]);
    let url = format!("http://127.0.0.1:{port}/");
    all_right(&[], &url, "HTTP/1.1");
    all_right(&["-p", "8"], &url, "HTTP/1.1");
    all_right(&["--keepalive", "off"], &url, "HTTP/1.1");
    all_right(&["--keepalive", "7"], &url, "HTTP/1.1");
    // The version in the response counts (RFC 9110 §6.2: a server responds with its own version).
    all_right(&["--http", "1.0", "--keepalive", "on"], &url, "HTTP/1.1");
    all_right(&["--rtt", "2ms"], &url, "HTTP/1.1");
}

#[test]
fn nghttpd_is_loaded_over_http_2() {
    if missing("nghttpd") {
        return;
    }
    let (dir, port) = (Scratch::new(), free_port());
    dir.write("index.html", "hello");
    let number = port.to_string();
    let _server = Running::start(port, "nghttpd", &["--no-tls", "-d", &dir.text(""), &number]);
    let url = format!("http://127.0.0.1:{port}/");
    all_right(&["--h2c"], &url, "HTTP/2");
    all_right(&["--http", "2", "-m", "20"], &url, "HTTP/2");
    all_right(&["--h2c", "-m", "4", "--keepalive", "10"], &url, "HTTP/2");
}

#[test]
fn a_server_of_http_1_0_that_closes_is_loaded() {
    if missing("python3") {
        return;
    }
    let (dir, port) = (Scratch::new(), free_port());
    dir.write("index.html", "hello");
    let number = port.to_string();
    let args = ["-m", "http.server", "--bind", "127.0.0.1", "-d", &dir.text(""), &number];
    let _server = Running::start(port, "python3", &args);
    all_right(&[], &format!("http://127.0.0.1:{port}/"), "HTTP/1.0");
}

#[test]
fn a_server_that_dies_under_load_is_counted_and_the_run_goes_its_whole_way() {
    if missing("nghttpd") {
        return;
    }
    let (dir, port) = (Scratch::new(), free_port());
    dir.write("index.html", "hello");
    let number = port.to_string();
    let server = Running::start(port, "nghttpd", &["--no-tls", "-d", &dir.text(""), &number]);
    let killer = std::thread::spawn(move || {
        let connected =
            |table: &str| table.lines().filter(|line| line.contains(&format!(":{port:04X} "))).count();
        // The listener, and both ends of each connection.
        until("the load has begun", || {
            connected(&std::fs::read_to_string("/proc/net/tcp").unwrap_or_default()) > 8
        });
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&server.0),
            rustix::process::Signal::KILL,
        );
        server
    });
    let url = format!("http://127.0.0.1:{port}/");
    let (report, _) = measured(&["-d", "1s", "--warm-up", "0", "-c", "5", "-m", "4", "--h2c", &url]);
    drop(killer.join());
    let total = total(&report);
    assert!(total["errors"]["connect"].as_u64().is_some_and(|count| count > 0), "{total}");
    assert_eq!(total["ended"], "complete");
}
