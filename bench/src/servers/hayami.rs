//! hayami, built from this tree, as shipped: where to listen and what to serve, no other directive.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::{Site, first_line, write};

/// The binary that `cargo build --release` makes.
fn binary() -> PathBuf {
    release_folder().join("hayami")
}

/// The folder of release binaries of this build.
pub(super) fn release_folder() -> PathBuf {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(tree).join("target"), PathBuf::from);
    target.join("release")
}

pub(super) fn version() -> Result<String, String> {
    first_line(&binary(), "--version", "none: `cargo build --release` makes it")
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    let mut command = Command::new(binary());
    command.arg("-c").arg(write(site, "hayami.conf", &configuration(site))?);
    Ok(command)
}

/// The configuration for h2o and hayami alike: the language is the same.
pub(super) fn configuration(site: &Site<'_>) -> String {
    format!(
        "listen:\n  host: {}\n  port: {}\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: {}\n",
        site.address.ip(),
        site.address.port(),
        site.documents.display(),
    )
}
