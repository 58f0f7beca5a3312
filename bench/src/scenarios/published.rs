//! The published figures of scenarios S0 to S4, and their counterparts here.
//!
//! They were measured on other machines in other years; only the ratio of two rows of the same table can be
//! compared. A row without a counterpart stays in the table, with the reason.

/// The counterpart of a published row in our own tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    /// The server with this name in the races.
    Server(&'static str),
    /// None, and why.
    Nothing(&'static str),
}

/// A published row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Server and set-up.
    pub(crate) who: &'static str,
    /// Requests per second; `None` where the publication gives no number.
    pub(crate) rate: Option<f64>,
    /// Remarks of the publication.
    pub(crate) remark: &'static str,
    pub(crate) here: Here,
}

/// A scenario whose published table has a row for each server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByServer {
    /// Its name, also used for its plot.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What it is, and where it was measured according to the publication.
    pub(crate) about: &'static str,
    /// The workload of the races.
    pub(crate) workload: &'static str,
    pub(crate) rows: &'static [Row],
    /// The index of the reference row for ratios.
    pub(crate) reference: usize,
    /// The name of that row in a heading.
    pub(crate) reference_name: &'static str,
}

/// One published figure of S1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distance {
    pub(crate) host: &'static str,
    pub(crate) keep_alive: bool,
    /// Round-trip time of the network, in milliseconds.
    pub(crate) delay_ms: u32,
    pub(crate) connections: u32,
    pub(crate) rate: f64,
    /// The workload of the races, or why there is none.
    pub(crate) here: Result<&'static str, &'static str>,
}

/// One published run of S2 B.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloodRun {
    pub(crate) server: &'static str,
    /// Requests per second; `None` where the publication gives no number.
    pub(crate) rate: Option<f64>,
    /// The percentage of requests that succeeded.
    pub(crate) succeeded: f64,
}

const fn row(who: &'static str, rate: f64, here: &'static str) -> Row {
    Row { who, rate: Some(rate), remark: "", here: Here::Server(here) }
}

const fn left_out(who: &'static str, rate: f64, reason: &'static str) -> Row {
    Row { who, rate: Some(rate), remark: "", here: Here::Nothing(reason) }
}

/// S0, S2 A, S3 and S4.
pub(crate) const BY_SERVER: [ByServer; 4] = [
    ByServer {
        id: "s0",
        title: "S0: a small file, keep-alive",
        about: "Published: `wrk -c 100 -t 10 -d 10`, nginx's welcome page of 612 bytes, server and client on one machine \
                of 32 hardware threads. Here: the same page and connections, one core for the server and one for the \
                load, so workers and threads are one.",
        workload: "s0-tuning",
        rows: &[
            row("nginx, shipped defaults (1 worker)", 53_434.0, "nginx"),
            row("nginx, 16 workers, 10,240 connections", 624_639.0, "nginx-10240"),
            row("+ open_file_cache max=100 inactive=20s", 700_324.0, "nginx-files"),
            row("+ accept_mutex_delay 100ms", 714_512.0, "nginx-files-delay"),
            row("+ tcp_nopush on", 824_800.0, "nginx-tuned"),
            row("h2o, shipped defaults (threads = cores)", 582_270.0, "h2o"),
            left_out(
                "h2o, num-threads 16, max-connections 10240",
                708_329.0,
                "one core has room for one thread, and 100 connections are within h2o's own limit: it is the row above",
            ),
        ],
        reference: 4,
        reference_name: "nginx tuned",
    },
    ByServer {
        id: "s2a",
        title: "S2 A: HTTP/2 over TLS, 50 connections of 50 streams",
        about: "Published: `h2load -n 100000 -c 50 -m 50`, 612 bytes, one core of a Celeron of 2.7 GHz, 93.8 % of the \
                bytes of header fields saved. Here: the same page, connections and streams, TLS 1.3 with \
                TLS_AES_128_GCM_SHA256 for all.",
        workload: "s2a",
        rows: &[
            row("nghttpd", 61_841.0, "nghttpd"),
            Row { who: "h2o", rate: None, remark: "about the same", here: Here::Server("h2o") },
        ],
        reference: 0,
        reference_name: "nghttpd",
    },
    ByServer {
        id: "s3",
        title: "S3: a small computer, `Hello, world.`",
        about: "Published: wrk, 100 connections, 14 bytes, Raspberry Pi 2 (four Cortex-A7 cores), Ethernet of 100 Mbit/s. \
                Here: this machine by loopback stands for it, one core for the server.",
        workload: "s3-hello",
        rows: &[
            row("h2o, file", 20_456.0, "h2o"),
            Row {
                remark: "4 timeouts",
                ..left_out(
                    "OpenResty, content_by_lua",
                    17_378.0,
                    "nginx's Lua module is not installed, and hayami has no Lua handler",
                )
            },
            Row { remark: "32 timeouts", ..row("Apache 2.2, file", 5_071.0, "apache") },
            left_out(
                "Apache + mod_php",
                1_940.0,
                "mod_php is not installed; PHP by FastCGI is raced in the group `proxy` (`php`)",
            ),
        ],
        reference: 0,
        reference_name: "h2o",
    },
    ByServer {
        id: "s4",
        title: "S4: an in-memory server with native handlers",
        about: "Published: `wrk -c 300 -t 4 -d 10`, a file of 12 bytes, 32 hardware threads. Here: the same file and \
                connections, one core for the server.",
        workload: "s4-hello",
        rows: &[
            left_out(
                "G-WAN, 16 threads, file in memory",
                295_814.0,
                "no source code and no package: it cannot be had",
            ),
            Row { remark: "116 timeouts", ..row("nginx, shipped defaults", 32_441.0, "nginx") },
            row("nginx, 16 pinned workers, accept_mutex_delay 100ms", 321_433.0, "nginx-delay"),
            row("+ open_file_cache max=100, tcp_nopush on", 382_102.0, "nginx-tuned"),
            left_out(
                "Starlet (Perl), wrk -c 32 -t 8",
                172_989.0,
                "an application server: it stands [behind hayami](examples.md#what-it-costs), not beside it",
            ),
        ],
        reference: 3,
        reference_name: "nginx tuned",
    },
];

