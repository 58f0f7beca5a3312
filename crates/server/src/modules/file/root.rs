//! The directory below which files are looked up, and the only place that opens them.
//!
//! Paths are already normalized (no `..`, no NUL); here they are made relative, so that an absolute one cannot leave
//! the root either. Symbolic links follow the policy of `file.symlinks`; magic links of /proc, which lead to open
//! descriptors, are never followed. Nothing here allocates for paths under 256 bytes.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;
use std::path::Path;

/// `file.symlinks`: which symbolic links below the root are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symlinks {
    /// All, as nginx and h2o do.
    #[default]
    Follow,
    /// Those that stay below the root.
    Within,
    /// None.
    Never,
}

impl Symlinks {
    fn flags(self) -> ResolveFlags {
        ResolveFlags::NO_MAGICLINKS
            | match self {
                Self::Follow => ResolveFlags::empty(),
                Self::Within => ResolveFlags::BENEATH,
                Self::Never => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
            }
    }
}

/// Whether a call may block on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// No: called on the event loop. Instead of blocking it fails with [`Errno::AGAIN`].
    None,
    /// Yes: called on a thread of the blocking pool.
    Unlimited,
}

/// Distinguishes the states of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    device: (u32, u32),
    inode: u64,
    mode: u16,
    /// Bytes.
    pub size: u64,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of content, owner, mode or links; no program can set it.
    pub changed: Timestamp,
}

/// Seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Seconds; before 1970 they are negative.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

impl Fingerprint {
    fn of(stat: &Statx) -> Self {
        let time = |t: &rustix::fs::StatxTimestamp| Timestamp { seconds: t.tv_sec, nanoseconds: t.tv_nsec };
        Self {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            mode: stat.stx_mode,
            size: stat.stx_size,
            modified: time(&stat.stx_mtime),
            changed: time(&stat.stx_ctime),
        }
    }

    /// The type of the file.
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(u32::from(self.mode))
    }

    /// Whether it is the same file, possibly with other content.
    pub fn same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// An open root directory.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    symlinks: Symlinks,
    /// Whether the kernel permits openat2 (Linux 5.6; some containers forbid it).
    openat2: bool,
    fingerprint: Fingerprint,
}

impl Root {
    /// Opens the directory `path`; it must be searchable, but need not be readable.
    ///
    /// # Errors
    /// The kernel's error; `NOSYS` if the policy needs openat2, which is not available.
    pub fn open(path: &Path, symlinks: Symlinks) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())?;
        let probe = rustix::fs::openat2(&directory, c".", flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
        // Opening does not require search permission on the directory, serving from it does.
        if matches!(probe, Err(Errno::ACCESS)) {
            return Err(Errno::ACCESS);
        }
        let openat2 = !matches!(probe, Err(Errno::NOSYS | Errno::PERM));
        if !openat2 && symlinks != Symlinks::Follow {
            return Err(Errno::NOSYS);
        }
        let fingerprint = stat_descriptor(&directory)?;
        Ok(Self { directory, symlinks, openat2, fingerprint })
    }

    /// Whether `path` still leads to this directory.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn is_at(&self, path: &Path) -> Result<bool, Errno> {
        let stat = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::TYPE | StatxFlags::INO)?;
        Ok(Fingerprint::of(&stat).same_file(&self.fingerprint))
    }

    /// Opens what is at `path` for reading, whatever its type; a FIFO or device does not block.
    ///
    /// # Errors
    /// The kernel's error; `AGAIN` if it would block and `patience` is none.
    pub fn open_below(&self, path: &[u8], patience: Patience) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        self.open_with(path, flags, patience)
    }

    fn open_with(&self, path: &[u8], flags: OFlags, patience: Patience) -> Result<OwnedFd, Errno> {
        let path = relative(path)?;
        match (self.openat2, patience) {
            (true, Patience::Unlimited) => {
                rustix::fs::openat2(&self.directory, path, flags, Mode::empty(), self.symlinks.flags())
            }
            (true, Patience::None) => {
                let resolve = self.symlinks.flags() | ResolveFlags::CACHED;
                let opened = rustix::fs::openat2(&self.directory, path, flags, Mode::empty(), resolve);
                // RESOLVE_CACHED needs Linux 5.12; before, every open may block.
                opened.map_err(|e| if e == Errno::INVAL { Errno::AGAIN } else { e })
            }
            (false, Patience::Unlimited) => rustix::fs::openat(&self.directory, path, flags, Mode::empty()),
            (false, Patience::None) => Err(Errno::AGAIN),
        }
    }

    /// The state of the file at `path`; links are followed according to the policy.
    ///
    /// # Errors
    /// The kernel's error; `NOENT` and `NOTDIR` mean that nothing is there.
    pub fn stat_below(&self, path: &[u8]) -> Result<Fingerprint, Errno> {
        if self.symlinks == Symlinks::Follow {
            let flags = AtFlags::NO_AUTOMOUNT;
            let stat = rustix::fs::statx(&self.directory, relative(path)?, flags, StatxFlags::BASIC_STATS)?;
            return Ok(Fingerprint::of(&stat));
        }
        // statx cannot restrict links, so openat2 resolves the path.
        self.stat_with(path, Patience::Unlimited)
    }

    /// Like [`stat_below`](Self::stat_below), without blocking on the disk.
    ///
    /// # Errors
    /// As of [`stat_below`](Self::stat_below); `AGAIN` if it would block.
    pub fn stat_at_hand(&self, path: &[u8]) -> Result<Fingerprint, Errno> {
        self.stat_with(path, Patience::None)
    }

    fn stat_with(&self, path: &[u8], patience: Patience) -> Result<Fingerprint, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        stat_descriptor(&self.open_with(path, flags, patience)?)
    }
}

