//! Cache entries: the prepared response for a path, and the states of the files it was made from.
//!
//! An entry is independent of requests and protocol versions: any number of requests and streams share it, and so its
//! one open descriptor.

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

/// What was found at a path.
#[derive(Debug)]
pub enum Found {
    /// A file and its precompressed variants.
    File(ServedFile),
    /// A directory requested without its slash: redirect to the path with this appended.
    Directory(Box<[u8]>),
    /// A file for the handler of this rule of `file.custom-handler`; its path below the root.
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
    /// At least one; at most one per coding.
    pub representations: Box<[Representation]>,
    /// The rule of `file.custom-handler` that applies to it.
    pub rule: Option<usize>,
    /// Its name, if it is the index file of the requested directory and may belong to another path of the
    /// configuration.
    pub index: Option<Arc<[u8]>>,
}

/// A representation of a file (RFC 9110 §3.2), ready to be sent.
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

/// Where the content of a representation is.
#[derive(Debug)]
pub enum Body {
    /// In memory.
    Memory(Shared),
    /// In an open file.
    File(OpenFile),
    /// In an open gzip file; the content must be decompressed, and its length is unknown.
    Packed(Arc<File>),
}

/// An open file.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: Arc<File>,
    /// Its length in bytes.
    pub len: u64,
    /// Number of requests that would have benefited from a copy in memory; wraps around to 0.
    pub asked: Cell<u8>,
    /// The copy in memory.
    pub copy: OnceCell<Shared>,
}

impl OpenFile {
    /// Creates one without a copy in memory.
    pub fn new(file: Arc<File>, len: u64) -> Self {
        Self { file, len, asked: Cell::new(0), copy: OnceCell::new() }
    }
}

impl Representation {
    /// The validators for conditional requests.
    pub fn validators(&self) -> conditional::Validators<'_> {
        conditional::Validators { etag: self.fields.get(Known::ETag), modified: self.modified }
    }

    /// Length in bytes; `None` if unknown because it must be decompressed.
    pub fn len(&self) -> Option<u64> {
        match &self.body {
            Body::Memory(bytes) => Some(bytes.len() as u64),
            Body::File(open) => Some(open.len),
            Body::Packed(_) => None,
        }
    }

    /// The whole content. Allocates only if it must be decompressed.
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

    /// The bytes in `range`, which must be within the length.
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

/// A path examined while the entry was made, and its state.
#[derive(Debug)]
pub struct Watched {
    path: Box<[u8]>,
    state: Result<Fingerprint, Errno>,
}

impl Watched {
    /// Records a path and its state.
    pub fn new(path: &[u8], state: Result<Fingerprint, Errno>) -> Self {
        Self { path: path.into(), state: state.map_err(absence) }
    }

    fn is_current(&self, root: &Root) -> bool {
        root.stat_below(&self.path).map_err(absence) == self.state
    }

    /// Whether it changed so shortly before `now` that another change may have the same timestamp.
    fn is_racy(&self, now: Timestamp) -> bool {
        self.state.is_ok_and(|f| is_recent(f.modified, now) || is_recent(f.changed, now))
    }
}

/// Maps all errors that mean the file does not exist to one.
fn absence(error: Errno) -> Errno {
    match error {
        Errno::NOTDIR | Errno::NAMETOOLONG => Errno::NOENT,
        other => other,
    }
}

/// Two seconds: the coarsest timestamps are FAT's; ext4 and xfs tick every 1 to 10 ms.
fn is_recent(then: Timestamp, now: Timestamp) -> bool {
    (now.seconds - then.seconds).abs() <= 2
}

/// A cached response.
#[derive(Debug)]
pub struct Entry {
    /// What was found at the path.
    pub found: Found,
    watched: Box<[Watched]>,
    /// Whether it was made from files that were changing: equal states do not prove equal content.
    racy: bool,
    validated: Cell<Instant>,
}

impl Entry {
    /// An entry made at `now` by examining `watched`.
    pub fn new(found: Found, watched: Vec<Watched>, now: Timestamp, validated: Instant) -> Self {
        let racy = watched.iter().any(|w| w.is_racy(now)) || matches!(found, Found::Listing(_));
        Self { found, watched: watched.into(), racy, validated: Cell::new(validated) }
    }

    /// Whether it was made or validated less than `interval` ago.
    #[inline]
    pub fn is_fresh(&self, now: Instant, interval: Duration) -> bool {
        now.saturating_duration_since(self.validated.get()) < interval
    }

    /// Checks whether everything is unchanged, and if so marks the entry as fresh.
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

    /// Approximate bytes in memory.
    pub fn bytes(&self) -> usize {
        let contents = self.representations().iter().map(|r| match &r.body {
            Body::Memory(bytes) => bytes.len() + 512,
            Body::File(open) => open.copy.get().map_or(0, Shared::len) + 512,
            Body::Packed(_) => 512,
        });
        contents.sum::<usize>() + self.watched.iter().map(|w| w.path.len() + 128).sum::<usize>() + 256
    }

    /// The prepared representations.
    pub fn representations(&self) -> &[Representation] {
        match &self.found {
            Found::File(file) => &file.representations,
            Found::Listing(listing) => std::slice::from_ref(listing),
            Found::Script(..) | Found::Directory(_) | Found::Absent | Found::Forbidden => &[],
        }
    }
}
