//! What workers are made of, built and checked before any of them is started or switched.

use crate::before::Before;
use crate::exit::Failure;
use crate::explain::{CONFIG, Explain};
use hayami_net::Clock;
use hayami_server::Generation;
use hayami_server::config::settings::Settings;
use hayami_server::modules::listen::{Acceptors, bindings};
use hayami_server::modules::process::Threads;
use hayami_server::modules::session_resumption;
use hayami_server::observe::{self, Severity, Subject};
use hayami_server::router;
use hayami_server::service::objects;
use hayami_tls::Resumption;
use hayami_tls::resumption::Report;
use std::rc::Rc;
use std::sync::Arc;

/// The CPU of each worker: their number is that of the workers.
pub(crate) fn cpus(threads: &Threads) -> Vec<Option<usize>> {
    match threads {
        // Affinity mask and cgroup quota both count.
        Threads::Usable => vec![None; std::thread::available_parallelism().map_or(1, usize::from)],
        Threads::Number(number) => vec![None; *number],
        Threads::Cpus(cpus) => cpus.iter().map(|cpu| Some(*cpu)).collect(),
    }
}

/// The generation of these settings, checked: build errors show before anything is bound.
///
/// # Errors
/// [`Failure::Config`] with the reason.
pub(crate) fn generation(settings: &Arc<Settings>) -> Result<Generation, Failure> {
    let check = |generation: Generation| {
        let worker = objects::first(&generation, &Rc::new(Clock::default()), None, 1);
        router::check(&generation, &worker).map(|()| generation)
    };
    Generation::new(Arc::clone(settings)).and_then(check).map_err(Failure::Config)
}

/// The acceptors of the addresses with TLS: all files are read here, and no thread is started. After a
/// reload, sessions and fetched OCSP responses of `before` are kept where possible.
///
/// # Errors
/// A file cannot be used.
pub(crate) fn acceptors(
    settings: &Settings,
    before: Option<&Before<'_>>,
    explain: &Explain<'_>,
) -> Result<Acceptors, Failure> {
    let wanted = settings.global.get::<session_resumption::Settings>();
    let same = before.filter(|old| {
        speaks_tls(old.settings()) && *old.settings().global.get::<session_resumption::Settings>() == *wanted
    });
    let resumption = match same {
        Some(before) => before.acceptors.resumption(),
        // Without TLS there is no resumption, and no keys are needed.
        None if !speaks_tls(settings) => Resumption::off(),
        None => Resumption::new(wanted, report())
            .map_err(|error| Failure::Config(format!("ssl-session-resumption: {error}")))?,
    };
    let before = before.map(|before| before.acceptors);
    Acceptors::new(settings, resumption, before).map_err(|error| explain.failure(CONFIG, error))
}

fn speaks_tls(settings: &Settings) -> bool {
    bindings(settings).iter().any(|binding| !binding.blocks.is_empty())
}

/// Receives the reports of TLS threads.
pub(crate) fn report() -> Report {
    Arc::new(|severity, line| {
        let severity = match severity {
            hayami_tls::resumption::Severity::Warn => Severity::Warn,
            hayami_tls::resumption::Severity::Notice => Severity::Notice,
        };
        observe::report(severity, Subject::Tls, line);
    })
}
