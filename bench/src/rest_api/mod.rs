//! The worked example examples/rest-api, measured: hayami, a REST API in Go and its database, with and without
//! connection pooling on each side, on this machine and with far clients. Results go to docs/rest-api.md.
//!
//! `stack` starts and stops the example and reads the CPU time of its processes; `step` generates the load; `page`
//! writes. docs/rest-api.md describes the example and how to start it by hand.

mod page;
mod samples;
mod stack;
mod step;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::machine::Machine;
use crate::options::Options;
use crate::race::Setup;
use crate::{command, put, root, scenarios};

use self::stack::{Pooling, Stack};
use self::step::{STEPS, Sample, Step};

/// Warm-up before anything is counted. The database's virtual machine compiles until it has served some
/// 50,000 requests, the first of which cost five times as much as later ones.
const FIRST_WARM_UP: Duration = Duration::from_secs(25);
/// Warm-up before the steps of a setting.
const WARM_UP: Duration = Duration::from_secs(2);
/// Five rounds take some 18 minutes.
const ROUNDS: u32 = 5;

/// Samples of each setting and step, in the order of the rounds.
type Samples = BTreeMap<(Pooling, &'static str), Vec<Sample>>;

/// The results, and where they were measured.
struct Measured {
    command: String,
    plan: String,
    machine: Machine,
    versions: String,
    samples: Samples,
    /// Errors; the samples concerned are missing.
    faults: Vec<String>,
}

/// Measures, prints, and writes if requested.
///
/// # Errors
/// The example does not start, or a file cannot be written.
pub(crate) fn run(setup: &Setup, options: &Options) -> Result<(), String> {
    let rounds = if options.quick { 1 } else { options.rounds.unwrap_or(ROUNDS) };
    let mut measured = Measured {
        command: command(),
        plan: format!(
            "{rounds} rounds of {} s a step (twice as long from 10,000 connections on); hayami, the API and the database on \
             core {}, load on core {}; {} files may be open",
            setup.time.as_secs(),
            setup.server_core,
            setup.client_core,
            getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
        ),
        machine: Machine::look(),
        versions: String::new(),
        samples: Samples::new(),
        faults: Vec::new(),
    };
    let mut stack = Stack::new(setup)?;
    stack.start(setup, Pooling::Both)?;
    setup.load_rest_api(&stack, &Step::WARM_UP, FIRST_WARM_UP.min(setup.time * 8))?;
    measured.versions = stack.versions();
    for round in 1..=rounds {
        // Each round starts with another setting, so that none always follows the same one.
        let turns = Pooling::ALL.into_iter().cycle().skip(round as usize - 1).take(Pooling::ALL.len());
        for pooling in turns {
            eprintln!("round {round} of {rounds}: {} …", pooling.name());
            stack.start(setup, pooling)?;
            setup.measure_rest_api(&stack, pooling, &mut measured)?;
        }
    }
    let section = page::section(&measured);
    println!("{section}");
    if options.write { write(&section, &measured) } else { Ok(()) }
}

impl Setup {
    /// One round of a setting.
    fn measure_rest_api(
        &self,
        stack: &Stack,
        pooling: Pooling,
        measured: &mut Measured,
    ) -> Result<(), String> {
        self.load_rest_api(stack, &Step::WARM_UP, WARM_UP.min(self.time))?;
        for step in STEPS.iter().filter(|step| step.is_of(pooling)) {
            match self.load_rest_api(stack, step, self.time) {
                Ok(sample) => measured.samples.entry((pooling, step.name)).or_default().push(sample),
                Err(fault) => measured.faults.push(format!("{}, {}: {fault}", pooling.name(), step.name)),
            }
        }
        Ok(())
    }
}

/// Inserts the section into the page, between its marks, and writes the plots.
fn write(section: &str, measured: &Measured) -> Result<(), String> {
    let page = root().join("docs/rest-api.md");
    let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    put(&page, &page::renewed(&text, section).ok_or("docs/rest-api.md has no marks for what is measured")?)?;
    let plots = root().join("docs/rest-api");
    fs::create_dir_all(&plots).map_err(|error| format!("{}: {error}", plots.display()))?;
    put(&plots.join("pooling.svg"), &page::pooling_plot(measured))?;
    put(&plots.join("distance.svg"), &page::distance_plot(measured))?;
    let samples = root().join(scenarios::SAMPLES);
    fs::create_dir_all(&samples).map_err(|error| format!("{}: {error}", samples.display()))?;
    put(&samples.join("rest-api.json"), &format!("{:#}\n", samples::json(measured)))
}

/// The folder of the example.
fn example() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/rest-api"))
}
