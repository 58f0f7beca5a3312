//! The options of other load generators: a table for each, with the corresponding `hayami bench` options.
//! Those of hey and oha are in `hey`.

use super::hey;
use super::tool::Does::{Flag, Ignore, IgnoreValue, Same, Through};
use super::tool::{Opt, Tool, basic, field, opt};

/// The load generator of that name.
pub(super) fn named(name: &str) -> Option<&'static Tool> {
    [&AB, &WRK, &WRK2, &H2LOAD, &hey::HEY, &hey::OHA].into_iter().find(|tool| tool.name == name)
}

/// Apache's ab: HTTP/1.0, one thread, a connection for each request.
static AB: Tool = Tool {
    name: "ab",
    options: &[
        opt(&["-c"], Same("-c")),
        opt(&["-n"], Same("-n")),
        opt(&["-t"], Same("-d")),
        opt(&["-s"], Same("--timeout")),
        opt(&["-k"], Flag(&["--keepalive", "on"])),
        opt(&["-i"], Flag(&["-X", "HEAD"])),
        opt(&["-m"], Same("-X")),
        opt(&["-p"], Through(|file| Ok(body("POST", file)))),
        opt(&["-u"], Through(|file| Ok(body("PUT", file)))),
        opt(&["-T"], Same("-T")),
        opt(&["-H"], Same("-H")),
        opt(&["-C"], Through(|value| Ok(field("Cookie", value)))),
        opt(&["-A"], Through(|value| Ok(basic(value)))),
        opt(&["-B"], Same("--source")),
        opt(&["-g", "-e", "-x", "-y", "-z", "-v", "-b"], IgnoreValue),
        opt(&["-d", "-q", "-r", "-l", "-S", "-w", "-V"], Ignore),
    ],
    defaults: &[
        (&["-c"], &["-c", "1"]),
        (&["-n", "-t"], &["-n", "1"]),
        (&[], &["--http", "1.0"]),
        (&["-k"], &["--keepalive", "off"]),
        (&[], &["--threads", "1"]),
    ],
    method: None,
    duration_wins: false,
    long_with_one_dash: false,
};

/// wrk: HTTP/1.1, connections kept.
static WRK: Tool = wrk("wrk");

/// wrk2: wrk with a rate.
static WRK2: Tool = wrk("wrk2");

const fn wrk(name: &'static str) -> Tool {
    Tool {
        name,
        options: WRK_OPTIONS,
        defaults: WRK_DEFAULTS,
        method: None,
        duration_wins: false,
        long_with_one_dash: false,
    }
}

const WRK_OPTIONS: &[Opt] = &[
    opt(&["-c", "--connections"], Same("-c")),
    opt(&["-t", "--threads"], Same("-t")),
    opt(&["-d", "--duration"], Same("-d")),
    // wrk2 was made to be installed as `wrk`, and often is.
    opt(&["-R", "--rate"], Same("-r")),
    opt(&["-H", "--header"], Same("-H")),
    opt(&["--timeout"], Same("--timeout")),
    opt(&["-L", "--latency", "-U", "--u_latency"], Ignore),
];

type Defaults = &'static [(&'static [&'static str], &'static [&'static str])];

const WRK_DEFAULTS: Defaults = &[
    (&["-c"], &["-c", "10"]),
    (&["-t"], &["-t", "2"]),
    (&["-d"], &["-d", "10s"]),
    (&[], &["--http", "1.1"]),
];

/// h2load: HTTP/2, also on plain connections; it never checks certificates.
static H2LOAD: Tool = Tool {
    name: "h2load",
    options: &[
        opt(&["-n", "--requests"], Same("-n")),
        opt(&["-c", "--clients"], Same("-c")),
        opt(&["-t", "--threads"], Same("-t")),
        opt(&["-m", "--max-concurrent-streams"], Same("-m")),
        opt(&["-D", "--duration"], Same("-d")),
        opt(&["--warm-up-time"], Same("--warm-up")),
        opt(
            &["-T", "--connection-active-timeout", "-N", "--connection-inactivity-timeout"],
            Same("--timeout"),
        ),
        opt(&["-H", "--header"], Same("-H")),
        opt(&["-d", "--data"], Through(|file| Ok(body("POST", file)))),
        opt(&["-i", "--input-file"], Same("--urls")),
        opt(&["--h1"], Flag(&["--http", "1.1"])),
        opt(&["-p", "--no-tls-proto"], Through(plain_protocol)),
        opt(&["--connect-to"], Same("--connect-to")),
        // h2load has an option for the suites of each version; `--ciphers` accepts both kinds and accumulates
        // them.
        opt(&["--ciphers"], Same("--ciphers")),
        opt(&["--tls13-ciphers"], Same("--ciphers")),
        opt(&["--groups"], Same("--groups")),
        opt(&["-B", "--base-uri"], Through(|url| Ok(vec![url.into()]))),
        opt(&["--log-file", "-f", "--max-frame-size"], IgnoreValue),
        opt(&["-w", "--window-bits", "-W", "--connection-window-bits"], IgnoreValue),
        opt(&["--header-table-size", "--encoder-header-table-size"], IgnoreValue),
        opt(&["-v", "--verbose"], Ignore),
    ],
    defaults: &[
        (&["-n", "-D"], &["-n", "1"]),
        (&["-c"], &["-c", "1"]),
        (&["-t"], &["-t", "1"]),
        (&["--h1", "-p"], &["--http", "2"]),
        (&[], &["-k"]),
    ],
    method: None,
    duration_wins: false,
    long_with_one_dash: false,
};

fn body(method: &str, file: &str) -> Vec<String> {
    ["-X", method, "--body", file].map(String::from).into()
}

fn plain_protocol(name: &str) -> Result<Vec<String>, String> {
    match name {
        "h2c" => Ok(["--http", "2"].map(String::from).into()),
        "http/1.1" => Ok(["--http", "1.1"].map(String::from).into()),
        _ => Err(format!("h2load's protocol {name} is not supported; use h2c or http/1.1")),
    }
}
