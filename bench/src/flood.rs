//! Scenario S2 B: a fixed number of requests, three times, five seconds apart, against one process; how many
//! succeed, and the peak memory.

use std::time::Duration;
use std::{fs, thread};

use crate::cost;
use crate::documents;
use crate::figure::{self, Figure};
use crate::load::{expectation, split};
use crate::process::Process;
use crate::race::{Row, Setup, Start, Table};
use crate::workload::{Flood, Kind, Workload};

const RUNS: usize = 3;
const PAUSE: Duration = Duration::from_secs(5);
/// Timeout of a run: the slowest published one of 51 GB took 450 s.
const LONGEST: Duration = Duration::from_secs(1800);

impl Setup {
    /// Runs a flood: all runs of a server in a row, since each run affects the next.
    pub(crate) fn flood(&self, workload: &Workload) -> Table {
        let Kind::Flood(flood) = workload.kind else { unreachable!("a flood") };
        let mut rows: Vec<Row> = self.servers_of(workload).into_iter().map(Row::new).collect();
        for row in &mut rows {
            row.fault = self.flood_one(workload, &flood, row).err();
        }
        let mut notes = Vec::new();
        let requests = flood.scaled(self.scale);
        if requests < flood.requests {
            notes.push(format!("scaled: {requests} requests a run instead of {}", flood.requests));
        }
        Table::new(*workload, rows, notes)
    }

    fn flood_one(&self, workload: &Workload, flood: &Flood, row: &mut Row) -> Result<(), String> {
        let (mut process, bytes) = self.start(row.server, workload, Start::default())?;
        row.bytes = bytes;
        let mut lost = 0;
        for run in 1..=RUNS {
            lost += self.flood_once(workload, flood, &process, row)?;
            if !process.is_alive() {
                return Err(format!("ended in run {run}"));
            }
            if run < RUNS {
                thread::sleep(PAUSE);
            }
        }
        // Figures for all runs together are stored in the last sample.
        if let Some(last) = row.samples.last_mut() {
            last.insert(Figure::LostInAll, lost as f64);
            last.insert(Figure::PeakInAll, row.peak_memory as f64 / 1e6);
        }
        Ok(())
    }

    /// One run; returns the number of requests that did not succeed.
    fn flood_once(
        &self,
        workload: &Workload,
        flood: &Flood,
        process: &Process,
        row: &mut Row,
    ) -> Result<u64, String> {
        let requests = flood.scaled(self.scale);
        let mut words =
            split(&format!("-n {requests} -c {} -m {} --timeout 10m", flood.connections, flood.streams));
        words.extend(self.protocol(workload.wire, None));
        if flood.images {
            words.extend(["--expect-status".into(), "200".into(), "--urls".into(), self.list(process)?]);
        } else {
            words.extend(expectation(flood.document));
            words.push(workload.url(&process.address.to_string()));
        }
        let mut outcome = self.generate(&words, process.id(), LONGEST)?;
        // Requests never sent for lack of a connection have not succeeded either.
        outcome.errors = (requests as u64).saturating_sub(outcome.responses);
        row.samples.push(figure::of_load(&outcome));
        row.peak_memory = row.peak_memory.max(cost::peak_memory(process.id()));
        Ok(outcome.errors)
    }

    /// Writes the URLs of all images, one per line.
    fn list(&self, process: &Process) -> Result<String, String> {
        let file = self.guard.folder.join("images.txt");
        let lines: String = (0..documents::IMAGES)
            .map(|index| format!("https://{}/{}\n", process.address, documents::image(index)))
            .collect();
        fs::write(&file, lines).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file.display().to_string())
    }
}
