//! Static files: `file.dir`, `file.file` and related directives.
//!
//! ```text
//! handler ── cache ─ hit ──────────────────────────▶ respond ─▶ Response
//!    │         └ stale ─ entry (statx) ─ same ────────▶ │
//!    └─ miss ─ load ─ root (openat2) ─ read ─ entry ──▶ │   (mime, listing, gunzip, multipart)
//! ```
//!
//! A fresh entry is served without a system call or an allocation; `tests/file_allocations.rs` counts them. Nothing
//! here depends on connections or protocol versions: entries hold fields and bytes. How long an entry may be served
//! without checking the disk is `file.cache.revalidate`.

mod cache;
mod custom;
mod directives;
mod entry;
mod frequent;
mod gunzip;
mod handler;
mod listing;
mod load;
mod loading;
mod mime;
mod multipart;
mod own_paths;
mod reach;
mod respond;
mod root;
mod roots;
#[cfg(test)]
pub(crate) mod scratch;
#[cfg(test)]
mod tests;

pub use cache::{CacheSettings, FileCache};
pub use custom::Rules;
pub use directives::DIRECTIVES;
pub use mime::{MediaType, Settings as MimeSettings};
pub use reach::{Unreachable, unreachable};
pub use root::Symlinks;

use crate::config::directive::group;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings::HandlerSetting;
use crate::config::settings::HandlerSettings;
use crate::feature::{Feature, RouteContext};
use crate::handler::Handler;
use handler::{FileHandler, FileMapping};
use own_paths::OwnPaths;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// This feature.
pub const FEATURE: Feature = Feature {
    handler: Some(handler_of),
    complete: Some(own_paths::complete),
    ..Feature::new(&[group("Files", DIRECTIVES)])
};

/// `file.send-compressed`: whether NAME.br, NAME.zst and NAME.gz are sent in place of NAME.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendCompressed {
    /// No.
    #[default]
    Off,
    /// To clients that accept them.
    On,
    /// As `On`; and where only NAME.gz exists, it is decompressed for clients that do not accept gzip.
    Gunzip,
}

/// `file.*` that inner levels inherit.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names tried for a directory, in order.
    pub index: Vec<String>,
    /// Whether a directory without index is listed.
    pub dirlisting: bool,
    /// Whether responses have an entity tag.
    pub etag: bool,
    /// Precompressed variants.
    pub send_compressed: SendCompressed,
    /// Media types.
    pub mime: MimeSettings,
    /// Which symbolic links are followed.
    pub symlinks: Symlinks,
    /// How long an entry is served before its files are checked again.
    pub revalidate: Duration,
    /// Files up to this many bytes are kept in memory, larger ones open.
    pub max_file_size: u64,
    /// Larger files up to this many bytes are also kept in memory if they are requested often, for connections that
    /// copy content.
    pub max_frequent_file_size: u64,
    /// `file.custom-handler`.
    pub rules: Rules,
}

impl FeatureSetting for Settings {
    fn upstream_groups(&self) -> Vec<usize> {
        self.rules.handlers().filter_map(|handler| handler.upstream_group()).collect()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            index: ["index.html", "index.htm", "index.txt"].map(String::from).into(),
            dirlisting: false,
            etag: true,
            send_compressed: SendCompressed::Off,
            mime: MimeSettings::default(),
            symlinks: Symlinks::Follow,
            revalidate: Duration::from_secs(1),
            max_file_size: 64 << 10,
            max_frequent_file_size: 1 << 20,
            rules: Rules::default(),
        }
    }
}

/// `file.dir`
#[derive(Clone, Debug)]
pub struct DirSettings {
    /// The directory.
    pub path: PathBuf,
}

impl HandlerSetting for DirSettings {
    fn directory(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

/// `file.file`
#[derive(Clone, Debug)]
pub struct FileSettings {
    /// The file.
    pub path: PathBuf,
}

impl HandlerSetting for FileSettings {}

/// The settings needed to load a file; shared with threads of the blocking pool.
struct Plan {
    index: Vec<String>,
    dirlisting: bool,
    etag: bool,
    send_compressed: SendCompressed,
    max_file_size: u64,
    mime: MimeSettings,
    rules: custom::Matcher,
    /// Whether an index file may belong to another path of the configuration than its directory.
    has_other_paths: bool,
}

impl Plan {
    fn new(settings: &Settings, route: &RouteContext<'_>) -> Self {
        Self {
            has_other_paths: route
                .host
                .is_some_and(|host| host.features.get::<OwnPaths>().have_any(&settings.index)),
            index: settings.index.clone(),
            dirlisting: settings.dirlisting,
            etag: settings.etag,
            send_compressed: settings.send_compressed,
            max_file_size: settings.max_file_size,
            mime: settings.mime.clone(),
            rules: settings.rules.matcher(),
        }
    }
}

/// The handler of a `file.dir`.
///
/// # Errors
/// This system can never serve it as configured; a message for the user.
pub fn build_dir(settings: &DirSettings, route: &RouteContext<'_>) -> Result<Box<dyn Handler>, String> {
    let root = settings.path.clone();
    build(FileMapping::Below, "file.dir", root, route)
}

/// The handler of a `file.file`.
///
/// # Errors
/// This system can never serve it as configured; a message for the user.
pub fn build_file(settings: &FileSettings, route: &RouteContext<'_>) -> Result<Box<dyn Handler>, String> {
    use std::os::unix::ffi::OsStrExt;
    let path = &settings.path;
    let name =
        path.file_name().ok_or_else(|| format!("file.file: {} is not the name of a file", path.display()))?;
    let parent = folder_of(path);
    let place = FileMapping::Only(name.as_bytes().into());
    build(place, "file.file", parent.to_owned(), route)
}

fn build(
    place: FileMapping,
    directive: &str,
    root: PathBuf,
    route: &RouteContext<'_>,
) -> Result<Box<dyn Handler>, String> {
    let handlers = route.inherited.get::<Settings>().rules.build(route)?;
    let handler = FileHandler::open(place, root.clone(), handlers, route);
    handler.map(|handler| Box::new(handler) as _).map_err(|error| cannot_serve(directive, &root, error))
}

/// The handler of a `file.dir` or `file.file`.
fn handler_of(
    settings: &HandlerSettings,
    route: &RouteContext<'_>,
) -> Option<Result<Box<dyn Handler>, String>> {
    let dir = settings.get().map(|dir| build_dir(dir, route));
    dir.or_else(|| settings.get().map(|file| build_file(file, route)))
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn cannot_serve(directive: &str, path: &Path, error: Errno) -> String {
    match fault(directive, path, error) {
        (fault, "") => fault,
        (fault, remedy) => format!("{fault}; {remedy}"),
    }
}

/// Why a path cannot be served, and a remedy, which may be empty.
fn fault(directive: &str, path: &Path, error: Errno) -> (String, &'static str) {
    let path = path.display();
    match error {
        Errno::NOENT => {
            (format!("{directive}: the directory {path} does not exist"), "create it or correct the path")
        }
        Errno::NOTDIR => {
            (format!("{directive}: {path} is not a directory"), "to serve a single file use file.file")
        }
        Errno::ACCESS | Errno::PERM => (
            format!("{directive}: {path} is not accessible to the user that the server runs as"),
            "give that user search permission for it and the directories above (chmod o+x)",
        ),
        Errno::NOSYS => (
            format!(
                "{directive}: {path}: this system does not support openat2 (Linux 5.6), which `file.symlinks` \
                 requires unless it is `follow`"
            ),
            "",
        ),
        other => (format!("{directive}: cannot open {path}: {other}"), ""),
    }
}
