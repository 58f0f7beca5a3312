//! The command line of `hayami bench`. Options carry the names that users of wrk, ab, h2load and curl know.

use crate::exit::Failure;
use clap::error::ErrorKind;
use clap::{ArgAction, Parser, ValueEnum};
use hayami_load::like;
use hayami_load::plan::{self, KeepAlive};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  hayami bench http://127.0.0.1:8080/                     10 seconds, 64 connections, all CPUs
  hayami bench -c 100 -t 4 -d 30s http://127.0.0.1/       as wrk
  hayami bench -c 50 -m 50 -n 100000 https://a.test/      as h2load
  hayami bench -r 2000 https://a.test/                    2000 requests per second, whatever the server does
  hayami bench -c 20000 --keepalive off --rtt 100ms URL   many distant clients
  hayami bench http://127.0.0.1:8080/ http://127.0.0.1:8081/ --html report.html
                                                          compare two servers, interleaved
  hayami bench --like 'ab -c 100 -n 1000 http://a.test/'  run what ab would run; prints the equivalent command

To serve a directory named `bench`, run `hayami ./bench`.

Exit codes:
  0    success
  1    no successful response, the server stopped answering, or, with --expect-…, a response was wrong
  64   invalid command line
  66   an input file does not exist
  69   the host does not exist or refuses connections
  71   a system limit was hit: open files, threads
  73   a report cannot be written
  130  stopped by Ctrl-C or SIGTERM; the results so far are printed";

/// Generate load on HTTP servers; measure, compare and report
#[derive(Debug, Parser)]
#[command(name = "hayami bench", bin_name = "hayami bench", after_help = AFTER_HELP, args_override_self = true)]
#[command(disable_help_flag = true)] // the short form fits a screen or two
pub(super) struct Args {
    /// The URL to request: http://, https:// or unix:SOCKET:/PATH. Several URLs are compared
    #[arg(value_name = "URL", required_unless_present = "urls")]
    pub url: Vec<String>,

    /// Number of open connections [default: 64]
    #[arg(help_heading = "Load", short = 'c', long, alias = "clients", value_name = "N", value_parser = plan::count)]
    pub connections: Option<u64>,
    /// Threads of the load generator [default: the number of CPUs]
    #[arg(help_heading = "Load", short = 't', long, value_name = "N", value_parser = plan::count)]
    pub threads: Option<u64>,
    /// HTTP/2: concurrent requests on each connection
    #[arg(help_heading = "Load", short = 'm', long, alias = "max-concurrent-streams", value_name = "N", default_value = "1", value_parser = plan::count)]
    pub streams: u64,
    /// HTTP/1.1: pipelined requests on each connection
    #[arg(help_heading = "Load", short = 'p', long, value_name = "N", default_value = "1", value_parser = plan::count)]
    pub pipeline: u64,

    /// How long to measure; a plain number is in seconds [default: 10s; 3s per round with several URLs]
    #[arg(help_heading = "Load", short = 'd', long, value_name = "TIME", value_parser = plan::duration)]
    pub duration: Option<Duration>,
    /// Number of requests to measure, instead of a duration
    #[arg(help_heading = "Load", short = 'n', long, value_name = "N", conflicts_with = "duration", value_parser = plan::count)]
    pub requests: Option<u64>,
    /// Requests per second over all connections, sent on schedule even if earlier ones are not answered
    #[arg(help_heading = "Load", short = 'r', long, visible_short_alias = 'R', value_name = "RATE", value_parser = plan::rate)]
    pub rate: Option<f64>,
    /// Spread the opening of the connections over this time
    #[arg(help_heading = "Load", long, value_name = "TIME", default_value = "0", value_parser = plan::duration)]
    pub ramp_up: Duration,
    /// Generate load for this time before measuring [default: a tenth of the duration, at most 1s; 0 with -n]
    #[arg(help_heading = "Load", long, alias = "warm-up-time", value_name = "TIME", value_parser = plan::duration)]
    pub warm_up: Option<Duration>,
    /// Rounds, each of which measures every URL once [default: 5; 1 with one URL]
    #[arg(help_heading = "Load", long, value_name = "N", value_parser = plan::count)]
    pub rounds: Option<u64>,
    /// Time limit of a connect, of a TLS handshake and of a response
    #[arg(help_heading = "Load", long, value_name = "TIME", default_value = "10s", value_parser = plan::duration)]
    pub timeout: Duration,

    /// HTTP version [default: 2 where TLS negotiates it, else 1.1]
    #[arg(help_heading = "Request", long, value_name = "VERSION")]
    pub http: Option<Http>,
    /// HTTP/2 without TLS, with prior knowledge: the same as --http 2 with an http:// URL
    #[arg(help_heading = "Request", long, conflicts_with = "http")]
    pub h2c: bool,
    /// Keep connections open, close them after each request, or after N requests
    #[arg(help_heading = "Request", long, value_name = "on|off|N", default_value = "on", value_parser = keep_alive)]
    pub keepalive: KeepAlive,

