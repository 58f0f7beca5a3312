//! `pid-file`: the process id for those who send signals; removed at the end.

use crate::exit::Failure;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A written pid file; dropping it removes it.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    file: File,
}

impl PidFile {
    /// Writes the file.
    ///
    /// # Errors
    /// It could not be written.
    pub(crate) fn write(path: &Path) -> Result<Self, Failure> {
        let written = File::create(path).and_then(|mut file| {
            writeln!(file, "{}", std::process::id())?;
            Ok(file)
        });
        let file = written.map_err(|error| {
            let path = path.display();
            Failure::CannotCreate(format!(
                "cannot write the pid-file {path}: {error}; its directory must exist and be writable"
            ))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // After the switch to another user we may not be allowed to, as with h2o and nginx: an empty
        // file then says that nobody runs. The descriptor keeps the rights with which it was opened.
        if std::fs::remove_file(&self.path).is_err() {
            let _ = self.file.set_len(0);
        }
    }
}
