//! lighttpd with its own defaults.

use std::process::Command;

use super::{Site, first_line, program, write};

pub(super) fn version() -> Result<String, String> {
    first_line(&program("lighttpd"), "-v", "lighttpd")
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    let file = write(site, "lighttpd.conf", &configuration(site))?;
    let mut command = Command::new(program("lighttpd"));
    command.arg("-D").arg("-f").arg(file);
    Ok(command)
}

fn configuration(site: &Site<'_>) -> String {
    // It allows half as many connections as descriptors, whatever is configured.
    let limits = site
        .connections
        .map(|count| format!("server.max-connections = {count}\nserver.max-fds = {}\n", count * 2 + 100));
    format!(
        "server.bind = \"{}\"\nserver.port = {}\nserver.document-root = \"{}\"\n\
         server.errorlog = \"{}/error.log\"\nindex-file.names = ( \"index.html\" )\n\
         mimetype.assign = ( \".html\" => \"text/html\", \".txt\" => \"text/plain\" )\n{}",
        site.address.ip(),
        site.address.port(),
        site.documents.display(),
        site.folder.display(),
        limits.unwrap_or_default(),
    )
}
