//! Races hayami against other servers and the bare-loop limits, all on this machine: see README.md.
//!
//! `options` selects what to run; `compile` builds hayami; for each workload in `workload`, `race` (`load`),
//! `idle` (memory), `calls` (strace), `flood` (scenario S2 B), `pooling` or `download` starts the `servers`
//! with their upstreams (`backend`) and measures them in turn with `hayami bench` (`generator`); `targets`
//! judges, `report` writes. `crosscheck` compares `hayami bench` with wrk, h2load and ab; `scenarios` writes
//! docs/benchmarks.md, `picture` draws the plot of README.md, `rest_api` measures examples/rest-api and
//! writes docs/rest-api.md. `guard` ensures that nothing is left behind.

mod backend;
mod calls;
mod compile;
mod cost;
mod crosscheck;
mod documents;
mod download;
mod figure;
mod flood;
mod generator;
mod guard;
mod idle;
mod load;
mod machine;
mod options;
mod outcome;
mod picture;
mod pin;
mod pooling;
mod process;
mod race;
mod report;
mod rest_api;
mod scenarios;
mod servers;
mod statistics;
mod table;
mod targets;
mod tls;
mod workload;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::guard::Guard;
use crate::machine::Machine;
use crate::options::Options;
use crate::race::{Setup, Table};
use crate::report::Report;
use crate::servers::Server;
use crate::tls::Identity;
use crate::workload::{Group, Kind, Workload};

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(folder) = &options.guard {
        guard::stand(folder);
        return ExitCode::SUCCESS;
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hayami-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a whole race. Missed targets are results, not errors.
fn run(options: &Options) -> Result<(), String> {
    if options.page {
        return scenarios::write(&root());
    }
    if options.picture {
        return picture::write(&root());
    }
    let (server_core, client_core) = cores(options)?;
    raise_open_files();
    if !options.no_build {
        // hayami generates the load, so it is needed whichever servers are raced.
        compile::hayami()?;
        compile::bare_loops()?;
    }
    let versions = versions(options);
    let servers = versions.iter().filter(|(_, version)| version.is_ok()).map(|(server, _)| *server).collect();
    let guard = Guard::start().map_err(|error| format!("cannot start the guard: {error}"))?;
    let folder = guard.folder.clone();
    let documents = documents::prepare(&folder).map_err(|error| format!("documents: {error}"))?;
    let identity = Identity::make(&folder).map_err(|error| format!("the race's certificate: {error}"))?;
    let (rounds, time, scale) = (options.rounds(), options.time(), options.scale);
    let setup = Setup { guard, documents, identity, servers, server_core, client_core, rounds, time, scale };
    if options.rest_api {
        return rest_api::run(&setup, options);
    }
    let mut report = Report {
        command: command(),
        machine: Machine::look(),
        plan: format!(
            "{rounds} rounds of {} s, servers by turns; servers on core {server_core}, load on core {client_core}",
            time.as_secs()
        ),
        versions,
        tables: Vec::new(),
        verdicts: Vec::new(),
    };
    println!("{}", report::heading(&report));
    for workload in options.workloads() {
        let mut table = run_workload(&setup, &workload)?;
        hide(&mut table, &folder);
        println!("{}", report::lanes(&table));
        report.tables.push(table);
    }
    report.verdicts = targets::judge(&report.tables);
    println!("{}", report::verdicts(&report.verdicts.iter().collect::<Vec<_>>()));
    if options.crosscheck {
        let checked = crosscheck::run(&setup, servers::hayami_binary())?;
        let about = report::json(&report, Group::Scenarios);
        scenarios::save_crosscheck(&root().join(samples(options.write)), about, &checked)?;
        println!("{}", crosscheck::section(&checked));
    }
    save(&report, options.write)?;
    let for_page = options.crosscheck || report.tables_of(Group::Scenarios).next().is_some();
    if options.write && for_page {
        scenarios::write(&root())?;
    }
    if options.write { picture::write(&root()) } else { Ok(()) }
}

fn run_workload(setup: &Setup, workload: &Workload) -> Result<Table, String> {
    eprintln!("racing {} …", workload.name);
    let document = workload.document();
    let made = match workload.kind {
        Kind::Flood(flood) if flood.images => documents::ensure_images(&setup.documents),
        _ => documents::ensure(&setup.documents, document),
    };
    made.map_err(|error| format!("{}: {error}", document.file))?;
    Ok(match workload.kind {
        Kind::Load { .. } => setup.race(workload),
        Kind::Idle { .. } => setup.hold_idle(workload),
        Kind::Calls { .. } => setup.count_calls(workload),
        Kind::Flood(_) => setup.flood(workload),
        Kind::Opened { .. } => setup.count_opened(workload),
        Kind::Download(_) => setup.download(workload),
    })
}

/// The cores of the servers and of the load, which should differ.
fn cores(options: &Options) -> Result<(usize, usize), String> {
    let usable = pin::usable_cores().map_err(|error| format!("which cores are there: {error}"))?;
    let server = options.server_core.or(usable.first().copied()).unwrap_or(0);
    let other = usable.iter().copied().find(|core| *core != server);
    let client = options.client_core.or(other).unwrap_or(server);
    if let Some(core) = [server, client].into_iter().find(|core| !usable.contains(core)) {
        return Err(format!("core {core} is not usable here; these are: {usable:?}"));
    }
    if server == client {
        eprintln!("hayami-bench: servers and load share core {server}: rates and latencies mean nothing");
    }
    Ok((server, client))
}

/// Raises the limit of open files to the hard limit, for the load and all servers alike.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Raising to the hard limit is always allowed; if it fails anyway, idle-18000 reports how many it had.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Queries the version of each server.
fn versions(options: &Options) -> Vec<(Server, Result<String, String>)> {
    options.servers().into_iter().map(|server| (server, server.version())).collect()
}

fn command() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo run --release -p hayami-bench -- {}", arguments.join(" "))
        .trim_end_matches(" -- ")
        .to_owned()
}

/// Hides the name of the temporary folder, which is meaningless to readers of the results.
fn hide(table: &mut Table, folder: &Path) {
    let folder = folder.display().to_string();
    let faults = table.rows.iter_mut().filter_map(|row| row.fault.as_mut());
    for fault in faults.chain(&mut table.notes) {
        *fault = fault.replace(&folder, "RACE");
    }
}

/// Writes the results of each group into separate files: every sample as JSON and, if requested, RESULTS.md;
/// the file names of the other groups contain the group's name.
fn save(report: &Report, write: bool) -> Result<(), String> {
    let (here, samples) = (Path::new(env!("CARGO_MANIFEST_DIR")), root().join(samples(write)));
    fs::create_dir_all(&samples).map_err(|error| format!("{}: {error}", samples.display()))?;
    for group in Group::ALL {
        if report.tables_of(group).next().is_none() {
            continue;
        }
        let suffix = if group == Group::Http1 { String::new() } else { format!("-{}", group.name()) };
        let document = format!("{:#}\n", report::json(report, group));
        put(&samples.join(format!("results{suffix}.json")), &document)?;
        if write {
            put(&here.join(format!("RESULTS{suffix}.md")), &report::markdown(report, group))?;
        }
    }
    Ok(())
}

/// Where samples are saved: those behind published figures are in the tree.
fn samples(published: bool) -> &'static str {
    if published { scenarios::SAMPLES } else { "bench/out" }
}

/// The root of the tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
