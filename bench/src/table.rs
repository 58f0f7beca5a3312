//! What came of a race: a table for each workload, a row in it for each server, a sample for each round.

use crate::figure::{Figure, Sample};
use crate::servers::Server;
use crate::statistics::{Spread, spread};
use crate::workload::Workload;

/// What a server gave in a workload.
pub(crate) struct Row {
    pub(crate) server: Server,
    /// Bytes of a whole response; 0 when none came.
    pub(crate) bytes: usize,
    /// A sample per round.
    pub(crate) samples: Vec<Sample>,
    /// Bytes of the sum of peak resident sizes.
    pub(crate) peak_memory: u64,
    /// Why there is less than there should be.
    pub(crate) fault: Option<String>,
}

/// What a workload gave.
pub(crate) struct Table {
    pub(crate) workload: Workload,
    pub(crate) rows: Vec<Row>,
    /// What a reader should know besides.
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

    /// The row of a server that took part.
    pub(crate) fn row(&self, server: Server) -> Option<&Row> {
        self.rows.iter().find(|row| row.server == server)
    }
}
