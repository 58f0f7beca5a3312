//! The load of a race: the arguments of `hayami bench` for a workload.

use std::time::Duration;

use crate::outcome::Outcome;
use crate::process::Process;
use crate::race::Setup;
use crate::tls;
use crate::workload::{Document, GIGABYTE, Handshake, Kind, Use, Wire, Workload};

/// Long enough to fill caches, open connections and start late threads.
const WARM_UP: Duration = Duration::from_millis(300);
/// The same for handshakes and far clients, whose connections take longer.
const LONG_WARM_UP: Duration = Duration::from_secs(1);
/// Far clients start one after the other over several of their cycles, so that they do not send in lockstep.
const RAMP_UP: Duration = Duration::from_secs(1);
/// How much longer than its time a run may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// A source address has some 28,000 ports, and a used one may be unavailable for a minute.
pub(crate) const SOURCES: &str = "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4";

impl Setup {
    /// One run of load.
    ///
    /// # Errors
    /// The generator fails, or no request succeeds.
    pub(crate) fn load(&self, workload: &Workload, process: &Process) -> Result<Outcome, String> {
        let Kind::Load { connections, with, .. } = workload.kind else { unreachable!("a workload of load") };
        let mut words = self.words(workload, connections, with);
        words.push(workload.url(&process.address.to_string()));
        self.generate(&words, process.id(), RAMP_UP + LONG_WARM_UP + self.time + PATIENCE)
    }

    /// The arguments of a load workload, except the URL.
    pub(crate) fn words(&self, workload: &Workload, connections: usize, with: Use) -> Vec<String> {
        let document = workload.document();
        let mut words = split(&format!("-c {} -d {}s", self.possible(connections), self.time.as_secs_f64()));
        words.extend(self.protocol(workload.wire, Some(with)));
        words.extend(split(&usage(with)));
        words.extend(split(&format!("--warm-up {}ms", warm_up(workload.wire, with).as_millis())));
        words.extend(expectation(document));
        words
    }

    /// The arguments for a protocol: the HTTP version and, over TLS, the same offer to all servers.
    pub(crate) fn protocol(&self, wire: Wire, with: Option<Use>) -> Vec<String> {
        let version = match with {
            Some(Use::OldKeepAlive | Use::OldPerRequest { .. }) => "1.0",
            Some(Use::Handshakes(_)) => "1.1",
            _ if wire == Wire::Http1 => "1.1",
            _ => "2",
        };
        let mut words = split(&format!("--http {version}"));
        if wire == Wire::Http2Tls {
            let handshake = if let Some(Use::Handshakes(handshake)) = with { Some(handshake) } else { None };
            words.extend(tls::offer(&self.identity, handshake));
        }
        words
    }
}

/// The arguments for how connections are used.
fn usage(with: Use) -> String {
    let anew = format!("--keepalive off --source {SOURCES}");
    match with {
        Use::KeepAlive { depth: 1 } | Use::OldKeepAlive => String::new(),
        Use::KeepAlive { depth } => format!("-p {depth}"),
        Use::PerRequest | Use::OldPerRequest { rtt_ms: 0 } => anew,
        Use::OldPerRequest { rtt_ms } => format!("{anew} --rtt {rtt_ms}ms --ramp-up {}s", RAMP_UP.as_secs()),
        Use::Streams(count) => format!("-m {count}"),
        Use::Handshakes(handshake) => {
            let resume = if handshake == Handshake::Resumed { "on" } else { "off" };
            format!("{anew} --tls-resume {resume}")
        }
    }
}

fn warm_up(wire: Wire, with: Use) -> Duration {
    if wire == Wire::Http2Tls || with.rtt_ms() > 0 { LONG_WARM_UP } else { WARM_UP }
}

/// The arguments by which every response is checked.
pub(crate) fn expectation(document: Document) -> Vec<String> {
    // On a busy machine, four gigabytes take longer than the generator's timeout.
    let patience = if document == GIGABYTE { " --timeout 60s" } else { "" };
    split(&format!("--expect-status 200 --expect-length {}{patience}", document.bytes))
}

/// Splits at spaces: no argument here contains one.
pub(crate) fn split(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_use_of_connections_has_its_words() {
        for (with, words) in [
            (Use::KeepAlive { depth: 1 }, ""),
            (Use::OldKeepAlive, ""),
            (Use::KeepAlive { depth: 16 }, "-p 16"),
            (Use::PerRequest, "--keepalive off"),
            (Use::OldPerRequest { rtt_ms: 0 }, "--keepalive off"),
            (Use::OldPerRequest { rtt_ms: 100 }, "--rtt 100ms --ramp-up 1s"),
            (Use::Streams(50), "-m 50"),
            (Use::Handshakes(Handshake::Full), "--tls-resume off"),
            (Use::Handshakes(Handshake::Resumed), "--tls-resume on"),
        ] {
            let usage = usage(with);
            assert!(usage.contains(words) && usage.is_empty() == words.is_empty(), "{with:?}: {usage}");
        }
    }

    #[test]
    fn clients_far_away_and_handshakes_have_a_longer_warm_up() {
        for (wire, with, expected) in [
            (Wire::Http1, Use::PerRequest, WARM_UP),
            (Wire::Http1, Use::OldPerRequest { rtt_ms: 0 }, WARM_UP),
            (Wire::Http1, Use::OldPerRequest { rtt_ms: 100 }, LONG_WARM_UP),
            (Wire::Http2, Use::Streams(50), WARM_UP),
            (Wire::Http2Tls, Use::Streams(50), LONG_WARM_UP),
        ] {
            assert_eq!(warm_up(wire, with), expected, "{wire:?} {with:?}");
        }
    }
}
