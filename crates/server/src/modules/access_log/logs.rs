//! All access logs of the process: opened once, written by threads of their own.

use super::buffer::WorkerLogs;
use super::command::Command;
use super::loss::Loss;
use super::writer::{self, Message, Outlet, Output};
use crate::config::settings::{Inherited, Settings};
use crate::modules::error_log::Target;
use crate::worker::WorkerContext;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Buffers that wait for a writer at most; with 64 KiB each, a writer that hangs holds 8 MiB.
const QUEUE: usize = 128;

/// All access logs of the process.
#[derive(Debug, Default)]
pub struct Logs {
    /// Every target once, in the order of `sinks`.
    targets: Vec<Target>,
    /// Likewise, which file was opened: device and inode.
    files: Vec<Option<(u64, u64)>>,
    sinks: Vec<Sink>,
    wants_local_address: bool,
    wants_durations: bool,
}

/// The way to the writer of one log.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    writer: Arc<Writer>,
    /// Which of the writer's outputs.
    output: usize,
    loss: Arc<Loss>,
}

/// A thread that writes logs. It ends when it is told to, or when nothing can hand lines to it any more.
#[derive(Debug)]
struct Writer {
    queue: SyncSender<Message>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Opened. Threads start with the first worker, after the program has changed its user.
    Opened(Receiver<Message>, Vec<Outlet>),
    Running(JoinHandle<()>),
    Failed,
}

