//! The results of a race: a table for each workload, a row in it for each server, a sample for each round.

use crate::figure::{Figure, Sample};
use crate::servers::Server;
use crate::statistics::{Spread, spread};
use crate::workload::Workload;

/// The results of a server in a workload.
pub(crate) struct Row {
    pub(crate) server: Server,
    /// Bytes of a whole response; 0 if there was none.
    pub(crate) bytes: usize,
    /// A sample per round.
    pub(crate) samples: Vec<Sample>,
    /// Bytes of the sum of peak resident sizes.
    pub(crate) peak_memory: u64,
    /// Why results are missing.
    pub(crate) fault: Option<String>,
}

/// The results of a workload.
pub(crate) struct Table {
    pub(crate) workload: Workload,
    pub(crate) rows: Vec<Row>,
    /// Additional notes for readers.
    pub(crate) notes: Vec<String>,
}

impl Row {
    pub(crate) fn new(server: Server) -> Self {
        Self { server, bytes: 0, samples: Vec::new(), peak_memory: 0, fault: None }
    }

    /// The values of a figure, round by round.
    pub(crate) fn values(&self, figure: Figure) -> impl Iterator<Item = f64> {
        self.samples.iter().filter_map(move |sample| sample.get(&figure).copied())
    }

    /// The spread of a figure over the rounds.
    pub(crate) fn spread(&self, figure: Figure) -> Option<Spread> {
        spread(self.values(figure))
    }
}

impl Table {
    pub(crate) fn new(workload: Workload, rows: Vec<Row>, mut notes: Vec<String>) -> Self {
        let bytes = || rows.iter().map(|row| row.bytes).filter(|bytes| *bytes > 0);
        if let (Some(least), Some(most)) = (bytes().min(), bytes().max())
            && least != most
        {
            let content = workload.document().bytes;
            notes.push(format!(
                "responses differ by their heads: {least} to {most} bytes, of which {content} are content"
            ));
        }
        Self { workload, rows, notes }
    }

    /// The row of a participating server.
    pub(crate) fn row(&self, server: Server) -> Option<&Row> {
        self.rows.iter().find(|row| row.server == server)
    }
}