/// The state of an open file.
///
/// # Errors
/// The kernel's error.
pub(super) fn stat_descriptor(file: impl AsFd) -> Result<Fingerprint, Errno> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    Ok(Fingerprint::of(&stat))
}

/// `path` without leading slashes; `.` if empty. A `..`, which no normalized path contains, is an error.
fn relative(path: &[u8]) -> Result<&[u8], Errno> {
    let start = path.iter().position(|&b| b != b'/').unwrap_or(path.len());
    let path = &path[start..];
    let climbs =
        memchr::memmem::find(path, b"..").is_some() && path.split(|&b| b == b'/').any(|s| s == b"..");
    match path {
        _ if climbs || path.contains(&0) => Err(Errno::NOENT),
        b"" => Ok(b"."),
        _ => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::file::scratch::Scratch;

    #[test]
    fn nothing_outside_the_root_is_opened() {
        let dir = Scratch::new();
        dir.write("secret", "no");
        dir.folder("site/sub");
        dir.write("site/sub/a", "yes");
        let root = Root::open(&dir.path("site"), Symlinks::Follow).unwrap();
        for path in ["../secret", "/../secret", "sub/../../secret", "/etc/passwd", "//etc/passwd", "sub/.."] {
            assert_eq!(
                root.open_below(path.as_bytes(), Patience::Unlimited).unwrap_err(),
                Errno::NOENT,
                "{path}"
            );
        }
        assert_eq!(root.open_below(b"sub/a\0b", Patience::Unlimited).unwrap_err(), Errno::NOENT);
        assert!(root.open_below(b"/sub/a", Patience::Unlimited).is_ok());
        assert!(root.open_below(b"", Patience::Unlimited).is_ok());
    }

    #[test]
    fn symbolic_links_follow_the_policy() {
        let dir = Scratch::new();
        dir.write("outside", "o");
        dir.folder("site");
        dir.write("site/a", "a");
        dir.link("a", "site/inner");
        dir.link("../outside", "site/outer");
        dir.link(dir.path("outside").to_str().unwrap(), "site/absolute");
        let cases = [
            (Symlinks::Follow, [true, true, true, true]),
            (Symlinks::Within, [true, true, false, false]),
            (Symlinks::Never, [true, false, false, false]),
        ];
        for (policy, want) in cases {
            let root = Root::open(&dir.path("site"), policy).unwrap();
            let names: [&[u8]; 4] = [b"a", b"inner", b"outer", b"absolute"];
            assert_eq!(
                names.map(|n| root.open_below(n, Patience::Unlimited).is_ok()),
                want,
                "{policy:?} open"
            );
            assert_eq!(names.map(|n| root.stat_below(n).is_ok()), want, "{policy:?} stat");
        }
    }

    #[test]
    fn links_of_proc_are_never_followed() {
        let root = Root::open(Path::new("/proc/self"), Symlinks::Follow).unwrap();
        assert_eq!(root.open_below(b"exe", Patience::Unlimited).unwrap_err(), Errno::LOOP);
    }

    #[test]
    fn a_fifo_does_not_make_anybody_wait() {
        let dir = Scratch::new();
        dir.fifo("pipe");
        let root = Root::open(&dir.path(""), Symlinks::Follow).unwrap();
        let file = root.open_below(b"pipe", Patience::Unlimited).unwrap();
        assert_eq!(stat_descriptor(file).unwrap().file_type(), FileType::Fifo);
    }

    #[test]
    fn a_directory_that_took_the_place_of_the_root_is_noticed() {
        let dir = Scratch::new();
        dir.folder("one");
        dir.folder("two");
        dir.link("one", "current");
        let root = Root::open(&dir.path("current"), Symlinks::Follow).unwrap();
        assert_eq!(root.is_at(&dir.path("current")), Ok(true));
        dir.remove("current");
        assert_eq!(root.is_at(&dir.path("current")), Err(Errno::NOENT));
        dir.link("two", "current");
        assert_eq!(root.is_at(&dir.path("current")), Ok(false));
    }
}