impl Logs {
    /// Opens every file and starts every command, once each however often it is named. What the logs `before`, which a reload
    /// replaces, have open goes on: commands, and files that are still at their paths. To be called before the program gives up
    /// its rights.
    ///
    /// # Errors
    /// One line for the user: what cannot be opened and why.
    pub fn open_all(settings: &Settings, before: Option<&Self>) -> Result<Self, String> {
        let mut logs = Self::default();
        let mut files = Vec::new();
        let (queue, receiver) = sync_channel(QUEUE);
        let mut opened = Vec::new();
        for log in places(settings).flat_map(|inherited| &inherited.access_log.logs) {
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
        let writer = Arc::new(Writer { queue, state: Mutex::new(State::Opened(receiver, files)) });
        logs.sinks = opened.into_iter().map(|opened| opened.sink(&writer)).collect();
        Ok(logs)
    }

    /// The way to a log that is open, unless its file has been moved away; and which file it is.
    fn running(&self, target: &Target) -> Option<(Sink, Option<(u64, u64)>)> {
        let index = self.index(target).filter(|_| self.has_open(target))?;
        Some((self.sinks[index].clone(), self.files[index]))
    }

    /// Whether lines for `target` go where it leads now: a command runs, a file has not been moved away.
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

    /// Which log `target` is.
    pub(super) fn index(&self, target: &Target) -> Option<usize> {
        self.targets.iter().position(|own| own == target)
    }

    /// One worker's side; within a worker's runtime, its timer is started too.
    pub fn worker(&self, worker: &WorkerContext) -> Rc<WorkerLogs> {
        let logs = Rc::new(WorkerLogs::new(Rc::clone(&worker.clock), &self.sinks, self.wants_local_address));
        if self.wants_durations {
            worker.clock.be_exact();
        }
        self.sinks.iter().for_each(|sink| sink.writer.start());
        if !self.sinks.is_empty() && tokio::runtime::Handle::try_current().is_ok() {
            tokio::task::spawn_local(logs.run());
        }
        logs
    }

    /// Writes out what the workers have handed over; to be called when they have ended. Gives up after
    /// `patience` on outputs that do not take it.
    pub fn close(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.sinks.iter().for_each(|sink| sink.writer.stop(deadline));
        self.sinks.iter().for_each(|sink| sink.writer.join(deadline));
        self.sinks.iter().for_each(|sink| sink.loss.abandon());
    }
}

/// A log on its way to be one of [`Logs`].
enum Opened {
    /// With a writer already.
    Running(Sink),
    /// One of the files that share a writer: which one.
    File(usize, Arc<Loss>),
}

impl Opened {
    fn sink(self, files: &Arc<Writer>) -> Sink {
        match self {
            Self::Running(sink) => sink,
            Self::File(output, loss) => Sink { writer: Arc::clone(files), output, loss },
        }
    }
}

/// The files and commands of all logs; one may be there several times.
pub fn targets(settings: &Settings) -> impl Iterator<Item = &Target> {
    places(settings).flat_map(|inherited| &inherited.access_log.logs).map(|log| &log.target)
}

/// Everywhere in a configuration where logs are named.
fn places(settings: &Settings) -> impl Iterator<Item = &Inherited> {
    settings.hosts.iter().flat_map(|host| {
        std::iter::once(&*host.inherited).chain(host.paths.iter().map(|path| &*path.inherited))
    })
}

/// Which file is open.
fn identity(output: &Output) -> Option<(u64, u64)> {
    match output {
        Output::File(file) => file.metadata().ok().map(|found| (found.dev(), found.ino())),
        _ => None,
    }
}

fn open(target: &Target) -> Result<Outlet, String> {
    let output = match target {
        // O_APPEND: each write goes to the end in one piece, whoever else writes (POSIX write()).
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

impl Sink {
    /// With a writer of its own.
    fn alone(outlet: Outlet) -> Self {
        let (queue, receiver) = sync_channel(QUEUE);
        let loss = Arc::clone(&outlet.loss);
        let state = Mutex::new(State::Opened(receiver, vec![outlet]));
        Self { writer: Arc::new(Writer { queue, state }), output: 0, loss }
    }

    /// Hands lines over, without waiting: what does not fit is lost and counted.
    pub(super) fn send(&self, lines: Vec<u8>) {
        if let Err(lines) = self.try_send(lines) {
            self.loss.add(&lines, "lines arrive faster than they can be written");
        }
    }

    /// Hands lines over, or gives them back if there is no room.
    pub(super) fn try_send(&self, lines: Vec<u8>) -> Result<(), Vec<u8>> {
        self.loss.hand_over(&lines);
        match self.writer.queue.try_send(Message::Lines { output: self.output, lines }) {
            Err(TrySendError::Full(Message::Lines { lines, .. }))
            | Err(TrySendError::Disconnected(Message::Lines { lines, .. })) => {
                self.loss.settle(&lines);
                Err(lines)
            }
            _ => Ok(()),
        }
    }
}

impl Writer {
    /// Starts the thread, unless it runs.
    fn start(&self) {
        let mut state = self.state();
        *state = match std::mem::replace(&mut *state, State::Failed) {
            State::Opened(queue, outlets) => {
                let thread = std::thread::Builder::new().name("access-log".to_owned());
                match thread.spawn(move || writer::run(&queue, outlets)) {
                    Ok(handle) => State::Running(handle),
                    // The queue is gone with the closure: lines are counted as lost.
                    Err(_) => State::Failed,
                }
            }
            other => other,
        };
    }

    fn stop(&self, deadline: Instant) {
        while let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Stop) {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn join(&self, deadline: Instant) {
        if let State::Running(handle) = &*self.state() {
            while !handle.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::load_text;
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

    #[test]
    fn a_full_queue_gives_lines_back_and_never_waits() {
        let (queue, receiver) = sync_channel(1);
        let loss = Arc::new(Loss::new("test".to_owned()));
        let writer = Arc::new(Writer { queue, state: Mutex::new(State::Failed) });
        let sink = Sink { writer, output: 0, loss };
        assert_eq!(sink.try_send(b"a\n".to_vec()), Ok(()));
        assert_eq!(sink.try_send(b"b\n".to_vec()), Err(b"b\n".to_vec()));
        sink.send(b"c\n".to_vec());
        drop(receiver);
        assert_eq!(sink.try_send(b"d\n".to_vec()), Err(b"d\n".to_vec()));
    }
}
