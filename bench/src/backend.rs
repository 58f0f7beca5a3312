//! The upstreams behind the servers of a workload: the bare loop, hayami with files, or PHP-FPM, on the load core.

use std::fs;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Process};
use crate::race::{Setup, prepare};
use crate::servers::{self, Server, Upstream};
use crate::workload::{Behind, SCRIPT, Workload};

/// Bytes of the response head before the bare loop's content, as in a typical application response.
pub(crate) const HEAD: u64 = 160;
/// Number of PHP processes; they share the load core anyway.
const CHILDREN: usize = 4;

/// The upstream of a workload; it runs until dropped.
pub(crate) struct Backend {
    _process: Process,
    /// What the servers are configured with.
    pub(crate) upstream: Upstream,
    /// The file in which the bare loop counts its connections.
    count: PathBuf,
}

impl Backend {
    /// Number of connections that have reached the bare loop so far.
    ///
    /// # Errors
    /// The count cannot be read.
    pub(crate) fn opened(&self) -> Result<u64, String> {
        let text =
            fs::read_to_string(&self.count).map_err(|error| format!("{}: {error}", self.count.display()))?;
        text.trim().parse().map_err(|_| format!("{}: no number: {text}", self.count.display()))
    }
}

impl Setup {
    /// Starts the upstream of a workload, if it has one.
    ///
    /// # Errors
    /// It is not installed or does not start.
    pub(crate) fn backend(&self, workload: &Workload) -> Result<Option<Backend>, String> {
        let folder = self.guard.folder.join("behind");
        prepare(&folder)?;
        let (address, count) = (process::free_address()?, folder.join("count"));
        let command = match workload.behind {
            Behind::Nothing => return Ok(None),
            Behind::Loop => bare_loop(address, workload.document().bytes, &count),
            Behind::Files => Server::Hayami.command(&self.plain_site(address, &folder))?,
            Behind::Php => php(address, &folder, &self.documents)?,
        };
        let log = folder.join("printed.log");
        let process = Process::start(command, address, self.client_core, &log, &self.guard)?;
        let upstream = match workload.behind {
            Behind::Php => Upstream::Php(address),
            _ => Upstream::Http(address),
        };
        Ok(Some(Backend { _process: process, upstream, count }))
    }
}

fn bare_loop(address: SocketAddrV4, content: u64, count: &Path) -> Command {
    let mut command = Command::new(servers::release_folder().join("bare_epoll"));
    command.arg("--port").arg(address.port().to_string());
    command.arg("--bytes").arg((content + HEAD).to_string());
    command.arg("--content").arg(content.to_string());
    command.arg("--count").arg(count);
    command
}

/// PHP-FPM with a fixed number of processes, and the page among the documents.
fn php(address: SocketAddrV4, folder: &Path, documents: &Path) -> Result<Command, String> {
    let page = format!("<?php header('Content-Length: {0}'); echo str_repeat('p', {0});\n", SCRIPT.bytes);
    let (script, file) = (documents.join(SCRIPT.file), folder.join("fpm.conf"));
    let text = format!(
        "[global]
daemonize = no
error_log = {log}
[www]
user = www-data
group = www-data
listen = {address}
pm = static
pm.max_children = {CHILDREN}
",
        log = folder.join("fpm.log").display()
    );
    for (path, text) in [(&script, &page), (&file, &text)] {
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut command = Command::new(fpm()?);
    command.arg("--nodaemonize").arg("--fpm-config").arg(file);
    Ok(command)
}

/// Debian's packages include the version in the program name.
fn fpm() -> Result<PathBuf, String> {
    let programs = fs::read_dir("/usr/sbin").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = programs
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("php-fpm"))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.pop().ok_or_else(|| "php-fpm: not found (Debian package php-fpm)".to_owned())
}
