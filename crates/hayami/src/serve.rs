//! Runs the server that `prepare` has checked, until it exits.
//!
//! The order matters: sockets, logs and the pid file need the privileges that the program then drops.

use crate::args::Args;
use crate::banner::{self, Facts};
use crate::control::server::{Control, ControlSocket};
use crate::error_log::Console;
use crate::exit::Failure;
use crate::pid_file::PidFile;
use crate::prepare::{Prepared, prepare};
use crate::reload::{self, Running};
use crate::signals::{SignalCommand, Signals};
use crate::sockets::Sockets;
use crate::workers::{self, Budgets, Wanted, Workers};
use crate::{error_log, spawner, user};
use hayami_net::{ByteBudget, Phase, Quota, blocking};
use hayami_server::config::settings::Settings;
use hayami_server::modules::access_log;
use hayami_server::modules::error_log::Destination;
use hayami_server::modules::limits;
use hayami_server::modules::process;
use hayami_server::modules::session_resumption;
use hayami_server::modules::upstreams::{Spool, Uploads};
use hayami_server::observe::{Severity, Subject, report};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::watch;

/// How long shutdown waits for a disk or a command to accept the last log lines.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves until a signal ends it.
///
/// # Errors
/// Why it could not start, or ended.
pub(crate) fn serve(args: &Args) -> Result<(), Failure> {
    let Prepared { mut generation, dev_tls, mut acceptors, user, sockets, files, connections, cpus, .. } =
        prepare(args, None, &|warnings| eprint!("{warnings}"))?;
    let settings = Arc::clone(generation.settings());
    let process = settings.global.get::<process::Settings>();
    let sockets = Sockets::default().next(&sockets, cpus.len())?;
    generation.assign_listeners(sockets.listeners());
    generation.open_logs().map_err(Failure::CannotCreate)?;
    let pid_file = process.pid_file.as_deref().map(PidFile::write).transpose()?;
    let console = Console::redirect(settings.global.get::<Destination>().0.as_ref())?;
    error_log::catch_panics();
    let control = control_socket(user.as_ref());
    let applications = spawner::start(&settings, user.as_ref()).map_err(|why| console.fail(why))?;
    if let Some(user) = &user {
        user::become_user(user).map_err(|why| console.fail(why))?;
    }
    // Threads started earlier would keep their rights.
    acceptors.start(settings.global.get::<session_resumption::OcspUpdaters>().0, &workers::report());
    let what = args.conf.as_ref().unwrap_or(&args.dir).display().to_string();
    let (bound, dev_tls) = (sockets.bound(), dev_tls.as_ref());
    let control_path = control.as_ref().map(ControlSocket::path);
    let facts =
        Facts { what, bound, workers: cpus.len(), files, connections, control: control_path, dev_tls };
    let ready = Ready { banner: banner::text(&facts), line: banner::line(&facts), console };
    let limits = settings.global.get::<limits::Settings>();
    let content = Arc::new(ByteBudget::new(limits.request_memory));
    let quota = Arc::new(Quota::new(connections, soft_limit(&settings)));
    let spool = Arc::new(Spool::new(limits.request_spool));
    generation.open_upstreams(Uploads { memory: Arc::clone(&content), spool });
    let generation = Arc::new(generation);
    let budgets = Budgets { quota, content };
    blocking::set_name_threads(process.name_resolution_threads);
    blocking::set_password_threads();
    let user = user.map(|user| user.name);
    let fixed = reload::fixed(generation.settings());
    let mut running = Running { args: args.clone(), fixed, generation, acceptors, sockets, user };
    let result = serve_by(budgets, &cpus, (&mut running, control.as_ref()), ready);
    drop(control);
    drop(applications);
    let deadline = Instant::now() + PATIENCE;
    running.generation.logs().close(PATIENCE);
    access_log::wait_for_writers(deadline.saturating_duration_since(Instant::now()));
    for file in running.sockets.files() {
        // Without the rights of the start it may be impossible to remove; the next start replaces it.
        let _ = std::fs::remove_file(file);
    }
    drop(pid_file);
    result
}

/// The messages for the moment when all workers serve.
struct Ready {
    /// For the caller.
    banner: String,
    /// For the error log, if that is separate.
    line: String,
    console: Console,
}