const NO_SECOND_HOST: Result<&str, &str> = Err("a second host is needed");

const fn distance(
    host: &'static str,
    keep_alive: bool,
    delay_ms: u32,
    connections: u32,
    rate: f64,
    here: Result<&'static str, &'static str>,
) -> Distance {
    Distance { host, keep_alive, delay_ms, connections, rate, here }
}

/// S1, in the order of its table.
pub(crate) const DISTANCES: [Distance; 12] = [
    distance("same", true, 0, 100, 36_492.0, Ok("s1-kept-100")),
    distance("same", true, 0, 1000, 34_925.0, Ok("s1-kept-1000")),
    distance("same", false, 0, 100, 14_132.0, Ok("s1-new-100")),
    distance("same", false, 0, 1000, 13_725.0, Ok("s1-new-1000")),
    distance("other", false, 0, 100, 1_941.0, NO_SECOND_HOST),
    distance("other", false, 0, 1000, 1_900.0, NO_SECOND_HOST),
    distance("other", false, 0, 10_000, 1_016.0, NO_SECOND_HOST),
    distance("other", false, 0, 20_000, 745.0, NO_SECOND_HOST),
    distance("other", false, 100, 100, 467.0, Ok("s1-far-100")),
    distance("other", false, 100, 1000, 1_269.0, Ok("s1-far-1000")),
    distance("other", false, 100, 10_000, 1_515.0, Ok("s1-far-10000")),
    distance("other", false, 100, 20_000, 2_284.0, Ok("s1-far-20000")),
];

/// The workload of S2 B.
pub(crate) const FLOOD: &str = "s2b-part";

const fn nghttpd(rate: f64, succeeded: f64) -> FloodRun {
    FloodRun { server: "nghttpd", rate: Some(rate), succeeded }
}

const H2O: FloodRun = FloodRun { server: "h2o", rate: None, succeeded: 100.0 };

/// The three runs of S2 B, by server.
pub(crate) const FLOODS: [[FloodRun; 3]; 2] =
    [[nghttpd(221.9, 100.0), nghttpd(1_381.7, 15.4), nghttpd(398.5, 55.3)], [H2O; 3]];

impl ByServer {
    /// The published ratio of a row to the reference row.
    pub(crate) fn ratio(&self, row: &Row) -> Option<f64> {
        Some(row.rate? / self.rows.get(self.reference)?.rate?)
    }

    /// The server of the races that is the reference for measured ratios.
    pub(crate) fn reference_server(&self) -> Option<&'static str> {
        match self.rows.get(self.reference)?.here {
            Here::Server(server) => Some(server),
            Here::Nothing(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    fn has_server(name: &str, server: &str) -> bool {
        let workload = workload::named(name).unwrap();
        workload.servers.iter().any(|raced| raced.name() == server)
    }

    #[test]
    fn what_stands_beside_a_row_takes_part_in_its_workload() {
        for scenario in BY_SERVER {
            assert!(has_server(scenario.workload, "hayami"), "{}", scenario.id);
            assert!(scenario.reference_server().is_some(), "{}", scenario.id);
            for row in scenario.rows {
                if let Here::Server(server) = row.here {
                    assert!(has_server(scenario.workload, server), "{}: {server}", scenario.id);
                }
            }
        }
        for name in DISTANCES.into_iter().filter_map(|distance| distance.here.ok()) {
            assert!(has_server(name, "hayami"), "{name}");
        }
        assert!(FLOODS.iter().flatten().all(|run| has_server(FLOOD, run.server)));
    }

    #[test]
    fn ratios_are_to_the_row_of_reference() {
        let [s0, s2a, ..] = BY_SERVER;
        assert_eq!(s0.ratio(&s0.rows[4]), Some(1.0));
        assert!((s0.ratio(&s0.rows[0]).unwrap() - 0.0648).abs() < 1e-4);
        assert_eq!(s2a.ratio(&s2a.rows[1]), None);
    }
}
