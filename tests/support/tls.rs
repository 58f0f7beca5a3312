//! Sites over TLS, and `openssl s_client` as the client that shows most about a handshake.

use super::certificates::Authority;
use super::{PATIENCE, Scratch, Server, Wire};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The `listen:` of one address with the certificate of [`Authority::issue_leaf`], and these lines below `ssl:`.
pub(crate) fn listen(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "listen:\n  host: 127.0.0.1\n  port: 0\n  ssl:\n    certificate-file: DIR/tls/leaf.pem\n    \
         key-file: DIR/tls/leaf.key\n{lines}"
    )
}

/// The folder `site` at `/` of every host.
pub(crate) const HOSTS: &str = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";

/// The folder `site` served over TLS, with these lines below `ssl:` and these at the global level.
#[track_caller]
pub(crate) fn site(dir: &Scratch, ssl: &str, global: &str) -> Server {
    if !dir.path("tls/leaf.pem").exists() {
        Authority::new(dir).issue_leaf();
    }
    Server::config(dir, &format!("{global}{}{HOSTS}", listen(ssl)))
}

/// The output of `openssl s_client`.
#[derive(Debug)]
pub(crate) struct Said {
    /// The exit code; not 0 if the handshake failed.
    pub(crate) code: i32,
    /// Standard output and error: openssl's description of the connection, and the server's output.
    pub(crate) text: String,
}

impl Said {
    /// Whether the output has this in it.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.text.contains(text)
    }
}

/// `openssl s_client` to that address with these arguments; sends the bytes and ends when the server closes.
#[track_caller]
pub(crate) fn s_client(address: &str, args: &[&str], bytes: &str) -> Said {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", address, "-ign_eof"]).args(args);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("openssl starts");
    // Ignore errors: openssl may have stopped reading.
    let _ = child.stdin.take().expect("a pipe").write_all(bytes.as_bytes());
    let begin = Instant::now();
    let id = child.id();
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = done.send(child.wait_with_output());
    });
    let output = wait.recv_timeout(PATIENCE);
    let Ok(output) = output else {
        let id = rustix::process::Pid::from_raw(id as i32).expect("a process");
        let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        let output = wait.recv().expect("the thread lives").expect("output");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        panic!("openssl {args:?} is not done after {:?}: {text}", begin.elapsed());
    };
    let output = output.expect("output");
    let text = [output.stdout, output.stderr].concat();
    Said { code: output.status.code().unwrap_or(-1), text: String::from_utf8_lossy(&text).into_owned() }
}

/// A request after whose answer the server closes.
pub(crate) fn last(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

/// HTTP/2 frames over TLS, carried by `openssl s_client` with these arguments.
#[track_caller]
pub(crate) fn wire(address: &str, args: &[&str]) -> Wire {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", address, "-quiet", "-alpn", "h2"]).args(args);
    Wire::through(command)
}
