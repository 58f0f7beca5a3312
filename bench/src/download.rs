//! One large response, read slowly: how much memory it takes to forward it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::cost;
use crate::figure::{Figure, Sample};
use crate::race::{Row, Setup, Start, Table};
use crate::workload::Workload;

/// Bytes that the client reads between two pauses.
const PIECE: usize = 1 << 20;
const REST: Duration = Duration::from_millis(8);
/// How long the server may send nothing.
const PATIENCE: Duration = Duration::from_secs(30);

impl Setup {
    /// Runs a workload of a slow download, each server once.
    pub(crate) fn download(&self, workload: &Workload) -> Table {
        let mut rows: Vec<Row> = self.servers_of(workload).into_iter().map(Row::new).collect();
        for row in &mut rows {
            row.fault = self.download_from(workload, row).err();
        }
        Table::new(*workload, rows, Vec::new())
    }

    fn download_from(&self, workload: &Workload, row: &mut Row) -> Result<(), String> {
        let backend = self.backend(workload)?;
        let upstream = backend.as_ref().map(|backend| backend.upstream);
        let (process, bytes) = self.start(row.server, workload, Start { upstream, ..Start::default() })?;
        row.bytes = bytes;
        let start = Instant::now();
        let document = workload.document();
        let received = TcpStream::connect(process.address)
            .and_then(|stream| read_slowly(stream, document.target))
            .map_err(|error| format!("download: {error}"))?;
        let errors = if received == document.bytes { 0.0 } else { 1.0 };
        row.peak_memory = cost::peak_memory(process.id());
        row.samples.push(Sample::from([
            (Figure::PeakInAll, row.peak_memory as f64 / 1e6),
            (Figure::MegabyteRate, received as f64 / 1e6 / start.elapsed().as_secs_f64()),
            (Figure::Errors, errors),
        ]));
        Ok(())
    }
}

/// Reads the response in pieces with pauses; returns the number of content bytes.
fn read_slowly(mut stream: TcpStream, target: &str) -> std::io::Result<u64> {
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: race\r\nConnection: close\r\n\r\n")?;
    let mut buffer = vec![0; PIECE];
    let (mut head, mut content, mut since_rest) = (Vec::new(), None, 0);
    loop {
        let bytes = stream.read(&mut buffer)?;
        if bytes == 0 {
            return Ok(content.unwrap_or(0));
        }
        content = Some(match content {
            Some(before) => before + bytes as u64,
            None => {
                head.extend_from_slice(&buffer[..bytes]);
                let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") else { continue };
                (head.len() - end - 4) as u64
            }
        });
        since_rest += bytes;
        if since_rest >= PIECE {
            since_rest = 0;
            thread::sleep(REST);
        }
    }
}
