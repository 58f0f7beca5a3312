//! A reload: the configuration is read again, checked by the code of the start, and adopted by the running
//! workers.
//!
//! If anything is wrong, nothing changes. Properties of the process (its user, limits) change only with a
//! restart.

use crate::args::Args;
use crate::before::Before;
use crate::control::server::Client;
use crate::error_log::Console;
use crate::exit::Failure;
use crate::prepare::{Prepared, prepare};
use crate::sockets::Sockets;
use crate::workers::{self, Wanted, Workers};
use hayami_server::Generation;
use hayami_server::config::settings::Settings;
use hayami_server::modules::error_log::Destination;
use hayami_server::modules::fastcgi;
use hayami_server::modules::listen::Acceptors;
use hayami_server::modules::session_resumption;
use hayami_server::modules::{limits, process};
use hayami_server::observe::{Severity, Subject, report};
use std::sync::{Arc, Mutex, PoisonError};

/// The state of a running server, from which a reload starts.
pub(crate) struct Running {
    /// The command line.
    pub args: Args,
    /// The properties of the process, as it was started.
    pub fixed: Fixed,
    /// The generation to serve.
    pub generation: Arc<Generation>,
    /// The acceptors for TLS handshakes.
    pub acceptors: Acceptors,
    /// The bound sockets.
    pub sockets: Sockets,
    /// The user that the program became, if it was root.
    pub user: Option<String>,
}

/// Reloads for SIGHUP. A failure goes to the caller's standard error, too: under systemd this is the journal,
/// which `systemctl status` shows.
pub(crate) async fn by_signal(running: &mut Running, workers: &mut Workers, console: &Console) {
    if let (_, Err((_, errors))) = running.reload_and_report("SIGHUP", workers).await
        && console.is_apart()
    {
        console.say(&format!("hayami: SIGHUP: {KEPT}: {}", errors.join("\n")));
    }
}

/// Reloads for `hayami reload`, which gets the result.
pub(crate) async fn by_client(running: &mut Running, workers: &mut Workers, client: Client) {
    let (warnings, result) = running.reload_and_report("hayami reload", workers).await;
    client.answer(&warnings, &result).await;
}

const KEPT: &str = "the configuration was not reloaded, the old one stays";

/// The result of a reload: a summary, or the exit code of the same failure at a start, and the errors, a line
/// each.
type Outcome = Result<String, (u8, Vec<String>)>;

/// The non-empty lines of a text.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.trim_start_matches("hayami: ")).filter(|line| !line.trim().is_empty())
}

impl Running {
    /// Reloads, and writes the result to the error log. Returns the warnings and the result.
    async fn reload_and_report(&mut self, cause: &str, workers: &mut Workers) -> (Vec<String>, Outcome) {
        let warnings: Mutex<Vec<String>> = Mutex::default();
        let warn = |text: &str| {
            lines(text).for_each(|line| report(Severity::Warn, Subject::Server, line));
            let own = text.lines().map(str::to_owned);
            warnings.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
        };
        let result = self.reload(workers, &warn).await;
        let outcome = match result {
            Ok(summary) => {
                report(Severity::Notice, Subject::Server, format_args!("{cause}: {summary}"));
                Ok(summary)
            }
            Err(failure) => {
                report(Severity::Error, Subject::Server, format_args!("{cause}: {KEPT}"));
                let reason = self.advise(&failure.to_string());
                lines(&reason).for_each(|line| report(Severity::Error, Subject::Server, line));
                Err((failure.code(), reason.lines().map(str::to_owned).collect()))
            }
        };
        (warnings.into_inner().unwrap_or_else(PoisonError::into_inner), outcome)
    }

