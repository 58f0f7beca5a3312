//! A response from a program: h2o's `ocsp-update-cmd`.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long the program may take: it queries a responder over the network.
const TIME: Duration = Duration::from_secs(60);
/// The most it may write.
const LARGEST: u64 = 64 * 1024;

/// Runs `program` with the certificate's file as its argument and returns its output. Its standard error is
/// the server's.
pub(super) fn run(program: &Path, certificate_file: &Path) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    command.arg(certificate_file).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("it can't be started: {e}"))?;
    let output = collect(&mut child);
    let status = wait(&mut child)?;
    // h2o's script exits with 75 (EX_TEMPFAIL) for temporary errors. Every error is retried here.
    if !status.success() {
        return Err(format!("it ends with {status}"));
    }
    output.recv_timeout(Duration::from_secs(1)).map_err(|_| "it did not close its output".to_owned())
}

/// Reads the program's output on a separate thread: it may exceed a pipe's buffer.
fn collect(child: &mut Child) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if stdout.take(LARGEST).read_to_end(&mut bytes).is_ok() {
                let _ = sender.send(bytes);
            }
        });
    }
    receiver
}

fn wait(child: &mut Child) -> Result<ExitStatus, String> {
    let deadline = Instant::now() + TIME;
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("it was ended after {} seconds", TIME.as_secs()));
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}