impl Ready {
    /// Prints them. From now on the server writes to the error log, and to the caller only the failures of a
    /// reload.
    fn say(self) -> Console {
        self.console.say(&self.banner);
        if self.console.is_apart() {
            report(Severity::Notice, Subject::Server, self.line);
        }
        self.console
    }
}

/// The state that a reload starts from, and the control socket.
type Reloads<'a> = (&'a mut Running, Option<&'a ControlSocket>);

/// Runs the workers until their end.
fn serve_by(
    budgets: Budgets,
    cpus: &[Option<usize>],
    running: Reloads<'_>,
    ready: Ready,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        ready.console.fail(Failure::System(format!("cannot start the main loop: {error}")))
    })?;
    runtime.block_on(run(budgets, cpus, running, ready))
}

/// Starts the workers, and waits for their end.
async fn run(
    budgets: Budgets,
    cpus: &[Option<usize>],
    (running, control): Reloads<'_>,
    ready: Ready,
) -> Result<(), Failure> {
    let (phase, phases) = watch::channel(Phase::Run);
    let (sender, mut ended) = mpsc::unbounded_channel();
    let quota = Arc::clone(&budgets.quota);
    let mut workers = Workers::new(budgets, phases, sender);
    let mut signals = Signals::listen().map_err(|why| ready.console.fail(why))?;
    let control = control.map_or_else(|| Ok(Control::none()), ControlSocket::listen);
    let mut control = control.map_err(|why| ready.console.fail(why))?;
    let started = start(&mut workers, running, cpus).await;
    started.map_err(|why| ready.console.fail(why))?;
    let console = ready.say();
    tokio::select! {
        signal = serve_until_signaled((&mut signals, &mut control), running, &mut workers, &console) => {
            say(Severity::Notice, format_args!("{signal}: no longer accepting connections, finishing open requests"));
        }
        _ = ended.recv() => {}
    }
    let first = Instant::now();
    // The workers close the accept queues when they are empty.
    running.sockets.release();
    // Without receivers all workers have ended already.
    let _ = phase.send(Phase::Drain);
    let threads = workers.into_threads();
    tokio::select! {
        signal = signals.again(first) => {
            let open = quota.live();
            let plural = if open == 1 { "" } else { "s" };
            say(Severity::Warn, format_args!("{signal} again: {open} connection{plural} cut off"));
            running.generation.logs().close(PATIENCE / 5);
            std::process::exit(0);
        }
        () = all_ended(&mut ended) => {}
    }
    threads.into_iter().try_for_each(workers::outcome).map_err(|failure| {
        say(Severity::Crit, failure.reason());
        Failure::Logged(failure.code())
    })
}

fn say(severity: Severity, text: impl std::fmt::Display) {
    report(severity, Subject::Server, text);
}

/// Starts the first workers.
async fn start(workers: &mut Workers, running: &Running, cpus: &[Option<usize>]) -> Result<(), Failure> {
    let Running { generation, sockets, acceptors, .. } = running;
    let change = workers.prepare(Wanted { generation, sockets, acceptors, cpus }).await?;
    workers.complete(change).await.map_err(|error| Failure::System(error.to_string()))
}

/// Handles signals and clients of the control socket, until a signal requests the end; returns its name.
async fn serve_until_signaled(
    (signals, control): (&mut Signals, &mut Control),
    running: &mut Running,
    workers: &mut Workers,
    console: &Console,
) -> &'static str {
    loop {
        tokio::select! {
            wish = signals.next() => match wish {
                SignalCommand::End(name) => return name,
                SignalCommand::Reload => reload::by_signal(running, workers, console).await,
            },
            client = control.next() => reload::by_client(running, workers, client).await,
        }
    }
}

/// The control socket, if it can be created: a server works without one.
fn control_socket(user: Option<&nix::unistd::User>) -> Option<ControlSocket> {
    ControlSocket::bind(user).inspect_err(|why| say(Severity::Warn, why)).ok()
}

/// All workers have ended, or are about to: no sender is left.
async fn all_ended(ended: &mut UnboundedReceiver<()>) {
    while ended.recv().await.is_some() {}
}

fn soft_limit(settings: &Settings) -> Option<(usize, Duration)> {
    let limits = settings.global.get::<limits::Settings>();
    limits.soft_connection_limit.map(|limit| (limit, limits.soft_connection_min_age))
}
