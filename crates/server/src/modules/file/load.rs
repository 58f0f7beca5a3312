//! From a path to an entry: looks at the candidates in order, opens, reads, makes the fields ready.
//!
//! Runs in the loop first, where nothing may wait, and in a thread of the blocking pool if the disk has
//! to be asked. What runs out (descriptors, memory) is told apart from what is not there.

use super::entry::{Body, Entry, Found, OpenFile, Representation, ServedFile, Watched};
use super::listing::{self, CountedPage, Room};
use super::root::{Fingerprint, Patience, Root, Timestamp, stat_descriptor};
use super::{Plan, SendCompressed, gunzip};
use hayami_http::negotiate::Coding;
use hayami_http::{FieldSection, Shared, date};
use hayami_net::{Instant, would_wait};
use rustix::fs::FileType;
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::IoSliceMut;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Why there is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The disk has to be asked, and the caller has no patience.
    WouldBlock,
    /// Descriptors or memory have run out. Says nothing about the file.
    Exhausted,
    /// The disk or the network behind it failed.
    Io(Errno),
}

/// What a path asks for, relative to the root.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// This path; with a slash at its end, the index of the directory. The listing is headed by `shown`.
    Path { path: &'a [u8], shown: &'a [u8] },
    /// This file and nothing else.
    File(&'a [u8]),
}

/// Makes the entry of a path. `now` is the loop's time, from which the entry counts as fresh.
///
/// # Errors
/// No entry can be made at present; nothing is known about the path then.
pub(super) fn load(
    root: &Root,
    plan: &Plan,
    wanted: Wanted<'_>,
    patience: Patience,
    now: Instant,
) -> Result<Entry, Failure> {
    let wall = wall_clock();
    let mut search = Search { root, plan, patience, wall, watched: Vec::new() };
    let found = match wanted {
        Wanted::File(path) => match search.candidate(path)? {
            Found::Directory(_) => Found::Forbidden,
            found => found,
        },
        Wanted::Path { path, shown } if shown.ends_with(b"/") => search.index_of(path, shown)?,
        Wanted::Path { path: b"", .. } => Found::Directory(b"/"[..].into()),
        Wanted::Path { path, .. } => search.candidate(path)?,
    };
    Ok(Entry::new(found, search.watched, wall, now))
}

/// The listing of a directory in a view of its own.
///
/// # Errors
/// As for [`load`]; [`Failure::Exhausted`] as well if such pages fill the memory that they may have.
pub(super) fn view(
    root: &Root,
    directory: &[u8],
    shown: &[u8],
    view: &listing::View,
) -> Result<CountedPage, Failure> {
    let room = Room::reserve().ok_or(Failure::Exhausted)?;
    let failed = |error| failure(error).unwrap_or(Failure::Io(error));
    let opened = root.open_below(directory, Patience::Unlimited).map_err(failed)?;
    let page = listing::page(opened, root, directory, shown, view).map_err(failed)?;
    room.fill(page).ok_or(Failure::Exhausted)
}

/// What the server writes itself, in memory.
pub(super) fn generated(media_type: &[u8], bytes: Vec<u8>) -> Representation {
    let mut fields = FieldSection::default();
    fields.append(b"content-type", media_type);
    let fields = Arc::new(fields);
    Representation {
        coding: Coding::Identity,
        not_modified: Arc::clone(&fields),
        fields,
        modified: None,
        body: Body::Memory(Shared::from(bytes)),
    }
}

fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() }
}

/// What opening a path shows.
enum Probe {
    File(File, Fingerprint),
    Directory,
    Absent,
    Forbidden,
}

struct Search<'a> {
    root: &'a Root,
    plan: &'a Plan,
    patience: Patience,
    wall: Timestamp,
    watched: Vec<Watched>,
}

