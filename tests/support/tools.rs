//! Other people's programs: curl, wrk, ab, Python, Go.

use super::{Scratch, skip};
use std::process::{Command, Stdio};

/// Whether a program is not installed; then the test is skipped with a message.
pub(crate) fn missing(program: &str) -> bool {
    let found = is_installed(program);
    if !found {
        skip(&format!("{program} is not installed"));
    }
    !found
}

/// Whether a program is installed.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = Command::new("/bin/sh").args(["-c", "command -v \"$0\" >/dev/null", program]).status();
    found.is_ok_and(|status| status.success())
}

/// Runs a program; its exit code, and its standard output as bytes.
#[track_caller]
pub(crate) fn output<'a>(program: &str, args: impl IntoIterator<Item = &'a str>) -> (i32, Vec<u8>) {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let code = output.status.code().unwrap_or(-1);
    if code != 0 {
        eprintln!("{program} says: {}", String::from_utf8_lossy(&output.stderr));
    }
    (code, output.stdout)
}

/// The same for a module of Python.
pub(crate) fn missing_module(module: &str) -> bool {
    missing("python3") || lacks("python3", &["-c", &format!("import {module}")], module)
}

/// The same for a Node package; `NODE_PATH` is the search path, as for Node itself.
pub(crate) fn missing_package(package: &str) -> bool {
    missing("node") || lacks("node", &["-e", &format!("require('{package}')")], package)
}

/// The same for modules of Perl.
pub(crate) fn missing_perl(modules: &str) -> bool {
    let uses = modules.split(' ').map(|module| format!("use {module};")).collect::<String>();
    missing("perl") || lacks("perl", &["-e", &uses], modules)
}

/// Whether a program fails to load one of its libraries.
fn lacks(program: &str, args: &[&str], library: &str) -> bool {
    let found = Command::new(program).args(args).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(&format!("{program} has no {library}"));
    }
    !found
}

/// Runs a program that must end well; its standard output and error as text.
#[track_caller]
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {args:?}: {}: {text}", output.status);
    text
}

/// PHP-FPM, whose name contains its version. `None`: it is not installed, and the test is skipped.
pub(crate) fn php_fpm() -> Option<String> {
    let found = ["/usr/sbin", "/usr/local/sbin"].iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let names = found.flatten().map_while(Result::ok).map(|entry| entry.path());
    let found =
        names.filter_map(|path| path.to_str().map(str::to_owned)).find(|path| path.contains("/php-fpm"));
    if found.is_none() {
        skip("php-fpm is not installed, in /usr/sbin or /usr/local/sbin");
    }
    found
}

/// Chromium without a window, its profile in the folder; its standard output.
#[track_caller]
pub(crate) fn chromium(dir: &Scratch, args: &[&str]) -> String {
    let profile = format!("--user-data-dir={}", dir.text("profile"));
    let quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        &profile,
    ];
    let mut command = Command::new("timeout");
    command.args(["60", "chromium"]).args(quiet).args(args).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().expect("chromium starts");
    assert!(output.status.success(), "chromium {args:?}: {}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
