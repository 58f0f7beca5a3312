//! The process beside an application of `fastcgi.spawn`: starts it, starts it again when it ends, and ends it with
//! all its children when the server is gone.
//!
//! Descriptor 0 is the socket on which the application takes connections; it is open all the time, so that
//! requests wait for an application that is being started again. Descriptor 1 is closed at the other end when the
//! server has ended.

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

/// The waits before an application is started again: the first one, and the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

/// Whoever lives so long did not fail at once.
const LONG: Duration = Duration::from_secs(10);

/// How long an application has for its end before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What happens.
enum News {
    /// The application has ended.
    Ended(std::io::Result<ExitStatus>),
    /// The server has.
    Over,
}

/// Supervises the application of these words: a user or nothing, and a command for the shell.
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
    let (tell, news) = mpsc::channel();
    let teller = tell.clone();
    std::thread::spawn(move || {
        wait_for_server();
        // Without a receiver everything is over.
        let _ = teller.send(News::Over);
    });
    run(command, &tell, &news);
    ExitCode::SUCCESS
}

/// Returns when the server has ended.
fn wait_for_server() {
    let Ok(socket) = std::io::stdout().as_fd().try_clone_to_owned() else { return };
    let mut socket = std::fs::File::from(socket);
    while matches!(socket.read(&mut [0; 64]), Ok(1..)) {}
}

/// Runs the command again and again until the server has ended.
fn run(command: &OsString, tell: &Sender<News>, news: &Receiver<News>) {
    let mut wait = FIRST;
    loop {
        let began = Instant::now();
        let why = match start(command, tell) {
            Err(error) => format!("cannot be started: {error}"),
            Ok(group) => {
                let Ok(News::Ended(status)) = news.recv() else { return end(group, news) };
                // Its children would go on without it.
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
        match news.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => wait = (wait * 2).min(LONGEST),
            _ => return,
        }
    }
}

/// Starts the command in a group of processes of its own.
fn start(command: &OsString, tell: &Sender<News>) -> std::io::Result<Pid> {
    let errors = std::io::stderr().as_fd().try_clone_to_owned()?;
    let mut child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .stdout(Stdio::from(errors))
        .process_group(0)
        .spawn()?;
    let group = Pid::from_child(&child);
    let tell = tell.clone();
    std::thread::spawn(move || {
        let status = child.wait();
        let _ = tell.send(News::Ended(status));
    });
    Ok(group)
}

/// Ends the application and its children: asks first.
fn end(group: Pid, news: &Receiver<News>) {
    let _ = kill_process_group(group, Signal::TERM);
    // Until the first one is gone, or time is up; then those who did not listen.
    let _ = news.recv_timeout(PATIENCE);
    let _ = kill_process_group(group, Signal::KILL);
}
