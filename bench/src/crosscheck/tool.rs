//! The three tools: their commands, running them and parsing their reports.

use std::path::Path;
use std::process::Command;

use super::reported::Reported;
use super::{ab, h2load, wrk};

/// One of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Wrk,
    H2load,
    Ab,
}

/// The load to generate: seconds, or for ab, which would end early, about as many requests as fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) tool: Tool,
    /// Concurrent connections.
    pub(super) connections: usize,
    pub(super) seconds: u64,
}

/// More requests per second than a server answers with a connection for each, so that a run of ab takes
/// longer than the others rather than shorter.
const AB_REQUESTS_A_SECOND: u64 = 15_000;

impl Tool {
    pub(crate) const ALL: [Self; 3] = [Self::Wrk, Self::H2load, Self::Ab];

    /// The name of its program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Ab => "ab",
        }
    }

    /// The tool with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn package(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "nghttp2-client",
            Self::Ab => "apache2-utils",
        }
    }

    /// Its version.
    ///
    /// # Errors
    /// It is not installed: one line that names the Debian package.
    pub(super) fn version(self) -> Result<String, String> {
        let argument = match self {
            Self::Wrk => "-v",
            Self::H2load => "--version",
            Self::Ab => "-V",
        };
        // wrk prints its version with exit code 1.
        let output = Command::new(self.name()).arg(argument).output();
        let output = output
            .map_err(|error| format!("{}: {error} (Debian package {})", self.name(), self.package()))?;
        let printed = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&printed);
        Ok(version(text.lines().next().unwrap_or_default()))
    }

    /// Parses a report; ab's percentiles are in the file given to it.
    pub(super) fn parse(self, report: &str, percentiles: &Path) -> Option<Reported> {
        match self {
            Self::Wrk => wrk::parse(report),
            Self::H2load => h2load::parse(report),
            Self::Ab => ab::parse(report, &std::fs::read_to_string(percentiles).unwrap_or_default()),
        }
    }
}

/// The first line that a tool prints, without the author.
fn version(line: &str) -> String {
    let line = line.split(" [").next().unwrap_or_default();
    line.trim_start_matches("This is ").split(" <").next().unwrap_or_default().to_owned()
}

impl Job {
    /// The arguments of the command for `url`, limited to those that both the tool and `--like` understand.
    pub(super) fn words(&self, url: &str) -> Vec<String> {
        let Self { tool, connections, seconds } = self;
        let requests = seconds * AB_REQUESTS_A_SECOND;
        let line = match tool {
            Tool::Wrk => format!("wrk -t1 -c{connections} -d{seconds}s --latency {url}"),
            Tool::H2load => format!("h2load -t1 -c{connections} -m50 -D{seconds} --warm-up-time=0 {url}"),
            Tool::Ab => format!("ab -q -c {connections} -n {requests} {url}"),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// The maximum number of requests in flight when a run ends: the server has counted them, the client has
    /// not.
    pub(super) fn under_way(&self) -> u64 {
        let streams = if self.tool == Tool::H2load { 50 } else { 1 };
        // ab ends with its number of requests, not by time.
        if self.tool == Tool::Ab { 0 } else { self.connections as u64 * streams }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_what_a_user_types() {
        let job = |tool, connections| Job { tool, connections, seconds: 3 }.words("http://a/").join(" ");
        for (tool, connections, expected) in [
            (Tool::Wrk, 100, "wrk -t1 -c100 -d3s --latency http://a/"),
            (Tool::H2load, 50, "h2load -t1 -c50 -m50 -D3 --warm-up-time=0 http://a/"),
            (Tool::Ab, 1000, "ab -q -c 1000 -n 45000 http://a/"),
        ] {
            assert_eq!(job(tool, connections), expected);
        }
    }

    #[test]
    fn versions_are_without_authors() {
        for (line, expected) in [
            ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "wrk debian/4.1.0-3+b2"),
            ("h2load nghttp2/1.52.0", "h2load nghttp2/1.52.0"),
            ("This is ApacheBench, Version 2.3 <$Revision: 1 $>", "ApacheBench, Version 2.3"),
        ] {
            assert_eq!(version(line), expected);
        }
    }
}
