//! The supervisor process of an application of `fastcgi.spawn`: starts it, restarts it when it ends, and ends
//! it with all its children when the server has ended.
//!
//! Descriptor 0 is the socket on which the application accepts connections. It stays open, so that requests
//! wait while an application restarts. Descriptor 1 is closed at the other end when the server ends.

use crate::exit::Failure;
use crate::user;
use hayami_server::observe::{Severity, Subject, report};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The delays before a restart: the first one, and the maximum.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

/// An application that lives this long did not fail at once.
const LONG: Duration = Duration::from_secs(10);

/// How long an application may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// An event.
enum Event {
    /// The application has ended.
    Ended(std::io::Result<ExitStatus>),
    /// The server has.
    Over,
}

/// Supervises the application of these arguments: a user or nothing, and a command for the shell.
pub(crate) fn supervise(words: &[OsString]) -> ExitCode {
    let [user, command] = words else { return ExitCode::from(64) };
    if let Some(user) = user.to_str().filter(|user| !user.is_empty()) {
        let user = user::named(user);
        let user = user.map_err(|problem| problem.failure(|_, error| Failure::Config(error.message)));
        let become_it = user.and_then(|user| user::become_user(&user));
        if let Err(failure) = become_it {
            report(Severity::Error, Subject::Spawn, failure.reason());
            return ExitCode::FAILURE;
        }
    }
    let (sender, events) = mpsc::channel();
    let other_sender = sender.clone();
    std::thread::spawn(move || {
        wait_for_server();
        // Without a receiver the supervisor has ended.
        let _ = other_sender.send(Event::Over);
    });
    run(command, &sender, &events);
    ExitCode::SUCCESS
}

/// Returns when the server has ended.
fn wait_for_server() {
    let Ok(socket) = std::io::stdout().as_fd().try_clone_to_owned() else { return };
    let mut socket = std::fs::File::from(socket);
    while matches!(socket.read(&mut [0; 64]), Ok(1..)) {}
}

/// Runs the command again and again until the server has ended.
fn run(command: &OsString, sender: &Sender<Event>, events: &Receiver<Event>) {
    let mut wait = FIRST;
    loop {
        let began = Instant::now();
        let why = match start(command, sender) {
            Err(error) => format!("cannot be started: {error}"),
            Ok(group) => {
                let Ok(Event::Ended(status)) = events.recv() else { return end(group, events) };
                // Its children would continue without it.
                let _ = kill_process_group(group, Signal::TERM);
                status.map_or_else(|error| error.to_string(), |status| format!("ended ({status})"))
            }
        };
        if began.elapsed() >= LONG {
            wait = FIRST;
        }
        let (shown, seconds) = (command.to_string_lossy(), wait.as_secs_f32());
        let text = format_args!("`{shown}` {why}; it is restarted in {seconds} s");
        report(Severity::Error, Subject::Spawn, text);
        match events.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => wait = (wait * 2).min(LONGEST),
            _ => return,
        }
    }
}

/// Starts the command in its own process group.
fn start(command: &OsString, sender: &Sender<Event>) -> std::io::Result<Pid> {
    let errors = std::io::stderr().as_fd().try_clone_to_owned()?;
    let mut child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .stdout(Stdio::from(errors))
        .process_group(0)
        .spawn()?;
    let group = Pid::from_child(&child);
    let sender = sender.clone();
    std::thread::spawn(move || {
        let status = child.wait();
        let _ = sender.send(Event::Ended(status));
    });
    Ok(group)
}

/// Ends the application and its children: SIGTERM first.
fn end(group: Pid, events: &Receiver<Event>) {
    let _ = kill_process_group(group, Signal::TERM);
    // Wait for the first process or the timeout, then kill the rest.
    let _ = events.recv_timeout(PATIENCE);
    let _ = kill_process_group(group, Signal::KILL);
}
