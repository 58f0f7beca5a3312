//! `hayami bench`: generate load, measure, compare, report.
//!
//! ```text
//! args ─▶ plan (files, names, defaults) ─▶ limits raised ─▶ runs, interleaved ─▶ warnings ─▶ reports
//!                                             stop: Ctrl-C ──▲   └ meter: the server's cost
//! ```
//!
//! `hayami-load` generates the load and counts.

mod args;
mod meter;
mod output;
mod plan;
mod reach;
mod stop;

use crate::exit::{self, Failure};
use args::{Args, Command};
use hayami_load::report::{About, Machine, Report, live};
use hayami_load::server::{Server, Unknown, is_local};
use hayami_load::{Control, Ended, Outcome, Phase, Plan, limits, report, warnings};
use meter::Meter;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use stop::Stop;

/// No response was successful, the server died, or a check failed.
const WRONG: u8 = 1;

/// Runs `hayami bench` with its arguments; returns the process's exit code.
pub(crate) fn bench(words: &[OsString]) -> ExitCode {
    match run(words) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("{}", wrapped(&failure.to_string(), &std::io::stderr()));
            ExitCode::from(failure.code())
        }
    }
}

fn run(words: &[OsString]) -> Result<u8, Failure> {
    let (args, command) = match args::parse(words)? {
        Command::Help(text) => return exit::print(&text).map(|()| 0),
        Command::Bench(args, command) => (args, command),
    };
    if words.iter().any(|word| word.to_string_lossy().starts_with("--like")) {
        eprintln!("{}", report::shell(&command));
    }
    let plan = plan::plan(&args)?;
    output::check(&args)?;
    let before = before(&plan)?;
    let servers = servers(&args, &plan)?;
    let stop = Stop::listen()?;
    let outcomes = rounds(&args, &plan, &servers, &stop)?;
    let about = about(command);
    let warnings = [before, warnings::warnings(&plan, &outcomes)].concat();
    let report = Report { plan: &plan, outcomes: &outcomes, warnings: &warnings, about: &about };
    if !output::takes_stdout(&args) {
        exit::print(&wrapped(&report::text(&report), &std::io::stdout()))?;
    }
    output::write(&args, &report)?;
    Ok(code(&args, &outcomes))
}

/// The text wrapped at words, if the output is a terminal.
fn wrapped(text: &str, output: &(impl IsTerminal + AsFd)) -> String {
    match live::screen(output) {
        Some(screen) => report::wrap(text, screen.columns),
        None => text.to_owned(),
    }
}

/// A line on standard error.
fn eprint_line(text: &str) {
    eprintln!("{}", wrapped(&format!("hayami: {text}"), &std::io::stderr()));
}

fn about(command: Vec<String>) -> About {
    About { program: format!("hayami {}", env!("CARGO_PKG_VERSION")), command, machine: Machine::look() }
}

/// Checks before the run: warnings, and limits that make it impossible.
fn before(plan: &Plan) -> Result<Vec<String>, Failure> {
    let limit = limits::raise_files(limits::files_needed(plan));
    if let Some(text) = limits::files_short(plan, limit) {
        return Err(Failure::System(text));
    }
    let warnings: Vec<_> = limits::ports_short(plan, limits::ports()).into_iter().collect();
    warnings.iter().for_each(|text| eprint_line(text));
    Ok(warnings)
}

/// The servers' processes, if they are visible.
fn servers(args: &Args, plan: &Plan) -> Result<Vec<Option<Server>>, Failure> {
    let find = |(index, target): (usize, &hayami_load::Target)| {
        let found = match args.server_pid.get(index) {
            Some(&pid) => Server::of(pid),
            None => Server::find(&target.address),
        };
        match found {
            Ok(server) => Ok(Some(server)),
            Err(Unknown::Remote) => Ok(None),
            Err(Unknown::Hidden) => {
                eprint_line(&format!(
                    "{}: the server's processes cannot be read, so its CPU time and memory are not measured; run \
                     as root, or name one with --server-pid",
                    target.name
                ));
                Ok(None)
            }
            Err(Unknown::NoProcess(pid)) => {
                Err(Failure::Usage(format!("--server-pid {pid}: no such process")))
            }
        }
    };
    plan.targets.iter().enumerate().map(find).collect()
}

/// Measures all targets in turn, round after round, until done or interrupted.
fn rounds(
    args: &Args,
    plan: &Plan,
    servers: &[Option<Server>],
    stop: &Stop,
) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::new();
    for round in 0..plan.rounds {
        for turn in 0..servers.len() {
            // Each round begins with another target, so that none always runs after the same neighbour.
            let index = (round + turn) % servers.len();
            if stop.is_requested() {
                return Ok(outcomes);
            }
            let name = name(plan, index, round);
            outcomes.push(one(args, plan, index, &name, servers[index].clone(), stop)?);
        }
    }
    Ok(outcomes)
}

/// The target's name, with the round if there are several.
fn name(plan: &Plan, index: usize, round: usize) -> String {
    let name = &plan.targets[index].name;
    match plan.rounds {
        1 => name.clone(),
        rounds => format!("{name} (round {} of {rounds})", round + 1),
    }
}

fn one(
    args: &Args,
    plan: &Plan,
    index: usize,
    name: &str,
    server: Option<Server>,
    stop: &Stop,
) -> Result<Outcome, Failure> {
    let meter = Arc::new(Meter::new(server));
    let hook = meter.clone();
    let control = Arc::new(Control::new(Some(Box::new(move |phase| hook.enter(phase)))));
    stop.attach(&control);
    let outcome = std::thread::scope(|scope| {
        if !args.quiet {
            scope.spawn(|| live::watch(&control, plan, name));
        }
        let memory = scope.spawn(|| meter.watch(&control));
        let outcome = hayami_load::run(plan, index, &control);
        // A failed run has not reported its end, for which the watchers wait.
        if control.phase() != Phase::Done {
            control.enter(Phase::Done);
        }
        memory.thread().unpark();
        outcome
    });
    let outcome = outcome.map_err(|error| Failure::System(error.to_string()))?;
    // The CPU use of a local server whose processes are not visible would count as that of other programs.
    let known = meter.cost().is_some() || !is_local(&plan.targets[index].address);
    Ok(Outcome { server: meter.cost(), room: meter.room().filter(|_| known), ..outcome })
}

fn code(args: &Args, outcomes: &[Outcome]) -> u8 {
    let checked = args.expect_status.is_some() || args.expect_body.is_some() || args.expect_length.is_some();
    let wrong = |outcome: &Outcome| {
        outcome.tally.successes() == 0
            || outcome.death.is_some()
            || (checked && outcome.tally.errors.status + outcome.tally.errors.content > 0)
    };
    if outcomes.is_empty() || outcomes.iter().any(|outcome| outcome.ended == Ended::Interrupted) {
        return stop::STOPPED;
    }
    if outcomes.iter().any(wrong) { WRONG } else { 0 }
}
