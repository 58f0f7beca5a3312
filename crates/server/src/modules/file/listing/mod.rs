//! The page that lists a directory (`file.dirlisting`): an HTML document and its style sheet, which is served at the
//! directory with the query `?style=…`. Nothing is inline or a script, so CSP `default-src 'self'` allows all of it.
//!
//! Names may come from untrusted users, so they are escaped as text and encoded as links. Directories come first; names
//! that begin with a dot, and files that the server would not serve, are left out.

mod counted;
mod html;
mod view;

pub(super) use counted::{CountedPage, Room};
pub(super) use view::{ListingQuery, View};

use super::root::{Fingerprint, Root};
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

/// Most entries of a page: browsers render this many in a second.
const MOST: usize = 10_000;
/// Most names that are read and sorted to find the first entries: 64 MiB at most.
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

/// The media type of the page.
pub(super) const MEDIA_TYPE: &[u8] = b"text/html; charset=utf-8";
/// The style sheet.
pub(super) const STYLE: &str = include_str!("page.css");

/// The page for the directory `opened`, which is at `directory` below `root` and at `shown` for the client.
///
/// # Errors
/// The kernel's error.
pub(super) fn page(
    opened: OwnedFd,
    root: &Root,
    directory: &[u8],
    shown: &[u8],
    view: &View,
) -> Result<Vec<u8>, Errno> {
    let mut names = names(opened, view)?;
    let mut left_out = 0;
    if view.is_by_name() {
        // Only displayed entries need a statx.
        names.sort_unstable_by(|(one, a), (other, b)| view.compare_names((*one, a), (*other, b)));
        left_out += cut(&mut names);
    }
    let mut lines: Vec<Line> =
        names.into_iter().filter_map(|(_, name)| line(root, directory, name)).collect();
    lines.sort_unstable_by(|one, other| view.compare(one, other));
    left_out += cut(&mut lines);
    Ok(html::document(shown, &lines, left_out, view))
}

/// Cuts off entries beyond the limit of a page. Returns how many.
fn cut<T>(entries: &mut Vec<T>) -> usize {
    let left_out = entries.len().saturating_sub(MOST);
    entries.truncate(MOST);
    left_out
}

/// The names in the directory that match the view, each with whether the kernel reports it as a directory.
fn names(opened: OwnedFd, view: &View) -> Result<Vec<(bool, Vec<u8>)>, Errno> {
    let search = view.search.to_lowercase();
    let mut names = Vec::new();
    for entry in Dir::new(opened)?.take(MOST_NAMES) {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !name.starts_with(b".") && view::contains(name, &search) {
            names.push((entry.file_type() == FileType::Directory, name.to_vec()));
        }
    }
    Ok(names)
}

/// `None` for what would not be served, such as a FIFO or a dangling link.
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
        String::from_utf8(page(opened, &root, b"", b"/here/", &View::default()).unwrap()).unwrap()
    }

    fn viewed(dir: &Scratch, query: &str) -> String {
        let root = Root::open(&dir.path(""), Symlinks::Follow).unwrap();
        let opened = root.open_below(b"", Patience::Unlimited).unwrap();
        let ListingQuery::View(view) = ListingQuery::parse(Some(query.as_bytes())) else { panic!("{query}") };
        String::from_utf8(page(opened, &root, b"", b"/here/", &view).unwrap()).unwrap()
    }

    /// The links in the table.
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
    fn lines_are_sorted_and_searched_as_the_query_says() {
        let dir = Scratch::new();
        for (name, size, age) in [("b.txt", 3, 3), ("a.txt", 1, 1), ("c.bin", 2, 2)] {
            dir.write(name, "x".repeat(size));
            let file = std::fs::File::options().write(true).open(dir.path(name)).unwrap();
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age * 1000);
            file.set_modified(then).unwrap();
        }
        dir.folder("z");
        dir.folder("y");
        for (query, want) in [
            ("order=desc", ["z/", "y/", "c.bin", "b.txt", "a.txt"].as_slice()),
            ("sort=size", &["y/", "z/", "a.txt", "c.bin", "b.txt"]),
            ("sort=size&order=desc", &["y/", "z/", "b.txt", "c.bin", "a.txt"]),
            ("q=TXT", &["a.txt", "b.txt"]),
            ("q=txt&order=desc", &["b.txt", "a.txt"]),
            ("q=nothing", &[]),
        ] {
            let page = viewed(&dir, query);
            let names: Vec<_> = links(&page).iter().map(|link| link.trim_start_matches("./")).collect();
            assert_eq!(names[0], "../", "{query}");
            assert_eq!(&names[1..], want, "{query}");
        }
        let page = viewed(&dir, "q=%3Ci%3E");
        assert!(page.contains("<p>no name contains “&lt;i&gt;”</p>"), "{page}");
        let page = viewed(&dir, "sort=time&order=desc&q=.");
        let names: Vec<_> = links(&page).iter().map(|link| link.trim_start_matches("./")).collect();
        assert_eq!(names, ["../", "a.txt", "c.bin", "b.txt"]);
        for part in [
            "<input type=\"search\" name=\"q\" value=\".\"",
            "<input type=\"hidden\" name=\"sort\" value=\"time\">",
            "<th class=\"n t\" aria-sort=\"descending\"><a href=\"?sort=time&amp;order=asc&amp;q=.\">",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn what_is_searched_for_is_nothing_but_text() {
        let dir = Scratch::new();
        dir.write("a", "");
        let page = viewed(&dir, "q=%22%3E%3Cscript%3E%27%26");
        assert!(
            !page.contains("<script") && page.contains("value=\"&quot;&gt;&lt;script&gt;&#39;&amp;\""),
            "{page}"
        );
        assert!(page.contains("&amp;q=%22%3E%3Cscript%3E%27%26\""), "{page}");
    }

    #[test]
    fn the_page_has_no_style_and_no_script_of_its_own() {
        let dir = Scratch::new();
        dir.write("a", "");
        let page = listed(&dir, Symlinks::Follow);
        for inline in ["<style", " style=", "<script", "onclick", "javascript:"] {
            assert!(!page.contains(inline), "{inline}: {page}");
        }
        assert!(page.contains("<link rel=\"stylesheet\" href=\"?style="), "{page}");
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
