//! Which script a request is for, and what of its path is left over (RFC 3875 §4.1.5, §4.1.13).
//!
//! A script is a file that is there: what only looks like one (`/upload/a.jpg/x.php`) never reaches an
//! application, which might run the file in front.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its path in URLs, prefix of the configured path included.
    pub name: Vec<u8>,
    /// What follows that in the request's path.
    pub info: Vec<u8>,
    /// The directory below which it is; absolute.
    pub root: Rc<Path>,
    /// Its path below that directory, without a slash in front.
    pub file: Vec<u8>,
}

impl Script {
    /// Of the file `file` below `root`, for a request whose path has the configured `prefix` and goes on with
    /// `info` behind the file.
    pub fn new(prefix: &[u8], root: Rc<Path>, file: &[u8], info: &[u8]) -> Self {
        let file = file.strip_prefix(b"/").unwrap_or(file);
        let prefix = prefix.strip_suffix(b"/").unwrap_or(prefix);
        Self { name: [prefix, b"/", file].concat(), info: info.to_vec(), root, file: file.to_vec() }
    }

    /// The script's path on disk, below `root` or its own directory.
    pub(super) fn path_below(&self, root: Option<&Path>) -> Vec<u8> {
        joined(root.unwrap_or(&self.root), &self.file)
    }
}

/// A path below a directory.
pub(super) fn joined(root: &Path, below: &[u8]) -> Vec<u8> {
    let root = root.as_os_str().as_bytes();
    let (root, below) = (root.strip_suffix(b"/").unwrap_or(root), below.strip_prefix(b"/").unwrap_or(below));
    [root, b"/", below].concat()
}

/// The extension of scripts where none is configured: whatever else lies below a document root may have been
/// uploaded by anybody.
const EXTENSION: &[u8] = b".php";

/// The index of a directory.
const INDEX: &[u8] = b"index.php";

/// The script below `root` that a request for `path` means, whose first `below` octets are the prefix.
pub(super) fn find(root: &Rc<Path>, path: &[u8], below: usize) -> Option<Script> {
    let (prefix, rest) = path.split_at(below.min(path.len()));
    let made = |file: &[u8], info: &[u8]| Script::new(prefix, Rc::clone(root), file, info);
    if rest.is_empty() || rest.ends_with(b"/") {
        let index = [rest, INDEX].concat();
        if is_file(root, &index) {
            return Some(made(&index, b""));
        }
    }
    let ends = rest.iter().enumerate().filter(|(_, octet)| **octet == b'/').map(|(at, _)| at);
    let mut ends = ends.chain([rest.len()]).filter(|end| has_extension(&rest[..*end]));
    let end = ends.find(|end| is_file(root, &rest[..*end]))?;
    Some(made(&rest[..end], &rest[end..]))
}

fn has_extension(file: &[u8]) -> bool {
    let at = file.len().saturating_sub(EXTENSION.len());
    file[at..].eq_ignore_ascii_case(EXTENSION)
}

fn is_file(root: &Path, below: &[u8]) -> bool {
    let path = joined(root, below);
    std::fs::metadata(Path::new(std::ffi::OsStr::from_bytes(&path))).is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::file::scratch::Scratch;

    #[test]
    fn a_script_is_a_file_that_is_there_and_what_follows_is_left_over() {
        let folder = Scratch::new();
        for name in ["index.php", "a.PHP", "upload/a.jpg", "shop/index.php"] {
            if let Some((folder_name, _)) = name.split_once('/') {
                folder.folder(folder_name);
            }
            folder.write(name, "");
        }
        folder.folder("dir.php");
        folder.write("dir.php/b.php", "");
        let root: Rc<Path> = folder.path("").into();
        /// A path, the length of its prefix, and the script: name, file, info.
        type Case<'a> = (&'a str, usize, Option<(&'a str, &'a str, &'a str)>);
        let cases: &[Case<'_>] = &[
            ("/", 1, Some(("/index.php", "index.php", ""))),
            ("/index.php", 1, Some(("/index.php", "index.php", ""))),
            ("/index.php/a/b.php", 1, Some(("/index.php", "index.php", "/a/b.php"))),
            ("/a.PHP/", 1, Some(("/a.PHP", "a.PHP", "/"))),
            ("/shop/", 1, Some(("/shop/index.php", "shop/index.php", ""))),
            ("/shop", 1, None),
            ("/upload/a.jpg", 1, None),
            ("/upload/a.jpg/x.php", 1, None),
            ("/upload/", 1, None),
            ("/nothing.php", 1, None),
            ("/dir.php/b.php", 1, Some(("/dir.php/b.php", "dir.php/b.php", ""))),
            ("/app/index.php/x", 5, Some(("/app/index.php", "index.php", "/x"))),
            ("/app/index.php/x", 4, Some(("/app/index.php", "index.php", "/x"))),
        ];
        for (path, below, want) in cases {
            let found = find(&root, path.as_bytes(), *below);
            let want = want.map(|(name, file, info)| Script {
                name: name.into(),
                info: info.into(),
                root: Rc::clone(&root),
                file: file.into(),
            });
            assert_eq!(found, want, "{path}");
        }
    }
}
