//! `pid-file`: the process id for those who send signals; removed at the end.

use crate::exit::Failure;
use std::path::{Path, PathBuf};

/// A written pid file; dropping it removes it.
#[derive(Debug)]
pub struct PidFile(PathBuf);

impl PidFile {
    /// Writes the file.
    ///
    /// # Errors
    /// It could not be written.
    pub fn write(path: &Path) -> Result<Self, Failure> {
        std::fs::write(path, format!("{}\n", std::process::id())).map_err(|error| {
            let path = path.display();
            Failure::CannotCreate(format!(
                "cannot write the pid-file {path}: {error}; its folder must exist and be writable"
            ))
        })?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // After the switch to another user we may not be allowed to, as with h2o and nginx: an empty
        // file then says that nobody runs.
        if std::fs::remove_file(&self.0).is_err() {
            let _ = std::fs::write(&self.0, "");
        }
    }
}
