//! `h2load` (Debian package nghttp2-client), the load tool of the published HTTP/2 rows: run it,
//! read its report.
//!
//! Over TLS it is held to TLS_AES_128_GCM_SHA256, which all servers here have, since they differ in
//! what they would choose and the cipher is part of the cost. Keys go by X25519; nghttpd knows
//! P-256 only.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Outcome;
use crate::cost::{self, Cpu};
use crate::guard::{self, Guard};
use crate::pin;

/// How much h2load is to ask.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    /// As much as the server answers in this time.
    For(Duration),
    /// So many requests.
    Requests(usize),
}

/// A run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    /// The URL, or the list of them.
    pub(crate) urls: Urls<'a>,
    pub(crate) connections: usize,
    pub(crate) streams: usize,
    pub(crate) amount: Amount,
    /// Octets of content of a response, where they are all alike.
    pub(crate) content: u64,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Urls<'a> {
    One(&'a str),
    /// A file with a URL in each line; every connection asks for them in turn.
    List(&'a Path),
}

/// Time for the connections of a run for a time; 500 handshakes take a good part of it.
const WARM_UP: Duration = Duration::from_secs(1);
/// How long a run for a time may take beyond it.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a run of a fixed number of requests may take: the slowest published one of 51 GB took
/// 450 s.
const LONGEST: Duration = Duration::from_secs(1800);

/// What h2load prints when a run for a time begins to count, and when it ends.
const BEGINS: &str = "Main benchmark duration is started";
const IS_OVER: &str = "Main benchmark duration is over";

/// One run of h2load with one thread on `core`, and the CPU time of the server `pid` in it. A run for
/// a time counts neither requests nor CPU time of the warm-up, in which connections are made.
///
/// # Errors
/// h2load cannot be started, does not end, or prints something else than its report.
pub(crate) fn run(run: &Run<'_>, core: usize, guard: &Guard, pid: u32) -> Result<(Outcome, Cpu), String> {
    let mut command = command(run);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut before = cost::cpu(pid);
    let spawned = pin::on_core(core, || command.spawn());
    let mut child = spawned.map_err(|error| format!("h2load: {error} (Debian package nghttp2-client)"))?;
    guard.watch(child.id());
    let (lines, end) = (lines(&mut child), Instant::now() + limit(run.amount));
    let (mut report, mut after) = (String::new(), None);
    let ended = loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line.starts_with(BEGINS) => before = cost::cpu(pid),
            Ok(line) if line.starts_with(IS_OVER) => after = Some(cost::cpu(pid)),
            Ok(line) => report = report + &line + "\n",
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                guard::end_tree(child.id());
                break Err(format!("h2load did not end within {} s", limit(run.amount).as_secs()));
            }
        }
    };
    let after = after.unwrap_or_else(|| cost::cpu(pid));
    let _ = child.wait();
    ended?;
    let parsed = parse(&report).ok_or_else(|| format!("h2load: no report: {}", report.trim()))?;
    let outcome = match run.amount {
        Amount::For(_) => parsed.without_warm_up(run.content),
        Amount::Requests(_) => parsed.outcome,
    };
    Ok((outcome, after.since(before)))
}

impl Parsed {
    /// h2load counts the octets of the warm-up, but not its responses: how many there were in all
    /// follows from the octets of content.
    fn without_warm_up(self, content: u64) -> Outcome {
        let part = self.outcome.responses as f64 * content as f64 / self.data_octets as f64;
        let scaled = |octets: u64| (octets as f64 * part).round() as u64;
        let (octets, head_octets) = (scaled(self.outcome.octets), scaled(self.outcome.head_octets));
        Outcome { octets, head_octets, ..self.outcome }
    }
}

