//! `pid-file`: the process ID, for sending signals; removed at the end.

use crate::exit::Failure;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A written pid file; dropping it removes it.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    file: File,
}

impl PidFile {
    /// Writes the file. A symbolic link is not followed: root would overwrite its target.
    ///
    /// # Errors
    /// It could not be written.
    pub(crate) fn write(path: &Path) -> Result<Self, Failure> {
        let mut options = File::options();
        options.write(true).create(true).truncate(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let written = options.open(path).and_then(|mut file| {
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
        // After the switch to another user this may be denied, as with h2o and nginx: an empty file then says
        // that no server runs. The descriptor keeps the rights with which it was opened.
        if std::fs::remove_file(&self.path).is_err() {
            let _ = self.file.set_len(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_place_of_the_pid_file_is_not_followed() {
        let name =
            |name: &str| std::env::temp_dir().join(format!("hayami-pid-{name}-{}", std::process::id()));
        let (link, victim) = (name("link"), name("victim"));
        std::fs::write(&victim, "secret").expect("written");
        std::os::unix::fs::symlink(&victim, &link).expect("linked");
        let written = PidFile::write(&link);
        let content = std::fs::read_to_string(&victim);
        std::fs::remove_file(&link).expect("removed");
        std::fs::remove_file(&victim).expect("removed");
        assert!(written.is_err());
        assert_eq!(content.expect("a file"), "secret");
    }
}