    /// Request method [default: GET; POST with content]
    #[arg(help_heading = "Request", short = 'X', long, visible_alias = "request", value_name = "METHOD", value_parser = plan::method)]
    pub method: Option<String>,
    /// Request header field; can be repeated
    #[arg(help_heading = "Request", short = 'H', long = "header", value_name = "'NAME: VALUE'", value_parser = plan::field)]
    pub header: Vec<(String, String)>,
    /// Request content from this file
    #[arg(help_heading = "Request", long, visible_alias = "data", value_name = "FILE", group = "content")]
    pub body: Option<PathBuf>,
    /// Request content as text
    #[arg(help_heading = "Request", long, value_name = "TEXT", group = "content")]
    pub body_text: Option<String>,
    /// Content-Type of the request content
    #[arg(help_heading = "Request", short = 'T', long, value_name = "TYPE", requires = "content")]
    pub content_type: Option<String>,
    /// File with lines of [WEIGHT] [METHOD] URL, chosen at random by weight
    #[arg(help_heading = "Request", long, visible_alias = "input-file", value_name = "FILE")]
    pub urls: Option<PathBuf>,

    /// Connect to this host instead of the URL's
    #[arg(help_heading = "Connection", long, value_name = "HOST[:PORT]", conflicts_with = "unix")]
    pub connect_to: Option<String>,
    /// Connect to this unix socket
    #[arg(help_heading = "Connection", long, alias = "unix-socket", value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Local addresses to connect from, in turn; each allows about 28,000 connections
    #[arg(help_heading = "Connection", long, value_name = "IP,…", value_delimiter = ',')]
    pub source: Vec<IpAddr>,

    /// Emulate clients at this round-trip time; needs neither root nor a second machine
    #[arg(help_heading = "Connection", long, value_name = "TIME", value_parser = plan::duration)]
    pub rtt: Option<Duration>,
    /// With --rtt: vary each round trip by up to this time
    #[arg(help_heading = "Connection", long, value_name = "TIME", default_value = "0", requires = "rtt", value_parser = plan::duration)]
    pub jitter: Duration,
    /// With --rtt: share of connections that are lost
    #[arg(help_heading = "Connection", long, value_name = "SHARE", default_value = "0", requires = "rtt", value_parser = plan::share)]
    pub loss: f64,

    /// Accept any certificate, without verification
    #[arg(help_heading = "TLS", short = 'k', long)]
    pub insecure: bool,
    /// Trust these root certificates (PEM) instead of the system's
    #[arg(help_heading = "TLS", long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Client certificate (PEM)
    #[arg(help_heading = "TLS", long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Private key of --cert (PEM)
    #[arg(help_heading = "TLS", long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Resume TLS sessions on new connections
    #[arg(help_heading = "TLS", long, value_name = "on|off", default_value = "on")]
    pub tls_resume: Switch,
    /// TLS version [default: the server chooses]
    #[arg(help_heading = "TLS", long, value_name = "VERSION")]
    pub tls: Option<Tls>,
    /// Cipher suites to offer, in order of preference: TLS_AES_128_GCM_SHA256, ECDHE-RSA-AES128-GCM-SHA256, …
    #[arg(help_heading = "TLS", long, value_name = "LIST", value_parser = names(plan::ciphers))]
    pub ciphers: Vec<Names>,
    /// Key exchange groups to offer, in order of preference: X25519MLKEM768, X25519, P-256, …
    #[arg(help_heading = "TLS", long, value_name = "LIST", value_parser = names(plan::groups))]
    pub groups: Option<Names>,

    /// Expected statuses: 200, 2xx, 200-299, separated by commas [default: 200-399]
    #[arg(help_heading = "Checks", long, value_name = "STATUS", value_parser = statuses)]
    pub expect_status: Option<Statuses>,
    /// File with the expected content
    #[arg(help_heading = "Checks", long, value_name = "FILE")]
    pub expect_body: Option<PathBuf>,
    /// Expected length of the content, in bytes
    #[arg(help_heading = "Checks", long, visible_alias = "expect-body-length", value_name = "N")]
    pub expect_length: Option<u64>,

    /// Process of the server, one for each URL [default: the process that listens there on this machine]
    #[arg(help_heading = "Output", long, value_name = "PID,…", value_delimiter = ',')]
    pub server_pid: Vec<u32>,

