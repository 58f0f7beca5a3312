//! h2o with its own defaults. `num-threads` is set only because its default counts the cores of the machine,
//! not the one it is pinned to.

use std::process::Command;

use super::{Site, first_line, hayami, program, write};

pub(super) fn version() -> Result<String, String> {
    first_line(&program("h2o"), "--version", "h2o")
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    let limit = site.connections.map(|count| format!("max-connections: {count}\n")).unwrap_or_default();
    let text = format!("num-threads: {}\n{limit}{}", site.workers, hayami::configuration(site));
    let mut command = Command::new(program("h2o"));
    command.arg("-c").arg(write(site, "h2o.conf", &text)?);
    Ok(command)
}
