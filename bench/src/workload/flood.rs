//! Scenario S2 B: a thousand connections with a thousand streams each, three times. 51 GB per run: run only
//! on request, and smaller with `--scale`.

use super::{Behind, Flood, Group, Kind, LARGE_PAGE, Wire, Workload};
use crate::documents::{FIRST_IMAGE, IMAGES};
use crate::figure::Figure;
use crate::servers::Server;

const REQUESTS: usize = 100_000;
const CONNECTIONS: usize = 1020;
const STREAMS: usize = 1020;
/// Enough for the connections and eighty more descriptors.
const FEW_FILES: u64 = 1100;
/// Each of these connections sends as many requests as there are images.
const IMAGE_CONNECTIONS: usize = 50;

/// The workloads of scenario S2 B.
pub(super) const WORKLOADS: [Workload; 4] = [
    flood(
        "s2b",
        "100,000 pages of 513 KB, HTTP/2 over TLS, 1,020 connections of 1,020 streams, three runs",
        page(None),
    ),
    flood("s2b-1100", "as s2b, with a limit of 1,100 open files", page(Some(FEW_FILES))),
    flood(
        "s2b-images",
        "9,144 small images, 457,200 requests for any of them on 50 connections of 1,020 streams, three runs",
        images(None),
    ),
    flood("s2b-images-1100", "as s2b-images, with a limit of 1,100 open files", images(Some(FEW_FILES))),
];

pub(super) const fn page(open_files: Option<u64>) -> Flood {
    Flood {
        document: LARGE_PAGE,
        images: false,
        requests: REQUESTS,
        connections: CONNECTIONS,
        streams: STREAMS,
        open_files,
        part: 1.0,
    }
}

const fn images(open_files: Option<u64>) -> Flood {
    Flood {
        document: FIRST_IMAGE,
        images: true,
        requests: IMAGES * IMAGE_CONNECTIONS,
        connections: IMAGE_CONNECTIONS,
        streams: STREAMS,
        open_files,
        part: 1.0,
    }
}

pub(super) const fn flood(name: &'static str, about: &'static str, flood: Flood) -> Workload {
    Workload {
        name,
        about,
        group: Group::Flood,
        wire: Wire::Http2Tls,
        kind: Kind::Flood(flood),
        servers: &[Server::Hayami, Server::H2o, Server::Nghttpd],
        columns: &[
            Figure::Succeeded,
            Figure::Errors,
            Figure::LostInAll,
            Figure::Rate,
            Figure::MegabyteRate,
            Figure::Cost,
            Figure::CostPerMegabyte,
            Figure::CoreUse,
            Figure::PeakInAll,
        ],
        absent: &[],
        behind: Behind::Nothing,
    }
}

impl Flood {
    /// The number of requests when only a part of them is sent (`None`: the workload's own part); at least
    /// one per connection.
    pub(crate) fn scaled(&self, scale: Option<f64>) -> usize {
        ((self.requests as f64 * scale.unwrap_or(self.part)) as usize).max(self.connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_flood_has_a_request_for_each_connection_at_least() {
        let flood = page(None);
        assert_eq!(flood.scaled(None), 100_000);
        assert_eq!(flood.scaled(Some(0.1)), 10_000);
        assert_eq!(flood.scaled(Some(0.001)), CONNECTIONS);
    }
}
