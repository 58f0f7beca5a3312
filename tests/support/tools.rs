//! Other people's programs: curl, wrk, ab, Python.

use std::process::{Command, Stdio};

/// Whether a program is not installed; says so. With `HAYAMI_ALL_CLIENTS=1` that is a failure.
pub(crate) fn missing(program: &str) -> bool {
    let found = Command::new("/bin/sh")
        .args(["-c", "command -v \"$0\" >/dev/null", program])
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        let all = std::env::var_os("HAYAMI_ALL_CLIENTS").is_some_and(|value| value == "1");
        assert!(!all, "{program} is not installed");
        println!("skipped: {program} is not installed");
    }
    !found
}

/// Runs a program; its exit code, and its standard output as octets.
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
