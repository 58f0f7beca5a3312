//! Where ticket keys come from, and how a set of them is refreshed.

use super::ring::Ring;
use super::text;
use crate::Error;
use crate::resumption::remote::Store;
use crate::resumption::vault::Vault;
use crate::resumption::{Report, Severity};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long a call of the store may take: no handshake waits for it.
const CALL: Duration = Duration::from_secs(2);
/// How often a file is checked; h2o's value.
const LOOK: Duration = Duration::from_secs(10);
/// How often a set is renewed or fetched, at most; h2o's value for memcached.
const RENEW: u64 = 60;

/// Where the keys come from.
#[derive(Debug)]
pub(in crate::resumption) enum Source {
    /// They are generated here.
    Internal,
    /// Another program writes them to a file.
    File(TicketFile),
    /// This and other machines generate them, and keep them in a store.
    Remote(RemoteKeys),
}

/// Keys in a store.
#[derive(Debug)]
pub(in crate::resumption) struct RemoteKeys {
    /// The store.
    pub(in crate::resumption) store: Arc<Store>,
    /// Their name there.
    pub(in crate::resumption) key: String,
    /// The seal for them there.
    pub(in crate::resumption) vault: Arc<Vault>,
    /// The fault of the last fetch: it is reported once.
    pub(in crate::resumption) wrong: Option<String>,
}

/// A file of keys.
#[derive(Debug)]
pub(in crate::resumption) struct TicketFile {
    path: PathBuf,
    /// The file's stamp at the last reading; `None`: it couldn't be read.
    seen: Option<(SystemTime, u64)>,
    /// It was reported that all keys have expired.
    said_over: bool,
}

impl Source {
    /// A file that is read now.
    pub(in crate::resumption) fn file(path: &Path) -> Result<(Self, Ring), Error> {
        let seen = stamp(path);
        let ring = read(path).map_err(Error)?;
        Ok((Self::File(TicketFile { path: path.to_owned(), seen, said_over: false }), ring))
    }

    /// The interval until the next refresh.
    pub(super) fn interval(&self, lifetime: u64) -> Duration {
        match self {
            Self::File(_) => LOOK,
            _ => Duration::from_secs((lifetime / 16).clamp(1, RENEW)),
        }
    }

    /// The set that replaces `ring`; `None`: `ring` stays.
    pub(super) fn refresh(&mut self, ring: &Ring, now: u64, lifetime: u64, report: &Report) -> Option<Ring> {
        match self {
            Self::Internal => ring.renewed(now, lifetime),
            Self::File(file) => file.refresh(ring, now, report),
            Self::Remote(keys) => match keys.fetch(now, lifetime) {
                Ok(fetched) => Some(fetched.after(ring, now)),
                Err(wrong) => {
                    keys.say(wrong, report);
                    ring.renewed(now, lifetime)
                }
            },
        }
    }
}

impl TicketFile {
    fn refresh(&mut self, ring: &Ring, now: u64, report: &Report) -> Option<Ring> {
        let next = self.reread(ring, now, report);
        let is_over = next.as_ref().unwrap_or(ring).sealing(now).is_none();
        if is_over && !self.said_over {
            let path = self.path.display();
            report(
                Severity::Warn,
                format!("no key in {path} is valid now: no session tickets are issued until it has one"),
            );
        }
        self.said_over = is_over;
        next
    }

    fn reread(&mut self, ring: &Ring, now: u64, report: &Report) -> Option<Ring> {
        let stamp = stamp(&self.path);
        if stamp == self.seen {
            return None;
        }
        self.seen = stamp;
        match read(&self.path) {
            Ok(keys) => {
                let path = self.path.display();
                report(Severity::Notice, format!("session ticket keys reloaded from {path}"));
                Some(keys.after(ring, now))
            }
            Err(line) => {
                report(Severity::Warn, format!("{line}; the previous keys stay in use"));
                None
            }
        }
    }
}

/// By what a changed file is recognized.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(path: &Path) -> Result<Ring, String> {
    let show = path.display();
    let bytes =
        std::fs::read(path).map_err(|e| format!("cannot read session ticket keys from {show}: {e}"))?;
    let parsed = std::str::from_utf8(&bytes).map_err(|_| "it is no text".to_owned()).and_then(text::read);
    parsed.map_err(|e| format!("{show} has no session ticket keys that can be used: {e}"))
}

