//! Reports configured directories and files that cannot be served at present, and why.

use super::root::{Patience, Root};
use super::{DirSettings, FileSettings, fault, folder_of};
use crate::config::settings::{PathSettings, Settings};
use crate::modules::reproxy;
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A configured directory or file that cannot be served at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The directive that names it.
    pub directive: &'static str,
    /// As written in the configuration.
    pub written: PathBuf,
    /// The path that could not be opened: that, or the directory of a file.
    pub path: PathBuf,
    /// Host and path: `default, path /`.
    place: String,
    error: Errno,
}

impl Unreachable {
    /// Whether this user lacks permission. Other causes may be temporary: a disk may be mounted later.
    pub fn is_denied(&self) -> bool {
        matches!(self.error, Errno::ACCESS | Errno::PERM)
    }

    /// The fault, and a remedy, which may be empty.
    pub fn fault(&self) -> (String, &'static str) {
        let (fault, remedy) = fault(self.directive, &self.path, self.error);
        (format!("{}: {fault}", self.place), remedy)
    }
}

/// What this user cannot serve at present. Until that changes, requests for it are declined or forbidden.
pub fn unreachable(settings: &Settings) -> Vec<Unreachable> {
    let mut found = Vec::new();
    for host in &settings.hosts {
        for path in &host.paths {
            let place = format!("{}, path {}", host.name, path.key);
            let failed = wanted(path).filter_map(|(directive, written, file)| {
                let (path, error) = try_open(path, written, file)?;
                Some(Unreachable { directive, written: written.into(), path, place: place.clone(), error })
            });
            found.extend(failed);
        }
    }
    found
}

/// What a path serves: the directive, its argument, and whether that is a file.
fn wanted(path: &PathSettings) -> impl Iterator<Item = (&'static str, &Path, bool)> {
    let handlers = path.handlers.iter().filter_map(|handler| {
        let dir = handler.get::<DirSettings>().map(|dir| ("file.dir", &*dir.path, false));
        dir.or_else(|| handler.get::<FileSettings>().map(|file| ("file.file", &*file.path, true)))
    });
    let sent = path.inherited.get::<reproxy::Settings>().files.as_deref();
    handlers.chain(sent.map(|directory| ("reproxy.sendfile", directory, false)))
}

/// What could not be opened, and why; a missing file is no error, since it may be created later.
fn try_open(path: &PathSettings, written: &Path, file: bool) -> Option<(PathBuf, Errno)> {
    use std::os::unix::ffi::OsStrExt;
    let directory = if file { folder_of(written) } else { written };
    let root = match Root::open(directory, path.inherited.get::<super::Settings>().symlinks) {
        Ok(root) => root,
        Err(error) => return Some((directory.to_owned(), error)),
    };
    let name = written.file_name().filter(|_| file)?;
    match root.open_below(name.as_bytes(), Patience::Unlimited) {
        Err(error @ Errno::ACCESS) => Some((written.to_owned(), error)),
        _ => None,
    }
}