    /// Write all results as JSON; - is standard output
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a line of results for each run as CSV
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write an HTML page with plots
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Hide the live view
    #[arg(help_heading = "Output", short = 'q', long)]
    pub quiet: bool,
    /// Run the equivalent of this ab, wrk, wrk2, h2load, hey or oha command; further options override it
    #[arg(help_heading = "Output", long, value_name = "COMMAND")]
    pub like: Option<String>,
    /// Print this help
    #[arg(help_heading = "Output", short = 'h', long, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

/// Versions of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Http {
    /// 1.0
    #[value(name = "1.0")]
    Http10,
    /// 1.1
    #[value(name = "1.1", alias = "1")]
    Http11,
    /// 2
    #[value(name = "2", alias = "2.0")]
    Http2,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Tls {
    /// 1.2
    #[value(name = "1.2")]
    Tls12,
    /// 1.3
    #[value(name = "1.3")]
    Tls13,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    /// On
    On,
    /// Off
    Off,
}

/// Ranges of statuses: a separate type, since clap reads a bare list as a repeated option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statuses(pub(super) Vec<(u16, u16)>);

/// Names of suites or groups: a separate type for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names(pub(super) Vec<&'static str>);

type Read = fn(&str) -> Result<Vec<&'static str>, String>;

fn names(read: Read) -> impl Fn(&str) -> Result<Names, String> + Clone {
    move |text| read(text).map(Names)
}

fn statuses(text: &str) -> Result<Statuses, String> {
    plan::statuses(text).map(Statuses)
}

fn keep_alive(text: &str) -> Result<KeepAlive, String> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "yes" => Ok(KeepAlive::On),
        "off" | "no" => Ok(KeepAlive::Off),
        number => match plan::count(number) {
            Ok(1) => Ok(KeepAlive::Off),
            Ok(requests) => Ok(KeepAlive::Requests(requests)),
            Err(_) => Err("write on, off, or the number of requests on each connection".into()),
        },
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub(super) enum Command {
    /// Print the help and exit.
    Help(String),
    /// Measure; with the arguments that would repeat it.
    Bench(Box<Args>, Vec<String>),
}

/// Reads the arguments after `hayami bench`.
///
/// # Errors
/// [`Failure::Usage`]: a line with the fault.
pub(super) fn parse(words: &[OsString]) -> Result<Command, Failure> {
    let words = translated(words)?;
    let program = [OsString::from("hayami bench")];
    match Args::try_parse_from(program.iter().chain(&words)) {
        Ok(args) => {
            let command = ["hayami".to_owned(), "bench".to_owned()].into_iter();
            let rest = words.iter().map(|word| word.to_string_lossy().into_owned());
            Ok(Command::Bench(Box::new(args), command.chain(rest).collect()))
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Command::Help(error.to_string())),
        Err(error) => {
            let text = error.to_string();
            Err(Failure::Usage(text.trim_start_matches("error: ").trim_end().to_owned()))
        }
    }
}

/// The arguments with `--like COMMAND` replaced by its translation. Other options come later, and win.
fn translated(words: &[OsString]) -> Result<Vec<OsString>, Failure> {
    let is_like = |word: &OsString| word == "--like" || word.to_string_lossy().starts_with("--like=");
    let Some(at) = words.iter().position(is_like) else { return Ok(words.to_vec()) };
    let text = words[at].to_string_lossy();
    let (line, after) = match text.split_once('=') {
        Some((_, line)) => (Some(line.to_owned()), at + 1),
        None => (words.get(at + 1).map(|line| line.to_string_lossy().into_owned()), at + 2),
    };
    let line =
        line.ok_or_else(|| Failure::Usage("--like needs a command: --like 'wrk -c 100 http://…'".into()))?;
    let mut like = like::translate(&line).map_err(|error| Failure::Usage(format!("--like: {error}")))?;
    let beside: Vec<_> = words[..at].iter().chain(words.get(after..).unwrap_or_default()).cloned().collect();
    // These two exclude each other.
    if has_option(&beside, "-n", "--requests") {
        drop_option(&mut like, "-d");
    }
    if has_option(&beside, "-d", "--duration") {
        drop_option(&mut like, "-n");
    }
    Ok(like.into_iter().map(OsString::from).chain(beside).collect())
}

/// Whether the arguments have an option: `-d 5`, `-d5`, `--duration 5` or `--duration=5`.
fn has_option(words: &[OsString], short: &str, long: &str) -> bool {
    words.iter().map(|word| word.to_string_lossy()).any(|word| {
        word.starts_with(short)
            || word.strip_prefix(long).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

/// Removes an option and its value from a translated command.
fn drop_option(words: &mut Vec<String>, name: &str) {
    while let Some(at) = words.iter().position(|word| word == name) {
        words.drain(at..(at + 2).min(words.len()));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::bench) fn parsed(line: &str) -> Result<(Args, Vec<String>), String> {
        let words: Vec<OsString> = like::split(line).expect("quoted").into_iter().map(Into::into).collect();
        match parse(&words) {
            Ok(Command::Bench(args, command)) => Ok((*args, command)),
            Ok(Command::Help(text)) => Err(text),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn the_options_of_wrk_ab_and_h2load_are_known_here() {
        let (args, _) = parsed("-c 100 -t4 -d 30s -H 'A: b' -H 'C: d' http://a/").expect("wrk's");
        assert_eq!(
            (args.connections, args.threads, args.duration),
            (Some(100), Some(4), Some(Duration::from_secs(30)))
        );
        assert_eq!(args.header.len(), 2);
        let (args, _) = parsed("-n 1000 -c 10 -m 50 -k https://a/").expect("h2load's");
        assert!((args.requests, args.streams, args.insecure) == (Some(1000), 50, true));
        let (args, _) = parsed("--keepalive 7 --body f -T text/plain --expect-status 2xx,304 a b")
            .expect("a valid command line");
        assert_eq!((args.keepalive, args.url.len()), (KeepAlive::Requests(7), 2));
        assert_eq!(args.expect_status, Some(Statuses(vec![(200, 299), (304, 304)])));
    }

    #[test]
    fn suites_of_both_versions_of_h2loads_options_add_up() {
        let line = "--like 'h2load --ciphers=ECDHE-RSA-AES128-GCM-SHA256 \
            --tls13-ciphers=TLS_AES_128_GCM_SHA256 --groups=X25519:P-256 https://a/'";
        let (args, _) = parsed(line).expect("h2load's");
        let ciphers: Vec<_> = args.ciphers.iter().flat_map(|names| names.0.clone()).collect();
        assert_eq!(ciphers, ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"]);
        assert_eq!(args.groups, Some(Names(vec!["x25519", "secp256r1"])));
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (line, words) in [
            ("", "<URL"),
            ("-d 10x http://a/", "write 10s"),
            ("-n 0 http://a/", "positive integer"),
            ("-n 1 -d 1 http://a/", "cannot be used with"),
            ("--body a --body-text b http://a/", "cannot be used with"),
            ("-T text/plain http://a/", "--body"),
            ("--keepalive maybe http://a/", "on, off, or the number"),
            ("--http 3 http://a/", "possible values"),
            ("--jitter 1ms http://a/", "--rtt"),
            ("--cert x http://a/", "--key"),
            ("--expect-status ok http://a/", "200-299"),
            ("--groups P-521 http://a/", "secp384r1"),
            ("--ciphers RC4 http://a/", "TLS_AES_128_GCM_SHA256"),
            ("--source here http://a/", "IP"),
            ("--like", "needs a command"),
            ("--like 'siege http://a/'", "ab, wrk"),
            ("--conections 5 http://a/", "--connections"),
        ] {
            let error = parsed(line).map(|_| ()).expect_err(line);
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn a_command_of_another_tool_becomes_ours_and_options_beside_it_win() {
        let (args, command) = parsed("-q --like 'ab -c 100 -n 9 http://a/' -c 5").expect("read");
        assert_eq!((args.connections, args.requests, args.keepalive), (Some(5), Some(9), KeepAlive::Off));
        assert_eq!(
            command.join(" "),
            "hayami bench -c 100 -n 9 --http 1.0 --keepalive off --threads 1 http://a/ -q -c 5"
        );
    }

    #[test]
    fn a_duration_beside_like_replaces_its_requests_and_the_other_way_round() {
        let ab = "--like 'ab -n 100 -c 10 http://a/'";
        let wrk = "--like 'wrk -c 10 http://a/'";
        for (line, seconds, requests) in [
            (format!("{ab} -d 1"), Some(1), None),
            (format!("--duration=2 {ab}"), Some(2), None),
            (format!("{ab} -n 7"), None, Some(7)),
            (format!("{wrk} -n 100"), None, Some(100)),
            (format!("{wrk} --requests 100"), None, Some(100)),
            (format!("{wrk} -d5"), Some(5), None),
        ] {
            let (args, _) = parsed(&line).expect(&line);
            assert_eq!(
                (args.duration.map(|time| time.as_secs()), args.requests),
                (seconds, requests),
                "{line}"
            );
        }
        let error = parsed(&format!("{ab} -d 1 -n 5")).map(|_| ()).expect_err("both");
        assert!(error.contains("cannot be used with"), "{error}");
    }

    #[test]
    fn the_help_names_every_option_and_exit_code() {
        let text = parsed("--help").map(|_| ()).expect_err("help");
        for word in ["--rtt", "--like", "130", "--expect-status", "Examples"] {
            assert!(text.contains(word), "{word}");
        }
    }
}
