//! Builds the programs to race: the release binary of hayami as users build it, and the bare loops.

use std::ffi::OsString;
use std::process::Command;

/// Runs `cargo build --release` at the root of the tree.
///
/// # Errors
/// The build fails; cargo has printed why.
pub(crate) fn hayami() -> Result<(), String> {
    build(&[])
}

/// Builds the bare loops, separately from hayami so that neither changes the other's features.
///
/// # Errors
/// The build fails; cargo has printed why.
pub(crate) fn bare_loops() -> Result<(), String> {
    build(&["-p", "hayami-bench", "--bin", "bare_epoll"])
}

fn build(what: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(["build", "--release"]).args(what).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo build --release {}: {status}", what.join(" "))),
        Err(error) => Err(format!("cargo: {error}")),
    }
}