impl Search<'_> {
    /// The first index file that is there; else the listing, if it is wanted.
    fn index_of(&mut self, directory: &[u8], shown: &[u8]) -> Result<Found, Failure> {
        for name in &self.plan.index {
            let path = [directory, name.as_bytes()].concat();
            match self.candidate(&path)? {
                Found::Absent => {}
                Found::File(mut file) if self.plan.has_other_paths => {
                    file.index = Some(name.as_bytes().into());
                    return Ok(Found::File(file));
                }
                Found::Directory(_) => return Ok(Found::Directory([name.as_bytes(), b"/"].concat().into())),
                found => return Ok(found),
            }
        }
        if self.plan.dirlisting { self.listing(directory, shown) } else { Ok(Found::Absent) }
    }

    /// What is at exactly this path.
    fn candidate(&mut self, path: &[u8]) -> Result<Found, Failure> {
        if let Some(rule) = self.plan.rules.script(path)
            && let Some(script) = self.script(rule, path)?
        {
            return Ok(script);
        }
        match self.probe(path)? {
            Probe::File(file, state) => self.file(path, file, &state),
            Probe::Directory => Ok(Found::Directory(b"/"[..].into())),
            Probe::Forbidden => Ok(Found::Forbidden),
            Probe::Absent if self.plan.send_compressed == SendCompressed::Gunzip => self.packed_only(path),
            Probe::Absent => Ok(Found::Absent),
        }
    }

    /// A script, which is not opened: who runs it may be another user, and nobody else should read it.
    fn script(&mut self, rule: usize, path: &[u8]) -> Result<Option<Found>, Failure> {
        let state = match self.patience {
            Patience::None => self.root.stat_at_hand(path),
            Patience::Unlimited => self.root.stat_below(path),
        };
        match state {
            Ok(state) if state.file_type() == FileType::RegularFile => {
                self.watched.push(Watched::new(path, Ok(state)));
                Ok(Some(Found::Script(rule, path.into())))
            }
            Err(Errno::AGAIN) if self.patience == Patience::None => Err(Failure::WouldBlock),
            _ => Ok(None),
        }
    }

    fn file(&mut self, path: &[u8], file: File, state: &Fingerprint) -> Result<Found, Failure> {
        let mut representations = vec![self.representation(path, Coding::Identity, file, state)?];
        if self.plan.send_compressed != SendCompressed::Off {
            for (coding, suffix) in VARIANTS {
                if let Probe::File(file, state) = self.probe(&[path, suffix].concat())? {
                    representations.push(self.representation(path, coding, file, &state)?);
                }
            }
        }
        Ok(self.served(path, representations))
    }

    /// `file.send-compressed: gunzip`: the file is there in its gzip form alone.
    fn packed_only(&mut self, path: &[u8]) -> Result<Found, Failure> {
        let Probe::File(file, state) = self.probe(&[path, b".gz"].concat())? else {
            return Ok(Found::Absent);
        };
        let packed = self.representation(path, Coding::Gzip, file, &state)?;
        let body = match &packed.body {
            Body::Memory(bytes) => match gunzip::unpack(bytes.as_slice(), gunzip::IN_MEMORY) {
                Some(unpacked) => Body::Memory(Shared::from(unpacked)),
                None => Body::Packed(Arc::new(self.reopen(path)?)),
            },
            Body::File(OpenFile { file, .. }) | Body::Packed(file) => Body::Packed(Arc::clone(file)),
        };
        let unpacked = self.dressed(path, Coding::Identity, body, &state);
        Ok(self.served(path, vec![unpacked, packed]))
    }

    fn reopen(&mut self, path: &[u8]) -> Result<File, Failure> {
        match self.probe(&[path, b".gz"].concat())? {
            Probe::File(file, _) => Ok(file),
            _ => Err(Failure::Io(Errno::NOENT)),
        }
    }

    fn served(&self, path: &[u8], representations: Vec<Representation>) -> Found {
        let rule = self.plan.rules.find(path);
        Found::File(ServedFile { representations: representations.into(), rule, index: None })
    }

    fn listing(&mut self, directory: &[u8], shown: &[u8]) -> Result<Found, Failure> {
        match self.probe(directory)? {
            Probe::Directory if self.patience == Patience::None => Err(Failure::WouldBlock),
            Probe::Directory => self.list(directory, shown),
            Probe::Forbidden => Ok(Found::Forbidden),
            Probe::File(..) | Probe::Absent => Ok(Found::Absent),
        }
    }

    fn list(&mut self, directory: &[u8], shown: &[u8]) -> Result<Found, Failure> {
        let opened = match self.root.open_below(directory, self.patience) {
            Ok(opened) => opened,
            Err(error) => return failure(error).map_or(Ok(Found::Forbidden), Err),
        };
        let page = listing::page(opened, self.root, directory, shown, &listing::View::default())
            .map_err(|e| failure(e).unwrap_or(Failure::Io(e)))?;
        Ok(Found::Listing(generated(listing::MEDIA_TYPE, page)))
    }

    /// Opens a path and takes note of what is there.
    fn probe(&mut self, path: &[u8]) -> Result<Probe, Failure> {
        let error = match self.root.open_below(path, self.patience) {
            Ok(opened) => {
                let state = stat_descriptor(&opened).map_err(Failure::Io)?;
                self.watched.push(Watched::new(path, Ok(state)));
                return Ok(match state.file_type() {
                    FileType::RegularFile => Probe::File(File::from(opened), state),
                    FileType::Directory => Probe::Directory,
                    _ => Probe::Forbidden,
                });
            }
            Err(error) => error,
        };
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => {
                self.watched.push(Watched::new(path, Err(error)));
                Ok(Probe::Absent)
            }
            Errno::AGAIN if self.patience == Patience::None => Err(Failure::WouldBlock),
            _ => failure(error).map_or_else(|| Ok(self.refused(path)), Err),
        }
    }

    /// It is there, but may not be opened; a directory may be redirected to all the same.
    fn refused(&mut self, path: &[u8]) -> Probe {
        let state = self.root.stat_below(path);
        let directory = state.is_ok_and(|s| s.file_type() == FileType::Directory);
        self.watched.push(Watched::new(path, state));
        if directory && !path.ends_with(b"/") { Probe::Directory } else { Probe::Forbidden }
    }

    fn representation(
        &self,
        path: &[u8],
        coding: Coding,
        file: File,
        state: &Fingerprint,
    ) -> Result<Representation, Failure> {
        let body = if state.size <= self.plan.max_file_size {
            Body::Memory(Shared::from(read(&file, state.size as usize, self.patience)?))
        } else {
            Body::File(OpenFile::new(Arc::new(file), state.size))
        };
        Ok(self.dressed(path, coding, body, state))
    }

    /// Adds the fields to the bytes.
    fn dressed(&self, path: &[u8], coding: Coding, body: Body, state: &Fingerprint) -> Representation {
        // Never later than now (RFC 9110 §8.8.2.1).
        let modified = state.modified.seconds.min(self.wall.seconds).max(0) as u64;
        let etag = self.plan.etag.then(|| etag(state, coding));
        let vary = self.plan.send_compressed != SendCompressed::Off;
        let mut fields = FieldSection::default();
        fields.append(b"content-type", self.plan.mime.of_name(path).name.as_bytes());
        if coding != Coding::Identity {
            fields.append(b"content-encoding", coding.name());
        }
        fields.append(b"last-modified", &date::format(modified));
        let mut not_modified = FieldSection::default();
        match &etag {
            Some(etag) => not_modified.append(b"etag", etag.as_bytes()),
            // Not needed beside an entity tag (RFC 9110 §15.4.5).
            None => not_modified.append(b"last-modified", &date::format(modified)),
        }
        if let Some(etag) = etag {
            fields.append(b"etag", etag.as_bytes());
        }
        if vary {
            fields.append(b"vary", b"accept-encoding"); // RFC 9110 §12.5.5
            not_modified.append(b"vary", b"accept-encoding");
        }
        if !matches!(body, Body::Packed(_)) {
            fields.append(b"accept-ranges", b"bytes");
        }
        let (fields, not_modified) = (Arc::new(fields), Arc::new(not_modified));
        Representation { coding, fields, not_modified, modified: Some(modified), body }
    }
}

