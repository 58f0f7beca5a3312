//! `--dev-tls`: a certificate authority for this machine, and its certificate for local names.
//!
//! ```text
//! ~/.local/share/hayami/  dev-ca.key   0600, the key of the authority
//!                         dev-ca.crt   the certificate to trust
//!                         dev.pem      0600, certificate and key that are served
//! ```
//!
//! All three are kept, so that the authority has to be trusted only once. `issue` creates them; this module
//! knows their location and lifetime.

mod issue;

use crate::exit::Failure;
use issue::Validity;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const DAY: u64 = 86_400;
/// Users would ignore an authority that has to be trusted again every year.
const AUTHORITY_DAYS: u64 = 3_650;
/// The maximum that browsers accept (CA/Browser Forum, Baseline Requirements §6.3.2, as of 2020).
const LEAF_DAYS: u64 = 397;
/// Certificates that expire sooner than this are renewed.
const SPARE_DAYS: u64 = 30;

/// The files to serve with.
#[derive(Debug)]
pub(crate) struct DevTls {
    /// The certificate of the authority.
    pub authority: PathBuf,
    /// Certificate and key of the server.
    pub identity: PathBuf,
}

/// The files in the user's data folder; missing or soon expiring ones are created.
///
/// # Errors
/// There is no such folder, or it cannot be written to.
pub(crate) fn prepare() -> Result<DevTls, Failure> {
    prepare_in(&data_folder()?, now())
}

/// `$XDG_DATA_HOME/hayami`, or `~/.local/share/hayami`.
fn data_folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .map(|folder| folder.join("hayami"))
        .ok_or_else(|| {
            Failure::CannotCreate(
                "--dev-tls needs a directory for its authority: set XDG_DATA_HOME or HOME".to_owned(),
            )
        })
}

fn prepare_in(folder: &Path, now: u64) -> Result<DevTls, Failure> {
    let failed = |what: &Path, error: io::Error| {
        let what = what.display();
        Failure::CannotCreate(format!(
            "--dev-tls cannot store its certificate authority in {what}: {error}; set XDG_DATA_HOME to a writable \
             directory"
        ))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed(folder, error))?;
    let [key_file, authority_file, identity_file] =
        ["dev-ca.key", "dev-ca.crt", "dev.pem"].map(|name| folder.join(name));
    let validity = |days: u64| Validity { from: now.saturating_sub(DAY), until: now + days * DAY };
    let known = issue::Authority::restore(&read(&key_file), &read(&authority_file));
    let authority = match known.filter(|authority| authority.until >= now + SPARE_DAYS * DAY) {
        Some(authority) => authority,
        None => {
            let authority =
                issue::Authority::new(validity(AUTHORITY_DAYS), &host_name()).map_err(internal)?;
            write(&key_file, &authority.key_pem(), 0o600).map_err(|error| failed(&key_file, error))?;
            write(&authority_file, &authority.pem, 0o644).map_err(|error| failed(&authority_file, error))?;
            authority
        }
    };
    if !authority.has_issued(&read(&identity_file), now + SPARE_DAYS * DAY) {
        let days = validity(LEAF_DAYS - 1);
        let until = days.until.min(authority.until);
        let identity = authority.issue(Validity { until, ..days }).map_err(internal)?;
        write(&identity_file, &identity, 0o600).map_err(|error| failed(&identity_file, error))?;
    }
    Ok(DevTls { authority: authority_file, identity: identity_file })
}

fn internal(error: rcgen::Error) -> Failure {
    Failure::System(format!("--dev-tls cannot create a certificate: {error}"))
}

/// A file's text; unreadable files are created again.
fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

/// Writes a file atomically, so that no reader sees half of it.
fn write(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    let new = file.with_extension(format!("{}.new", std::process::id()));
    // A file left by an interrupted run may have other permissions.
    let _ = std::fs::remove_file(&new);
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
    opened.write_all(text.as_bytes())?;
    std::fs::rename(&new, file)
}

/// The name of this machine in lower case, if it is allowed in a certificate.
fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    (!name.is_empty() && name != "localhost" && name.len() <= 64 && name.bytes().all(fits)).then_some(name)
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl DevTls {
    /// How to make programs trust the authority: a program and a command per line.
    pub(crate) fn advice(&self, url: &str) -> Vec<(&'static str, String)> {
        let file = self.authority.display();
        vec![
            ("curl", format!("curl --cacert {file} {url}")),
            (
                "Debian",
                format!(
                    "sudo cp {file} /usr/local/share/ca-certificates/hayami-dev.crt && \
                     sudo update-ca-certificates"
                ),
            ),
            (
                "macOS",
                format!(
                    "sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain {file}"
                ),
            ),
            (
                "Chrome",
                format!("certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n hayami-dev -i {file}   (Linux)"),
            ),
            (
                "Firefox",
                format!("Settings > Privacy & Security > View Certificates > Authorities > Import {file}"),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hayami-dev-tls-{}-{name}", std::process::id()));
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const NOW: u64 = 1_800_000_000;

    #[test]
    fn what_was_made_once_is_kept_until_it_ends_soon() {
        let folder = Folder::new("kept");
        let texts = |now| {
            let made = prepare_in(&folder.0, now).expect("made");
            (read(&made.authority), read(&made.identity))
        };
        let first = texts(NOW);
        assert!(first.0.contains("BEGIN CERTIFICATE") && first.1.contains("PRIVATE KEY"));
        assert_eq!(texts(NOW + 300 * DAY), first);
        let second = texts(NOW + 370 * DAY);
        assert_eq!(second.0, first.0);
        assert_ne!(second.1, first.1);
        let third = texts(NOW + 3_640 * DAY);
        assert_ne!(third.0, first.0);
        assert_ne!(third.1, second.1);
    }

    #[test]
    fn a_lost_or_damaged_file_is_made_anew() {
        let folder = Folder::new("damaged");
        let made = prepare_in(&folder.0, NOW).expect("made");
        let authority = read(&made.authority);
        std::fs::write(&made.identity, "damaged").expect("written");
        prepare_in(&folder.0, NOW).expect("made");
        assert_eq!(read(&made.authority), authority);
        assert!(read(&made.identity).contains("PRIVATE KEY"));
        std::fs::remove_file(folder.0.join("dev-ca.key")).expect("removed");
        let identity = read(&made.identity);
        prepare_in(&folder.0, NOW).expect("made");
        assert_ne!(read(&made.authority), authority);
        assert_ne!(read(&made.identity), identity);
    }

    #[test]
    fn keys_are_for_their_owner_only() {
        let folder = Folder::new("mode");
        prepare_in(&folder.0, NOW).expect("made");
        for (name, want) in [("dev-ca.key", 0o600), ("dev-ca.crt", 0o644), ("dev.pem", 0o600), (".", 0o700)] {
            let mode = std::fs::metadata(folder.0.join(name)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777 & !0o022, want & !0o022, "{name}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_said() {
        let folder = Folder::new("file");
        std::fs::write(&folder.0, "").expect("written");
        let failure = prepare_in(&folder.0.join("below"), NOW).expect_err("a file is no folder");
        assert_eq!(failure.code(), 73);
        assert!(failure.to_string().contains("XDG_DATA_HOME"), "{failure}");
        std::fs::remove_file(&folder.0).expect("removed");
    }
}
