//! The page that lists a directory (`file.dirlisting`): one HTML document without anything external.
//!
//! Names come from whoever may create files, so they are escaped as text and encoded as links. Folders
//! come first; names that begin with a dot, and what the server would not serve, are left out.

mod html;

use super::root::{Fingerprint, Root};
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

/// Most entries of a page. Browsers show this many in a second; each costs a statx.
const MOST: usize = 10_000;
/// Most names that are sorted to find the first of them: 64 MiB at the very most.
const MOST_NAMES: usize = 250_000;

/// One line of the page.
struct Line {
    name: Vec<u8>,
    state: Fingerprint,
}

impl Line {
    fn is_folder(&self) -> bool {
        self.state.file_type() == FileType::Directory
    }
}

/// The page for the directory `opened`, which is at `directory` below `root` and at `shown` for the
/// client.
///
/// # Errors
/// The kernel's.
pub(super) fn page(opened: OwnedFd, root: &Root, directory: &[u8], shown: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut names = names(opened)?;
    names.sort_unstable_by_key(|(folder, name)| (!folder, name.to_ascii_lowercase()));
    let left_out = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let mut lines: Vec<Line> =
        names.into_iter().filter_map(|(_, name)| line(root, directory, name)).collect();
    lines.sort_by_cached_key(|line| (!line.is_folder(), line.name.to_ascii_lowercase(), line.name.clone()));
    Ok(html::document(shown, &lines, left_out))
}

/// The names in the directory, each with whether the kernel says that it is a folder.
fn names(opened: OwnedFd) -> Result<Vec<(bool, Vec<u8>)>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::new(opened)?.take(MOST_NAMES) {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !name.starts_with(b".") {
            names.push((entry.file_type() == FileType::Directory, name.to_vec()));
        }
    }
    Ok(names)
}

/// `None` for what would not be served, such as a FIFO or a link that leads nowhere.
fn line(root: &Root, directory: &[u8], name: Vec<u8>) -> Option<Line> {
    let state = root.stat_below(&[directory, b"/", &name].concat()).ok()?;
    matches!(state.file_type(), FileType::RegularFile | FileType::Directory).then_some(Line { name, state })
}

#[cfg(test)]
mod tests {
    use super::super::root::{Patience, Symlinks};
    use super::super::scratch::Scratch;
    use super::*;

    fn listed(dir: &Scratch, symlinks: Symlinks) -> String {
        let root = Root::open(&dir.path(""), symlinks).unwrap();
        let opened = root.open_below(b"", Patience::Unlimited).unwrap();
        String::from_utf8(page(opened, &root, b"", b"/here/").unwrap()).unwrap()
    }

    /// The links of the table.
    fn links(page: &str) -> Vec<&str> {
        let table = page.split("<tbody>").nth(1).unwrap();
        table.split("<a href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
    }

    #[test]
    fn folders_come_first_and_what_is_not_served_is_left_out() {
        let dir = Scratch::new();
        for name in ["b.txt", "A.txt", "c", ".hidden"] {
            dir.write(name, "x");
        }
        dir.folder("z");
        dir.fifo("pipe");
        dir.link("nowhere", "dangling");
        dir.link("c", "inner");
        dir.link("/etc", "outer");
        assert_eq!(
            links(&listed(&dir, Symlinks::Follow)),
            ["../", "./outer/", "./z/", "./A.txt", "./b.txt", "./c", "./inner"]
        );
        assert_eq!(links(&listed(&dir, Symlinks::Never)), ["../", "./z/", "./A.txt", "./b.txt", "./c"]);
    }

    #[test]
    fn names_are_escaped_as_text_and_encoded_as_links() {
        let dir = Scratch::new();
        let cases = [
            ("<script>alert(1)<", "./%3Cscript%3Ealert(1)%3C", "&lt;script&gt;alert(1)&lt;"),
            ("a&b'c\"d", "./a&amp;b&#39;c%22d", "a&amp;b&#39;c&quot;d"),
            ("javascript:x", "./javascript:x", "javascript:x"),
            ("50% ?#", "./50%25%20%3F%23", "50% ?#"),
            ("grün", "./gr%C3%BCn", "grün"),
        ];
        for (name, _, _) in cases {
            dir.write(name, "");
        }
        let page = listed(&dir, Symlinks::Follow);
        for (name, link, text) in cases {
            assert!(links(&page).contains(&link), "{name}: {:?}", links(&page));
            assert!(page.contains(&format!("</svg>{text}</a>")), "{name}");
        }
        assert!(!page.contains("<script"));
    }

    #[test]
    fn a_name_that_is_no_text_can_still_be_followed() {
        use std::os::unix::ffi::OsStrExt;
        let dir = Scratch::new();
        let name = std::ffi::OsStr::from_bytes(b"x\xff");
        std::fs::write(dir.path("").join(name), "").unwrap();
        assert_eq!(links(&listed(&dir, Symlinks::Follow)), ["../", "./x%FF"]);
    }
}