/// The lines a child prints, as it prints them; disconnected when it has ended.
fn lines(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let printed = child.stdout.take();
    thread::spawn(move || {
        let lines = printed.into_iter().flat_map(|printed| BufReader::new(printed).lines());
        // Nobody reads on when the run took too long: then nothing is to be told.
        lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

fn limit(amount: Amount) -> Duration {
    match amount {
        Amount::For(time) => WARM_UP + time + PATIENCE,
        Amount::Requests(_) => LONGEST,
    }
}

fn command(run: &Run<'_>) -> Command {
    let mut command = Command::new("h2load");
    command.args(["--tls13-ciphers=TLS_AES_128_GCM_SHA256", "--groups=X25519:P-256", "--npn-list=h2"]);
    command.arg(format!("-c{}", run.connections)).arg(format!("-m{}", run.streams));
    match run.amount {
        Amount::For(time) => command
            .arg(format!("-D{}", time.as_secs().max(1)))
            .arg(format!("--warm-up-time={}", WARM_UP.as_secs())),
        Amount::Requests(count) => command.arg(format!("-n{count}")),
    };
    match run.urls {
        Urls::One(url) => command.arg(url),
        Urls::List(file) => command.arg("-i").arg(file),
    };
    command
}

/// What a report says.
struct Parsed {
    outcome: Outcome,
    /// Octets of content.
    data_octets: u64,
}

/// Reads h2load's report. Everything it has sent and not got a 2xx for is an error, but for what a
/// run for a time leaves in flight, which h2load does not count at all.
fn parse(report: &str) -> Option<Parsed> {
    let mut outcome = Outcome {
        p50_us: f64::NAN,
        p99_us: f64::NAN,
        mean_us: f64::NAN,
        slowest_us: f64::NAN,
        ..Outcome::default()
    };
    let (mut found, mut data_octets) = (0, 0);
    for line in report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["finished", "in", time, ..] => {
                outcome.seconds = duration_us(time.trim_end_matches(','))? / 1e6;
                found += 1;
            }
            ["requests:", total, "total,", _, "started,", _, "done,", succeeded, "succeeded,", ..] => {
                outcome.responses = succeeded.parse().ok()?;
                outcome.errors = total.parse::<u64>().ok()?.saturating_sub(outcome.responses);
                found += 1;
            }
            ["traffic:", _, total, "total,", _, heads, "headers", .., data, "data"] => {
                outcome.octets = in_parentheses(total)?;
                outcome.head_octets = in_parentheses(heads)?;
                data_octets = in_parentheses(data)?;
                found += 1;
            }
            ["time", "for", "request:", _, slowest, mean, ..] => {
                outcome.slowest_us = duration_us(slowest)?;
                outcome.mean_us = duration_us(mean)?;
            }
            _ => {}
        }
    }
    (found == 3).then_some(Parsed { outcome, data_octets })
}

fn in_parentheses(word: &str) -> Option<u64> {
    word.strip_prefix('(')?.strip_suffix(')')?.parse().ok()
}

/// h2load's durations: `653us`, `1.05ms`, `3.00s`.
fn duration_us(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..at].parse().ok()?;
    let factor = match &text[at..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
starting benchmark...
spawning thread #0: 50 total client(s). Timing-based test with 1s of warm-up time and 3s of main duration.
finished in 3.00s, 123456.00 req/s, 80.12MB/s
requests: 370368 total, 372868 started, 370368 done, 370300 succeeded, 68 failed, 60 errored, 8 timeout
status codes: 370300 2xx, 0 3xx, 8 4xx, 0 5xx
traffic: 240.36MB (252034567) total, 8.12MB (8512345) headers (space savings 93.80%), 216.16MB (226665216) data
                     min         max         mean         sd        +/- sd
time for request:      103us     12.34ms       1.40ms       123us    85.00%
time for connect:       40us       7.00s       100us         1us    85.00%
req/s           :    2100.00     2500.00     2469.00      10.00    70.00%
";

    #[test]
    fn the_report_gives_successes_octets_and_latencies() {
        let Parsed { outcome, data_octets } = parse(REPORT).unwrap();
        assert_eq!(data_octets, 226_665_216);
        assert_eq!((outcome.responses, outcome.errors), (370_300, 68));
        assert_eq!((outcome.octets, outcome.head_octets), (252_034_567, 8_512_345));
        assert!((outcome.seconds - 3.0).abs() < 1e-9);
        assert!((outcome.mean_us - 1400.0).abs() < 1e-9 && (outcome.slowest_us - 12_340.0).abs() < 1e-9);
        assert!(outcome.p50_us.is_nan(), "h2load knows no quantiles");
    }

    #[test]
    fn octets_of_the_warm_up_are_taken_out() {
        // 740,736 responses of 612 octets were received, of which half in the warm-up.
        let report = REPORT.replace("226665216", "453330432").replace("370300 succeeded", "370368 succeeded");
        let outcome = parse(&report).unwrap().without_warm_up(612);
        assert_eq!((outcome.octets, outcome.head_octets), (252_034_567 / 2 + 1, 8_512_345 / 2 + 1));
    }

    #[test]
    fn anything_else_is_no_report() {
        assert!(parse("").is_none());
        assert!(parse("starting benchmark...\nfinished in 1.00s, 0 req/s, 0B/s\n").is_none());
    }

    #[test]
    fn durations_come_in_three_units() {
        for (text, us) in [("0us", 0.0), ("2.50ms", 2500.0), ("75.20s", 75.2e6)] {
            assert!((duration_us(text).unwrap() - us).abs() < 1e-6, "{text}");
        }
        assert_eq!((duration_us("12"), duration_us("1m")), (None, None));
    }
}