    /// Applies the configuration as it is written now. Returns a summary in a line.
    ///
    /// # Errors
    /// It is invalid; then nothing has changed.
    async fn reload(
        &mut self,
        workers: &mut Workers,
        warn: &(dyn Fn(&str) + Sync),
    ) -> Result<String, Failure> {
        let old = Arc::clone(self.generation.settings());
        let before =
            Before { acceptors: &self.acceptors, generation: &self.generation, sockets: &self.sockets };
        // On a separate thread, which like the start has no running loop: nothing that is built for a check
        // may start working.
        let prepared = std::thread::scope(|scope| {
            let thread = scope.spawn(|| prepare(&self.args, Some(&before), warn));
            thread
                .join()
                .unwrap_or_else(|_| Err(Failure::System("a check of the reload panicked".to_owned())))
        });
        let Prepared { mut generation, mut acceptors, sockets: wanted, cpus, .. } = prepared?;
        let settings = Arc::clone(generation.settings());
        for directive in changed(&self.fixed, &fixed(&settings)) {
            warn(&format!("`{directive}` has changed: the change takes effect after a restart\n"));
        }
        for endpoint in self.sockets.outdated(&wanted) {
            warn(&format!(
                "the socket options of {endpoint} have changed: they take effect after a restart\n"
            ));
        }
        for spawn in fastcgi::not_running(&old, &settings) {
            let command = &spawn.command;
            warn(&format!(
                "the application `{command}` of `fastcgi.spawn` is not used any more: it runs until a restart\n"
            ));
        }
        // Addresses last: clients that connect to one must not be reset because a log cannot be opened.
        generation.follow(&self.generation).map_err(Failure::CannotCreate)?;
        let sockets = self.sockets.next(&wanted, cpus.len())?;
        generation.assign_listeners(sockets.listeners());
        acceptors.start(settings.global.get::<session_resumption::OcspUpdaters>().0, &workers::report());
        let generation = Arc::new(generation);
        let wanted =
            Wanted { generation: &generation, sockets: &sockets, acceptors: &acceptors, cpus: &cpus };
        let change = workers.prepare(wanted).await.inspect_err(|_| {
            sockets.remove_files_unless_of(&self.sockets);
        })?;
        self.sockets.remove_files_unless_of(&sockets);
        // A queue that the workers close must not stay open here: its connections would be lost.
        (self.generation, self.acceptors, self.sockets) = (generation, acceptors, sockets);
        self.sockets.listen();
        let updated = workers.complete(change).await;
        if let Err(error) = updated {
            let advice = "raise the limit fs.epoll.max_user_watches and restart the server";
            warn(&format!("a new address is not served: {error}; {advice}\n"));
        }
        let (hosts, listeners) = (settings.hosts.len(), self.sockets.bound().len());
        Ok(format!("configuration reloaded: hosts {hosts}, addresses {listeners}"))
    }

    /// What root could do at the start, the server's user may be unable to do now.
    fn advise(&self, reason: &str) -> String {
        match &self.user {
            Some(user) if reason.contains("cannot listen") && reason.contains("ermission denied") => {
                format!("{reason} (the server runs as `{user}` now: restart it to bind this port)")
            }
            Some(user) if reason.contains("ermission denied") => {
                format!(
                    "{reason} (the server runs as `{user}` now: this user must be able to read the file, or restart the \
                     server)"
                )
            }
            _ => reason.to_owned(),
        }
    }
}

/// Directives whose changes need a restart, since they are properties of the process, with their values.
pub(crate) type Fixed = [(&'static str, String); 9];

/// The values of these directives.
pub(crate) fn fixed(settings: &Settings) -> Fixed {
    let limits = settings.global.get::<limits::Settings>();
    let process = settings.global.get::<process::Settings>();
    [
        ("user", format!("{:?}", process.user)),
        ("pid-file", format!("{:?}", process.pid_file)),
        ("error-log", format!("{:?}", settings.global.get::<Destination>())),
        ("num-name-resolution-threads", format!("{:?}", process.name_resolution_threads)),
        ("max-connections", format!("{:?}", limits.max_connections)),
        ("soft-connection-limit", format!("{:?}", limits.soft_connection_limit)),
        ("soft-connection-limit.min-age", format!("{:?}", limits.soft_connection_min_age)),
        ("limit-request-memory", format!("{:?}", limits.request_memory)),
        ("limit-request-spool", format!("{:?}", limits.request_spool)),
    ]
}

/// The directives that are not as they were.
fn changed(before: &Fixed, now: &Fixed) -> impl Iterator<Item = &'static str> {
    before.iter().zip(now).filter_map(|(before, now)| (before != now).then_some(before.0))
}
