//! Tests that cannot run on this machine report that visibly; with `HAYAMI_ALL_CLIENTS=1` they fail.
//!
//! This needs nothing but the standard library: tests of the crates include the file by `#[path]`.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that this test is not run, or only partly, and why. `tests/runner` lists these lines when all
/// tests have ended.
///
/// # Panics
/// `HAYAMI_ALL_CLIENTS=1`.
#[track_caller]
pub(crate) fn skip(reason: &str) {
    let required = std::env::var_os("HAYAMI_ALL_CLIENTS").is_some_and(|value| value == "1");
    assert!(!required, "{reason}, and HAYAMI_ALL_CLIENTS=1 allows no test to be skipped");
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("?"));
    let list = std::env::var_os("HAYAMI_SKIPPED");
    match list.and_then(|path| OpenOptions::new().append(true).open(path).ok()) {
        Some(mut list) => list.write_all(line.as_bytes()).expect("the list of skipped tests is written"),
        // Not eprint!, which the harness captures.
        None => write!(std::io::stderr(), "skipped: {line}").expect("standard error takes a line"),
    }
}
