//! Instructions of the hot paths, counted by valgrind's callgrind and compared with those in `recorded.tsv`.
//!
//! ```text
//! main ─▶ profile: valgrind runs this program with `--run NAME TIMES` ─▶ scenarios
//!      │                                       or `--forward UPSTREAM` ─▶ forward, worker
//!      └▶ record: the file, and what has grown
//! ```
//!
//! The number of instructions does not depend on what else the machine does, so one run is enough. Only this program is
//! counted: calls of the C library are counted as calls, since its code differs by processor and by version.

mod forward;
mod profile;
mod record;
mod scenarios;
mod worker;

use record::Record;
use scenarios::{Run, SCENARIOS};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo instructions [--write | NAME…]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["--run", name, times] => run(name, times.parse().expect("a number")),
        ["--forward", upstream] => forward::forward(upstream),
        ["--write"] => return write(),
        [first, ..] if first.starts_with('-') => {
            eprintln!("{USAGE}");
            return ExitCode::from(64);
        }
        _ => return compare(&words),
    }
    ExitCode::SUCCESS
}

/// What valgrind runs.
fn run(name: &str, times: u32) {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).expect("a scenario");
    let Run::Here(run) = scenario.run else { panic!("{name} runs elsewhere") };
    run(times);
}

fn measure(names: &[&str]) -> Result<Record, String> {
    let mut record = Record::default();
    for scenario in SCENARIOS.iter().filter(|own| names.is_empty() || names.contains(&own.name)) {
        eprintln!("counting {} …", scenario.name);
        record.insert(scenario.name, profile::each(scenario)?);
    }
    if record.is_empty() {
        let known: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        return Err(format!("no such name; there are {}", known.join(", ")));
    }
    Ok(record)
}

fn write() -> ExitCode {
    finish(measure(&[]).and_then(|record| record.save()))
}

fn compare(names: &[&str]) -> ExitCode {
    if let Err(reason) = profile::comparable() {
        println!("not compared: {reason}");
        return ExitCode::SUCCESS;
    }
    finish(measure(names).and_then(|record| {
        println!("{}", record.shown());
        record.compare(&Record::load()?)
    }))
}

fn finish(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hayami-instructions: {error}");
            ExitCode::FAILURE
        }
    }
}