impl RemoteKeys {
    /// The keys that all machines agree on; if another one is due it is added first. By compare-and-set: of
    /// several machines that add one at the same time one succeeds, and the others use its key.
    ///
    /// # Errors
    /// A line for the log, if the store itself hasn't reported anything.
    fn fetch(&self, now: u64, lifetime: u64) -> Result<Ring, Option<String>> {
        if self.store.is_down() {
            return Err(None);
        }
        self.store.find();
        for _ in 0..8 {
            let stored = self.store.get(&self.key, CALL).map_err(|_| None)?;
            let ring = self.open(stored.as_deref())?;
            let Some(next) = ring.renewed(now, lifetime) else { return Ok(ring) };
            let sealed = self.vault.seal_keys(&text::write(&next).0).ok_or(None)?;
            let lives = u32::try_from(lifetime + lifetime / 2).unwrap_or(u32::MAX);
            self.store.swap(&self.key, stored.as_deref(), &sealed, lives, CALL).map_err(|_| None)?;
        }
        Err(Some(self.complain("they change faster than they can be read")))
    }

    fn say(&mut self, wrong: Option<String>, report: &Report) {
        if let Some(line) = &wrong
            && self.wrong != wrong
        {
            report(Severity::Warn, line.clone());
        }
        self.wrong = wrong;
    }

    fn open(&self, stored: Option<&[u8]>) -> Result<Ring, Option<String>> {
        let Some(stored) = stored else { return Ok(Ring::default()) };
        let text = self.vault.open_keys(stored).map_err(|e| Some(self.complain(e)))?;
        text::read(&text).map_err(|e| Some(self.complain(&e)))
    }

    fn complain(&self, why: &str) -> String {
        let (key, store) = (&self.key, self.store.settings());
        format!(
            "the session ticket keys under `{key}` in {store} cannot be used: {why}; this server's own keys are used instead"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resumption::testing::{Said, said};

    fn key(name: u8, not_before: u64, not_after: u64) -> String {
        let (name, key) = (format!("{name:02x}").repeat(16), "ab".repeat(96));
        format!(
            "- {{name: {name}, cipher: a, hash: b, key: {key}, not_before: {not_before}, not_after: {not_after}}}\n"
        )
    }

    fn sealing(ring: &Ring, now: u64) -> Option<u8> {
        ring.sealing(now).map(|key| key.name[0])
    }

    #[test]
    fn a_file_is_read_again_when_it_changes_and_a_broken_one_leaves_the_keys() {
        let path = std::env::temp_dir().join(format!("hayami-tickets-{}", std::process::id()));
        std::fs::write(&path, key(1, 0, 100)).unwrap();
        let (mut source, ring) = Source::file(&path).unwrap();
        let Said { report, lines } = said();
        assert_eq!(sealing(&ring, 50), Some(1));
        assert!(source.refresh(&ring, 50, 3600, &report).is_none());

        std::fs::write(&path, key(1, 0, 100) + &key(2, 60, 200)).unwrap();
        let ring = source.refresh(&ring, 60, 3600, &report).unwrap();
        assert_eq!(sealing(&ring, 60), Some(2));
        std::fs::write(&path, "- broken").unwrap();
        assert!(source.refresh(&ring, 60, 3600, &report).is_none());
        assert!(source.refresh(&ring, 60, 3600, &report).is_none());
        std::fs::remove_file(&path).unwrap();
        assert!(source.refresh(&ring, 60, 3600, &report).is_none());
        assert!(source.refresh(&ring, 201, 3600, &report).is_none());

        let lines = lines.lock().unwrap().join("\n").replace(&path.display().to_string(), "FILE");
        assert_eq!(
            lines,
            "session ticket keys reloaded from FILE\n\
             FILE has no session ticket keys that can be used: it must be a list of mappings with `name`, `key`, …; the previous keys stay in use\n\
             cannot read session ticket keys from FILE: No such file or directory (os error 2); the previous keys stay in use\n\
             no key in FILE is valid now: no session tickets are issued until it has one"
        );
    }

    #[test]
    fn a_file_that_is_not_there_at_the_start_is_an_error() {
        let error = Source::file(Path::new("/nowhere/tickets.yaml")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read session ticket keys from /nowhere/tickets.yaml: "), "{error}");
    }
}