/// In the order of preference; the client's comes first.
const VARIANTS: [(Coding, &[u8]); 3] =
    [(Coding::Brotli, b".br"), (Coding::Zstd, b".zst"), (Coding::Gzip, b".gz")];

/// Nanoseconds of the last change and size, hexadecimal; another one for each form (RFC 9110 §8.8.3.3).
fn etag(state: &Fingerprint, coding: Coding) -> String {
    let nanoseconds =
        i128::from(state.modified.seconds) * 1_000_000_000 + i128::from(state.modified.nanoseconds);
    let form = match coding {
        Coding::Gzip => "-gz",
        Coding::Brotli => "-br",
        Coding::Zstd => "-zst",
        Coding::Identity => "",
    };
    format!("\"{:x}-{:x}{form}\"", nanoseconds as u64, state.size)
}

/// What an error says about us rather than about the file.
fn failure(error: Errno) -> Option<Failure> {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => Some(Failure::Exhausted),
        // A link against the policy, a socket, a device without driver, no permission: about the file.
        Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::XDEV | Errno::NXIO | Errno::NODEV => None,
        Errno::TXTBSY | Errno::OVERFLOW | Errno::ISDIR | Errno::INVAL => None,
        other => Some(Failure::Io(other)),
    }
}

/// The whole of a file of this length, if the kernel has it in memory.
#[cold]
pub(super) fn at_hand(file: &File, len: u64) -> Option<Shared> {
    let bytes = read(file, usize::try_from(len).ok()?, Patience::None).ok()?;
    (bytes.len() as u64 == len).then(|| Shared::from(bytes))
}

/// The first `len` bytes of a file; fewer if it has fewer by now.
fn read(file: &File, len: usize, patience: Patience) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; len];
    let mut done = 0;
    while done < len {
        match read_at(file, &mut bytes[done..], done as u64, patience) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) if patience == Patience::None && would_wait(error) => return Err(Failure::WouldBlock),
            Err(error) => return Err(failure(error).unwrap_or(Failure::Io(error))),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

fn read_at(file: &File, bytes: &mut [u8], at: u64, patience: Patience) -> Result<usize, Errno> {
    match patience {
        Patience::Unlimited => rustix::io::pread(file, bytes, at),
        Patience::None => {
            rustix::io::preadv2(file, &mut [IoSliceMut::new(bytes)], at, ReadWriteFlags::NOWAIT)
        }
    }
}
