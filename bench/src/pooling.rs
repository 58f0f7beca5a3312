//! How many connections a proxy opens for a fixed number of requests.

use std::time::Duration;

use crate::backend::Backend;
use crate::figure::{self, Figure};
use crate::load::{expectation, split};
use crate::race::{Row, Setup, Start, Table};
use crate::workload::{Kind, Workload};

/// Timeout for the requests.
const LONGEST: Duration = Duration::from_secs(120);

impl Setup {
    /// Runs a workload that counts connections, each server once: nothing varies by chance.
    pub(crate) fn count_opened(&self, workload: &Workload) -> Table {
        let mut rows: Vec<Row> = self.servers_of(workload).into_iter().map(Row::new).collect();
        for row in &mut rows {
            row.fault = self.opened_by(workload, row).err();
        }
        Table::new(*workload, rows, Vec::new())
    }

    fn opened_by(&self, workload: &Workload, row: &mut Row) -> Result<(), String> {
        let Kind::Opened { connections, requests, workers } = workload.kind else {
            unreachable!("counts connections")
        };
        let backend = self.backend(workload)?;
        let upstream = backend.as_ref().map(|backend| backend.upstream);
        let (process, bytes) =
            self.start(row.server, workload, Start { upstream, workers, ..Start::default() })?;
        row.bytes = bytes;
        let count = || backend.as_ref().map_or(Ok(0), Backend::opened);
        let before = count()?;
        let mut words = split(&format!("-c {connections} -n {requests}"));
        words.extend(self.protocol(workload.wire, None));
        words.extend(expectation(workload.document()));
        words.push(workload.url(&process.address.to_string()));
        let outcome = self.generate(&words, process.id(), LONGEST)?;
        let opened = (count()? - before) as f64;
        let mut sample = figure::of_load(&outcome);
        sample.insert(Figure::Opened, opened);
        sample.insert(Figure::Reused, 100.0 * (1.0 - opened / outcome.responses as f64));
        row.samples.push(sample);
        Ok(())
    }
}
