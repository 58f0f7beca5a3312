//! All access logs of the process: opened once, written by dedicated threads.

use super::command::Command;
use super::loss::Loss;
use super::sink::{Sink, Writer};
use super::writer::{Outlet, Output};
use crate::config::settings::Settings;
use crate::modules::error_log::Target;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All access logs of the process.
#[derive(Debug, Default)]
pub struct Logs {
    /// Every target once, in the order of `sinks`.
    targets: Vec<Target>,
    /// In the same order, the identity of the open file: device and inode.
    files: Vec<Option<(u64, u64)>>,
    sinks: Vec<Sink>,
    wants_local_address: bool,
    wants_durations: bool,
}

impl Logs {
    /// Opens every file and starts every command, once each however often it is named. A reload keeps what the logs
    /// `before` have open: commands, and files that are still at their paths. To be called before the process drops its
    /// privileges.
    ///
    /// # Errors
    /// A log cannot be opened; one line for the user.
    pub fn open_all(settings: &Settings, before: Option<&Self>) -> Result<Self, String> {
        let mut logs = Self::default();
        let mut files = Vec::new();
        let mut opened = Vec::new();
        for log in settings.places().flat_map(|inherited| &inherited.get::<super::Settings>().logs) {
            logs.wants_local_address |= log.format.wants_local_address();
            logs.wants_durations |= log.format.wants_durations();
            if logs.index(&log.target).is_some() {
                continue;
            }
            logs.targets.push(log.target.clone());
            if let Some((sink, file)) = before.and_then(|before| before.running(&log.target)) {
                logs.files.push(file);
                opened.push(Opened::Running(sink));
                continue;
            }
            let outlet = open(&log.target)?;
            logs.files.push(identity(&outlet.output));
            opened.push(match outlet.output {
                Output::Command(_) => Opened::Running(Sink::alone(outlet)),
                _ => {
                    let loss = Arc::clone(&outlet.loss);
                    files.push(outlet);
                    Opened::File(files.len() - 1, loss)
                }
            });
        }
        let writer = Arc::new(Writer::new(files));
        logs.sinks = opened.into_iter().map(|opened| opened.sink(&writer)).collect();
        Ok(logs)
    }

    /// The sink of a log that is open, unless its file has been moved, and the file's identity.
    fn running(&self, target: &Target) -> Option<(Sink, Option<(u64, u64)>)> {
        let index = self.index(target).filter(|_| self.has_open(target))?;
        Some((self.sinks[index].clone(), self.files[index]))
    }

    /// Whether lines for `target` still go to the right place: its command runs, or its file has not been moved.
    pub fn has_open(&self, target: &Target) -> bool {
        let Some(index) = self.index(target) else { return false };
        match target {
            Target::Command(_) => true,
            Target::File(path) => {
                let now = std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
                now.is_some() && now == self.files[index]
            }
        }
    }

    /// The index of the log for `target`.
    pub(super) fn index(&self, target: &Target) -> Option<usize> {
        self.targets.iter().position(|own| own == target)
    }

    /// The sinks of all logs.
    pub(super) fn sinks(&self) -> &[Sink] {
        &self.sinks
    }

    /// Whether a format contains the local address of the connection.
    pub(super) fn want_local_address(&self) -> bool {
        self.wants_local_address
    }

    /// Whether a format contains a time that a request took.
    pub(super) fn want_durations(&self) -> bool {
        self.wants_durations
    }

    /// Writes all lines sent by the workers; to be called when the workers have ended. Gives up after `patience` on
    /// outputs that are blocked.
    pub fn close(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.sinks.iter().for_each(|sink| sink.stop(deadline));
        self.sinks.iter().for_each(|sink| sink.join(deadline));
    }
}

/// A log that is about to become one of [`Logs`].
enum Opened {
    /// It already has a writer.
    Running(Sink),
    /// The index among the files, which share a writer.
    File(usize, Arc<Loss>),
}

impl Opened {
    fn sink(self, files: &Arc<Writer>) -> Sink {
        match self {
            Self::Running(sink) => sink,
            Self::File(output, loss) => Sink::new(files, output, loss),
        }
    }
}

/// The targets of all logs, possibly with duplicates.
pub fn targets(settings: &Settings) -> impl Iterator<Item = &Target> {
    settings.places().flat_map(|inherited| &inherited.get::<super::Settings>().logs).map(|log| &log.target)
}

/// Device and inode of the open file.
fn identity(output: &Output) -> Option<(u64, u64)> {
    match output {
        Output::File(file) => file.metadata().ok().map(|found| (found.dev(), found.ino())),
        _ => None,
    }
}

fn open(target: &Target) -> Result<Outlet, String> {
    let output = match target {
        // O_APPEND: each write is appended as a whole, whatever other processes write (POSIX write()).
        Target::File(path) => {
            File::options().append(true).create(true).mode(0o644).open(path).map(Output::File)
        }
        Target::Command(command) => Command::start(command).map(Output::Command),
    };
    let output = output.map_err(|error| {
        format!("cannot open the access log {target}: {error}; its directory must exist and be writable")
    })?;
    Ok(Outlet { output, loss: Arc::new(Loss::new(target.to_string())), torn: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::load_text;
    use crate::modules::file::scratch::Scratch;

    fn settings(logs: &str) -> Arc<Settings> {
        let text = format!("listen: 80\naccess-log: {logs}\nhosts: {{a: {{paths: {{/: {{file.dir: /}}}}}}}}");
        load_text("test", &text).unwrap_or_else(|errors| panic!("{errors}")).settings
    }

    #[test]
    fn a_target_named_twice_is_opened_once() {
        let folder = Scratch::new();
        let log = folder.path("log").display().to_string();
        let settings = settings(&format!("[{log}, '| cat', {{path: {log}, format: '%A'}}, '| cat']"));
        let logs = Logs::open_all(&settings, None).unwrap();
        assert_eq!(logs.targets.len(), 2);
        assert!(logs.wants_local_address);
    }

    #[test]
    fn what_cannot_be_opened_is_told_with_the_reason() {
        let error = Logs::open_all(&settings("/nowhere/log"), None).unwrap_err();
        assert_eq!(
            error,
            "cannot open the access log /nowhere/log: No such file or directory (os error 2); \
             its directory must exist and be writable"
        );
    }
}
