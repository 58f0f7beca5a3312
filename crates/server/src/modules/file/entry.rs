//! What the cache keeps of a path: the answer made ready, and the states of the files it came from.
//!
//! An entry knows nothing of a request and nothing of a protocol version: any number of requests and
//! streams share one, and so one open descriptor.

use super::root::{Fingerprint, Root, Timestamp};
use hayami_http::negotiate::Coding;
use hayami_http::{Content, FieldSection, FileSlice, Known, Shared, conditional};
use hayami_net::Instant;
use rustix::io::Errno;
use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// What is at a path.
#[derive(Debug)]
pub enum Found {
    /// A file and its precompressed variants.
    File(ServedFile),
    /// A directory asked for without its slash: redirect to the path with this behind it.
    Directory(Box<[u8]>),
    /// A file that the handler of this rule of `file.custom-handler` answers for; its path below the root.
    Script(usize, Box<[u8]>),
    /// The listing of a directory.
    Listing(Representation),
    /// Nothing.
    Absent,
    /// Something that must not be served: not readable, not a regular file, or a link against the policy.
    Forbidden,
}

/// A file to be served.
#[derive(Debug)]
pub struct ServedFile {
    /// At least one; not more than one of each coding.
    pub representations: Box<[Representation]>,
    /// Which of the rules of `file.custom-handler` holds for it.
    pub rule: Option<usize>,
    /// Its name, if it is the index file of the directory that the path names and may belong to another path of the
    /// configuration.
    pub index: Option<Arc<[u8]>>,
}

/// One form of a file (RFC 9110 §3.2), ready to be sent.
#[derive(Debug)]
pub struct Representation {
    /// Its content coding.
    pub coding: Coding,
    /// The fields of a 200 response.
    pub fields: Arc<FieldSection>,
    /// The fields of a 304 response (RFC 9110 §15.4.5).
    pub not_modified: Arc<FieldSection>,
    /// Its Last-Modified in seconds since 1970; a listing has none.
    pub modified: Option<u64>,
    /// Its bytes.
    pub body: Body,
}

/// Where the bytes of a representation are.
#[derive(Debug)]
pub enum Body {
    /// In memory.
    Memory(Shared),
    /// In an open file.
    File(OpenFile),
    /// In an open gzip file; they have to be unpacked and their number is not known.
    Packed(Arc<File>),
}

/// An open file that is served.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: Arc<File>,
    /// Its length in bytes.
    pub len: u64,
    /// How often it was requested where a copy in memory would help; starts again from 0 when it is large.
    pub asked: Cell<u8>,
    /// The copy.
    pub copy: OnceCell<Shared>,
}

impl OpenFile {
    /// Without a copy in memory.
    pub fn new(file: Arc<File>, len: u64) -> Self {
        Self { file, len, asked: Cell::new(0), copy: OnceCell::new() }
    }
}

impl Representation {
    /// What conditions are compared with.
    pub fn validators(&self) -> conditional::Validators<'_> {
        conditional::Validators { etag: self.fields.get(Known::ETag), modified: self.modified }
    }

    /// Number of bytes; `None` if it has to be unpacked to know.
    pub fn len(&self) -> Option<u64> {
        match &self.body {
            Body::Memory(bytes) => Some(bytes.len() as u64),
            Body::File(open) => Some(open.len),
            Body::Packed(_) => None,
        }
    }

    /// All bytes. Allocates only if they have to be unpacked.
    pub fn content(&self) -> Content {
        match &self.body {
            Body::Memory(bytes) if bytes.is_empty() => Content::Empty,
            Body::Memory(bytes) => Content::Shared(bytes.clone()),
            Body::File(open) => {
                Content::File(FileSlice { file: Arc::clone(&open.file), offset: 0, len: open.len })
            }
            Body::Packed(file) => Content::Stream(Box::new(super::gunzip::Unpacking::new(Arc::clone(file)))),
        }
    }

    /// The bytes of `range`, which lies within the length.
    pub fn part(&self, range: &Range<u64>) -> Content {
        let len = range.end - range.start;
        match &self.body {
            Body::Memory(bytes) => Content::Shared(bytes.slice(range.start as usize, len as usize)),
            Body::File(open) => {
                Content::File(FileSlice { file: Arc::clone(&open.file), offset: range.start, len })
            }
            Body::Packed(_) => self.content(),
        }
    }
}

/// A path that was looked at while the entry was made, and what was there.
#[derive(Debug)]
pub struct Watched {
    path: Box<[u8]>,
    state: Result<Fingerprint, Errno>,
}

impl Watched {
    /// Takes note of a path.
    pub fn new(path: &[u8], state: Result<Fingerprint, Errno>) -> Self {
        Self { path: path.into(), state: state.map_err(absence) }
    }

    fn is_current(&self, root: &Root) -> bool {
        root.stat_below(&self.path).map_err(absence) == self.state
    }

    /// Whether it changed so shortly before `now` that another change may bear the same time.
    fn is_racy(&self, now: Timestamp) -> bool {
        self.state.is_ok_and(|f| is_recent(f.modified, now) || is_recent(f.changed, now))
    }
}

/// All the ways in which the kernel says that nothing is there, as one.
fn absence(error: Errno) -> Errno {
    match error {
        Errno::NOTDIR | Errno::NAMETOOLONG => Errno::NOENT,
        other => other,
    }
}

/// Two seconds: the coarsest time stamps are FAT's; ext4 and xfs tick every 1 to 10 ms.
fn is_recent(then: Timestamp, now: Timestamp) -> bool {
    (now.seconds - then.seconds).abs() <= 2
}

/// A cached answer.
#[derive(Debug)]
pub struct Entry {
    /// What is at the path.
    pub found: Found,
    watched: Box<[Watched]>,
    /// Made from files that were changing: the same states do not prove the same content.
    racy: bool,
    validated: Cell<Instant>,
}

impl Entry {
    /// An entry made at `now` by looking at `watched`.
    pub fn new(found: Found, watched: Vec<Watched>, now: Timestamp, validated: Instant) -> Self {
        let racy = watched.iter().any(|w| w.is_racy(now)) || matches!(found, Found::Listing(_));
        Self { found, watched: watched.into(), racy, validated: Cell::new(validated) }
    }

    /// Whether it was made or validated less than `interval` ago.
    #[inline]
    pub fn is_fresh(&self, now: Instant, interval: Duration) -> bool {
        now.saturating_duration_since(self.validated.get()) < interval
    }

    /// Looks whether everything is as it was, and if so makes the entry fresh again.
    pub fn revalidate(&self, root: &Root, now: Instant) -> bool {
        let same = !self.racy && self.watched.iter().all(|w| w.is_current(root));
        if same {
            self.validated.set(now);
        }
        same
    }

    /// Number of open descriptors that it holds.
    pub fn descriptors(&self) -> usize {
        self.representations().iter().filter(|r| !matches!(r.body, Body::Memory(_))).count()
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        let contents = self.representations().iter().map(|r| match &r.body {
            Body::Memory(bytes) => bytes.len() + 512,
            Body::File(open) => open.copy.get().map_or(0, Shared::len) + 512,
            Body::Packed(_) => 512,
        });
        contents.sum::<usize>() + self.watched.iter().map(|w| w.path.len() + 128).sum::<usize>() + 256
    }

    /// The forms that it has ready.
    pub fn representations(&self) -> &[Representation] {
        match &self.found {
            Found::File(file) => &file.representations,
            Found::Listing(listing) => std::slice::from_ref(listing),
            Found::Script(..) | Found::Directory(_) | Found::Absent | Found::Forbidden => &[],
        }
    }
}
