//! All checks before anything is bound or opened, or privileges are dropped: all of `-t`, and the first half
//! of a start. Only binding can show that an address is in use; that is left to the start.

use crate::access::{check_creatable, check_own_file, check_writable};
use crate::args::Args;
use crate::before::Before;
use crate::descriptors::{self, OpenFiles};
use crate::dev_tls::DevTls;
use crate::exit::{Failure, Failures};
use crate::explain::{CANNOT_CREATE, CONFIG, Explain, SYSTEM};
use crate::{reach, site, sockets, user, workers};
use hayami_server::Generation;
use hayami_server::config::load::Loaded;
use hayami_server::config::settings::GlobalSettings;
use hayami_server::config::settings::Settings;
use hayami_server::modules::error_log::{Destination, Target};
use hayami_server::modules::limits;
use hayami_server::modules::listen::Acceptors;
use hayami_server::modules::{access_log, fastcgi, process};
use nix::unistd::User;
use std::io::IsTerminal;

/// The result, with which a start continues.
pub(crate) struct Prepared {
    /// The configuration.
    pub loaded: Loaded,
    /// The generation to serve.
    pub generation: Generation,
    /// The certificate that was made for it.
    pub dev_tls: Option<DevTls>,
    /// The acceptors for TLS handshakes.
    pub acceptors: Acceptors,
    /// The user to become.
    pub user: Option<User>,
    /// The sockets to bind.
    pub sockets: Vec<sockets::Wanted>,
    /// The limit of open files.
    pub files: OpenFiles,
    /// Connections at once.
    pub connections: usize,
    /// The CPU of each worker.
    pub cpus: Vec<Option<usize>>,
}

/// Reads the configuration and checks it; `warn` gets the warnings as they are found, rendered. A reload
/// continues from the current state, `before`.
///
/// # Errors
/// The failures of a start.
pub(crate) fn prepare(
    args: &Args,
    before: Option<&Before<'_>>,
    warn: &(dyn Fn(&str) + Sync),
) -> Result<Prepared, Failure> {
    // The terminal at which the server was started is not the one at which it is reloaded.
    let styled = before.is_none() && std::io::stderr().is_terminal();
    let site::Site { loaded, dev_tls } = site::load(args, styled, warn)?;
    let explain = Explain::new(args, &loaded, styled, warn);
    let settings = &loaded.settings;
    let process = settings.global.get::<process::Settings>();
    let user = match before {
        None => user::find(process.user.as_deref()),
        // The process cannot change its user again; another user takes effect after a restart.
        Some(_) => process.user.as_deref().map_or(Ok(None), |name| user::named(name).map(|_| None)),
    };
    let mut failures = Failures::default();
    let user = failures.note(user.map_err(|problem| explain.user("user", problem)));
    let generation = failures.note(workers::generation(settings));
    // Keys may be readable by root only.
    let acceptors = failures.note(workers::acceptors(settings, before, &explain));
    let cpus = workers::cpus(&process.threads);
    failures.note(check_cpus(&cpus, &explain));
    failures.note(match before {
        None => check_applications(settings, &explain),
        Some(before) => check_running(settings, before, &explain),
    });
    failures.note(check_files(settings, before, &explain));
    let sockets = failures.note(sockets::wanted(settings, before.map(|before| before.sockets), &explain));
    if let Some(user) = &user {
        // That user may not reach everything that root can.
        failures.note(reach::check(settings, user.as_ref(), dev_tls.is_some(), &explain));
    }
    let built = user.zip(generation).zip(acceptors.zip(sockets));
    let ((user, generation), (acceptors, sockets)) = failures.conclude(built)?;
    let files = descriptors::raise();
    let connections = connections(settings, files, warn);
    Ok(Prepared { generation, acceptors, user, sockets, files, connections, cpus, dev_tls, loaded })
}

