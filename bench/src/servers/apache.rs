//! Apache httpd with the event MPM, its defaults, and the modules that serving files needs.

use std::path::Path;
use std::process::Command;

use super::{Site, first_line, program, write};

const MODULES: &str = "/usr/lib/apache2/modules";

pub(super) fn version() -> Result<String, String> {
    first_line(&program("apache2"), "-v", "apache2")
        .map(|line| line.trim_start_matches("Server version: ").to_owned())
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    let file = write(site, "apache.conf", &configuration(site))?;
    let mut command = Command::new(program("apache2"));
    command.arg("-d").arg(&site.folder).arg("-f").arg(file).arg("-DFOREGROUND");
    Ok(command)
}

fn configuration(site: &Site<'_>) -> String {
    let folder = site.folder.display();
    let modules: String =
        [("mpm_event", ""), ("authz_core", ""), ("dir", ""), ("mime", "TypesConfig /etc/mime.types\n")]
            .into_iter()
            .filter(|(name, _)| *name != "mime" || Path::new("/etc/mime.types").exists())
            .map(|(name, more)| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n{more}"))
            .collect();
    // As root it needs a user to serve as: the user and group with the ids of `nobody`.
    let user = if rustix::process::geteuid().is_root() { "User #65534\nGroup #65534\n" } else { "" };
    format!(
        "{modules}{user}Listen {address}
ServerName localhost
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/error.log
{limits}DocumentRoot {documents}
DirectoryIndex index.html
<Directory {documents}>
  Require all granted
</Directory>
",
        address = site.address,
        limits = site.connections.map(limits).unwrap_or_default(),
        documents = site.documents.display(),
    )
}

/// The default is 16 processes of 25 threads; each may also hold this factor times its idle threads of
/// waiting connections.
fn limits(connections: usize) -> String {
    format!("AsyncRequestWorkerFactor {}\n", connections.div_ceil(16))
}
