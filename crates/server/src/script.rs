//! A script that handles a file, and the rest of the request's path behind it (RFC 3875 §4.1.5, §4.1.13).

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its path in URLs, including the prefix of the configured path.
    pub name: Vec<u8>,
    /// The rest of the request's path.
    pub info: Vec<u8>,
    /// The directory that contains it; absolute.
    pub root: Rc<Path>,
    /// Its path below that directory, without a leading slash.
    pub file: Vec<u8>,
}

impl Script {
    /// The script for the file `file` below `root`, for a request whose path consists of the configured `prefix`, the
    /// file and `info`.
    pub fn new(prefix: &[u8], root: Rc<Path>, file: &[u8], info: &[u8]) -> Self {
        let file = file.strip_prefix(b"/").unwrap_or(file);
        let prefix = prefix.strip_suffix(b"/").unwrap_or(prefix);
        Self { name: [prefix, b"/", file].concat(), info: info.to_vec(), root, file: file.to_vec() }
    }

    /// The script's path on disk, below `root` or its own directory.
    pub(crate) fn path_below(&self, root: Option<&Path>) -> Vec<u8> {
        joined(root.unwrap_or(&self.root), &self.file)
    }
}

/// A path below a directory.
pub(crate) fn joined(root: &Path, below: &[u8]) -> Vec<u8> {
    let root = root.as_os_str().as_bytes();
    let (root, below) = (root.strip_suffix(b"/").unwrap_or(root), below.strip_prefix(b"/").unwrap_or(below));
    [root, b"/", below].concat()
}
