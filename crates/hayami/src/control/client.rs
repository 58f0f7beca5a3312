//! `hayami reload`: makes a running server read its configuration again.

use super::{DONE, ERROR, FAILED, RELOAD, WARNING, directory};
use crate::exit::{self, Failure};
use clap::Parser;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  hayami reload                               the only server of this user
  hayami reload /run/hayami/4711.sock         one of several: its banner shows the path

If the configuration is invalid, the server keeps the old one; every error is printed.
SIGHUP does the same and reports to the error log. To serve a directory named `reload`, run `hayami ./reload`.

Exit codes:
  0  the server serves the new configuration
  64 several servers run: name one
  69 no server runs
  71, 73, 77, 78, 69  as `hayami -t`: the configuration or the system does not allow it";

/// Have a running server read its configuration again
#[derive(Debug, Parser)]
#[command(name = "hayami reload", bin_name = "hayami reload", after_help = AFTER_HELP)]
struct Args {
    /// The control socket of the server
    #[arg(value_name = "SOCKET")]
    socket: Option<PathBuf>,
}

/// How long the server may take for a reload.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `hayami reload` with its arguments; returns the process's exit code.
pub(crate) fn reload(words: &[OsString]) -> ExitCode {
    exit::finish(run(words))
}

fn run(words: &[OsString]) -> Result<(), Failure> {
    let name = OsString::from("hayami reload");
    let args = match Args::try_parse_from([name].iter().chain(words)) {
        Ok(args) => args,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => return exit::print(&error.to_string()),
        Err(error) => {
            return Err(Failure::Usage(wrong(&error, words)));
        }
    };
    let (path, stream) = match args.socket {
        Some(path) => {
            let stream = connect(&path).map_err(|error| {
                Failure::Unavailable(format!("no server listens on {}: {error}", path.display()))
            })?;
            (path, stream)
        }
        None => only(&directory::path())?,
    };
    ask(&path, stream)
}

/// Describes the error in the arguments.
fn wrong(error: &clap::Error, words: &[OsString]) -> String {
    let is_conf = |word: &OsString| {
        word.to_str().is_some_and(|word| word.starts_with("-c") || word.starts_with("--conf"))
    };
    if words.iter().any(is_conf) {
        return "the server reads the file again with which it was started: `hayami reload`; to check another file: \
                `hayami -t -c FILE`"
            .to_owned();
    }
    error.to_string().trim_start_matches("error: ").trim_end().to_owned()
}

/// The socket of the only running server.
fn only(directory: &Path) -> Result<(PathBuf, UnixStream), Failure> {
    let sockets = directory::sockets(directory).into_iter();
    let mut running: Vec<_> = sockets.filter_map(|path| Some((connect(&path).ok()?, path))).collect();
    match (running.pop(), running.is_empty()) {
        (Some((stream, path)), true) => Ok((path, stream)),
        (None, _) => Err(Failure::Unavailable(format!(
            "no server of this user runs: there is no control socket in {}; of a server of another user, name the socket \
             that its banner shows",
            directory.display()
        ))),
        (Some((_, last)), false) => {
            let paths = running.iter().map(|(_, path)| path).chain([&last]);
            let lines: Vec<_> = paths.map(|path| format!("  hayami reload {}", path.display())).collect();
            Err(Failure::Usage(format!("several servers run; name one:\n{}", lines.join("\n"))))
        }
    }
}

fn connect(path: &Path) -> std::io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Requests the reload, and prints the server's lines.
fn ask(path: &Path, mut stream: UnixStream) -> Result<(), Failure> {
    let lost = |why: &str| {
        Failure::Unavailable(format!("the server at {} did not say what came of it: {why}", path.display()))
    };
    stream.write_all(format!("{RELOAD}\n").as_bytes()).map_err(|error| lost(&error.to_string()))?;
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(|error| lost(&error.to_string()))?;
        if let Some(warning) = line.strip_prefix(WARNING) {
            eprintln!("{warning}");
        } else if let Some(error) = line.strip_prefix(ERROR) {
            eprintln!("{error}");
        } else if let Some(summary) = line.strip_prefix(DONE) {
            return exit::print(&format!("{summary}\n"));
        } else if let Some(code) = line.strip_prefix(FAILED) {
            eprintln!("hayami: the configuration was not reloaded, the old one stays");
            return Err(Failure::Logged(code.parse().unwrap_or(1)));
        }
    }
    Err(lost("the connection was closed"))
}
