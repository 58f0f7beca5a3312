//! A response from a program: h2o's `ocsp-update-cmd`.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long the program may take: it asks somebody over the network.
const TIME: Duration = Duration::from_secs(60);
/// The most it may write.
const LARGEST: u64 = 64 * 1024;

/// Runs `program` with the certificate's file as its argument; what it wrote. Its error output goes where
/// ours does.
pub(super) fn run(program: &Path, certificate_file: &Path) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    command.arg(certificate_file).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("it can't be started: {e}"))?;
    let output = collect(&mut child);
    let status = wait(&mut child)?;
    // h2o's script says 75 (EX_TEMPFAIL) for what may pass. We try again whatever it was.
    if !status.success() {
        return Err(format!("it ends with {status}"));
    }
    output.recv_timeout(Duration::from_secs(1)).map_err(|_| "it has closed nothing".to_owned())
}

/// Reads what the program writes, on a thread of its own: it may write more than a pipe holds.
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