/// The applications of `fastcgi.spawn`, which a reload does not start: the server may not change its user any more.
fn check_running(settings: &Settings, before: &Before<'_>, explain: &Explain<'_>) -> Result<(), Failure> {
    let errors: Vec<_> = fastcgi::not_running(settings, before.settings())
        .map(|spawn| {
            let message = format!("a reload cannot start the application `{}`", spawn.command);
            explain.at("fastcgi.spawn", &spawn.command, message).help("restart the server to start it")
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(explain.failures(CONFIG, &errors)) }
}

fn check_cpus(cpus: &[Option<usize>], explain: &Explain<'_>) -> Result<(), Failure> {
    for cpu in cpus.iter().flatten() {
        hayami_net::run::check_cpu(*cpu).map_err(|error| {
            explain.failure(SYSTEM, explain.at("num-threads", &cpu.to_string(), error.to_string()))
        })?;
    }
    Ok(())
}

/// Those of `fastcgi.spawn`: their users, and the directory for their sockets.
fn check_applications(settings: &Settings, explain: &Explain<'_>) -> Result<(), Failure> {
    for spawn in fastcgi::spawned(settings) {
        if let Some(name) = &spawn.user {
            user::within_reach(name).map_err(|problem| explain.user("fastcgi.spawn", problem))?;
        }
        let directory = std::env::temp_dir();
        if let Err(trouble) = check_creatable(&directory.join("hayami-fastcgi")) {
            let message = format!("fastcgi.spawn needs the directory for temporary files: {}", trouble.fault);
            let error = explain.at("fastcgi.spawn", &spawn.command, message);
            return Err(
                explain.failure(SYSTEM, error.help("set TMPDIR to a directory that can be written to"))
            );
        }
    }
    Ok(())
}

/// Logs and the pid file; after a reload, access logs that are not open yet.
fn check_files(
    settings: &Settings,
    before: Option<&Before<'_>>,
    explain: &Explain<'_>,
) -> Result<(), Failure> {
    // The error log and the pid file do not change.
    let unchanged = GlobalSettings::default();
    let global = if before.is_some() { &unchanged } else { &settings.global };
    let is_new = |target: &&Target| !before.is_some_and(|before| before.generation.logs().has_open(target));
    let logs = access_log::targets(settings).filter(is_new).filter_map(Target::file);
    let logs = logs.map(|path| ("access-log", path));
    let log = global.get::<Destination>().0.iter().filter_map(Target::file).map(|path| ("error-log", path));
    let pid = global.get::<process::Settings>().pid_file.iter().map(|path| ("pid-file", path.as_path()));
    // A log may be a link: to another disk, or to /dev/stdout.
    let logs = logs.chain(log).map(|(directive, path)| (directive, path, check_writable(path)));
    let pid = pid.map(|(directive, path)| (directive, path, check_own_file(path)));
    let mut errors = Vec::new();
    for (directive, path, checked) in logs.chain(pid) {
        if let Err(trouble) = checked {
            let message = format!("cannot write the {directive} {}: {}", path.display(), trouble.fault);
            let error = explain.at_path(directive, path, message).help(trouble.remedy);
            // Several places may name the same log.
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(explain.failures(CANNOT_CREATE, &errors)) }
}

/// `max-connections`, or as many as the open-files limit has room for. A client whose requests are passed on
/// needs a second connection.
fn connections(settings: &Settings, files: OpenFiles, warn: &(dyn Fn(&str) + Sync)) -> usize {
    let each = if settings.connect() { 2 } else { 1 };
    let room = usize::try_from(files.connections() / each).unwrap_or(usize::MAX);
    match settings.global.get::<limits::Settings>().max_connections {
        Some(wanted) if wanted > room => {
            let files = files.now;
            warn(&format!(
                "hayami: warning: max-connections {wanted} is reduced to {room}: the limit of open files is {files}\n"
            ));
            room
        }
        Some(wanted) => wanted,
        None => room,
    }
}
