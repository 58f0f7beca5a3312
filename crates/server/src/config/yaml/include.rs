//! Reads the files of a configuration: the main file, and those included by `!file`.
//!
//! Relative paths start from the working directory, as in h2o, also in an included file.

use super::resolve::{Document, Include, resolve};
use super::{ConfigError, Node, Position, glob, parse};
use crate::config::source::Sources;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Largest file, in bytes: a thousand times a long configuration, but still harmless.
const LARGEST: u64 = 16 << 20;

/// Bytes that all nodes may take together. Aliases of aliases grow exponentially: ten lines can make gigabytes.
const ROOM: usize = 32 << 20;

/// Longest chain of includes.
const CHAIN: usize = 16;

/// Reads files into documents.
pub(super) struct Reader<'s> {
    sources: &'s mut Sources,
    /// The chain of files being read.
    open: Vec<PathBuf>,
    room: usize,
}

impl<'s> Reader<'s> {
    pub(super) fn new(sources: &'s mut Sources) -> Self {
        Self { sources, open: Vec::new(), room: ROOM }
    }

    pub(super) fn main_file(&mut self, path: &str) -> Result<Node, ConfigError> {
        let bytes = File::open(path).and_then(read).map_err(|error| {
            let error =
                ConfigError::nowhere(format!("cannot read the configuration `{path}`: {}", reason(&error)));
            error.help("use `-c FILE` to name another file")
        })?;
        self.open.extend(std::fs::canonicalize(path));
        self.main_text(path, bytes)
    }

    pub(super) fn main_text(&mut self, name: &str, bytes: Vec<u8>) -> Result<Node, ConfigError> {
        let document = self.document(name, bytes)?;
        document.root.ok_or_else(|| {
            let error = ConfigError::nowhere(format!("the configuration `{name}` is empty"));
            error.help("it needs at least `listen` and `hosts`")
        })
    }

    fn included(&mut self, path: &str, at: Position) -> Result<Document, ConfigError> {
        let identity = std::fs::canonicalize(path).map_err(|error| unreadable(path, &error, at))?;
        if self.open.contains(&identity) {
            return Err(ConfigError::new(at, format!("`{path}` includes itself")));
        }
        if self.open.len() >= CHAIN {
            return Err(ConfigError::new(at, format!("includes are nested deeper than {CHAIN} files")));
        }
        let bytes = regular(&identity).and_then(read).map_err(|error| unreadable(path, &error, at))?;
        self.open.push(identity);
        let document = self.document(path, bytes);
        self.open.pop();
        document
    }

    fn document(&mut self, name: &str, bytes: Vec<u8>) -> Result<Document, ConfigError> {
        let file = match decode(bytes) {
            Ok(text) => self.sources.add(name, text),
            Err((text, start, message)) => {
                let file = self.sources.add(name, text);
                let at = Position { file, start, end: start + 1 };
                return Err(ConfigError::new(at, message).help("save the file as UTF-8"));
            }
        };
        let text =
            self.sources.get(Position { file, start: 0, end: 0 }).map_or("", |source| source.text.as_str());
        match parse::parse(text, file)? {
            Some(raw) => resolve(&raw, self),
            None => Ok(Document::default()),
        }
    }
}

impl Include for Reader<'_> {
    fn include(&mut self, path: &str, at: Position) -> Result<Document, ConfigError> {
        if !glob::is_pattern(path) {
            return self.included(path, at);
        }
        let mut all = Document::default();
        for path in glob::expand(path).map_err(|error| unreadable(path, &error, at))? {
            let document = self.included(&path, at)?;
            all.append(document, at)?;
        }
        Ok(all)
    }

    fn spend(&mut self, bytes: usize, at: Position) -> Result<(), ConfigError> {
        self.room = self.room.checked_sub(bytes).ok_or_else(|| {
            let message = format!("with its aliases expanded, the configuration exceeds {} MiB", ROOM >> 20);
            ConfigError::new(at, message)
        })?;
        Ok(())
    }
}

/// Opens regular files only: a device or a pipe could block forever.
fn regular(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if kind.is_file() { File::open(path) } else { Err(io::Error::other("it is not a regular file")) }
}

fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// The text of a file; or its printable text, the position of the fault, and the fault.
fn decode(bytes: Vec<u8>) -> Result<String, (String, u32, &'static str)> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err((String::from_utf8_lossy(&bytes).into_owned(), 0, "the file is UTF-16"));
    }
    // A byte order mark has no meaning in UTF-8, but some editors write it.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(bytes);
    String::from_utf8(bytes).map_err(|error| {
        let start = u32::try_from(error.utf8_error().valid_up_to()).unwrap_or(u32::MAX);
        (String::from_utf8_lossy(error.as_bytes()).into_owned(), start, "the file is not valid UTF-8")
    })
}

fn unreadable(path: &str, error: &io::Error, at: Position) -> ConfigError {
    let relative = error.kind() == io::ErrorKind::NotFound && Path::new(path).is_relative();
    let error = ConfigError::new(at, format!("cannot read `{path}`: {}", reason(error)));
    if relative {
        return error
            .help("relative paths are resolved against the directory in which the server is started");
    }
    error
}

/// The reason in words.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string(),
    }
}
