//! hey, and oha, which is modelled on it.

use super::tool::Does::{Flag, Ignore, IgnoreValue, Same, Through};
use super::tool::{DefaultMethod, Tool, basic, field, opt};

/// hey: Go's client, connections kept.
pub(super) static HEY: Tool = Tool {
    name: "hey",
    options: &[
        opt(&["-n"], Same("-n")),
        opt(&["-c"], Same("-c")),
        opt(&["-z"], Same("-d")),
        opt(&["-cpus"], Same("-t")),
        opt(&["-t"], Same("--timeout")),
        opt(&["-m"], Same("-X")),
        opt(&["-H"], Same("-H")),
        opt(&["-A"], Through(|value| Ok(field("Accept", value)))),
        opt(&["-U"], Through(|value| Ok(field("User-Agent", value)))),
        opt(&["-a"], Through(|value| Ok(basic(value)))),
        opt(&["-d"], Same("--body-text")),
        opt(&["-D"], Same("--body")),
        opt(&["-T"], Same("-T")),
        opt(&["-host"], Through(|value| Ok(field("Host", value)))),
        opt(&["-h2"], Flag(&["--http", "2"])),
        opt(&["-disable-keepalive"], Flag(&["--keepalive", "off"])),
        opt(&["-disable-compression", "-disable-redirects"], Ignore),
        opt(&["-o"], IgnoreValue),
    ],
    defaults: &[(&["-n", "-z"], &["-n", "200"]), (&["-c"], &["-c", "50"])],
    method: Some(GET_WITH_BODY),
    duration_wins: true,
    long_with_one_dash: true,
};

/// oha: HTTP/1.1 by default, with persistent connections.
pub(super) static OHA: Tool = Tool {
    name: "oha",
    options: &[
        opt(&["-n"], Same("-n")),
        opt(&["-c"], Same("-c")),
        opt(&["-p"], Same("-m")),
        opt(&["-z"], Same("-d")),
        opt(&["-q"], Same("-r")),
        opt(&["-t"], Same("--timeout")),
        opt(&["-m", "--method"], Same("-X")),
        opt(&["-H"], Same("-H")),
        opt(&["-A"], Through(|value| Ok(field("Accept", value)))),
        opt(&["-a"], Through(|value| Ok(basic(value)))),
        opt(&["-d"], Same("--body-text")),
        opt(&["-D"], Same("--body")),
        opt(&["-T"], Same("-T")),
        opt(&["--host"], Through(|value| Ok(field("Host", value)))),
        opt(&["--http-version"], Through(oha_version)),
        opt(&["--http2"], Flag(&["--http", "2"])),
        opt(&["--disable-keepalive"], Flag(&["--keepalive", "off"])),
        opt(&["--disable-compression"], Ignore),
        opt(&["--insecure"], Flag(&["-k"])),
        opt(&["--cacert"], Same("--cacert")),
        opt(&["--cert"], Same("--cert")),
        opt(&["--key"], Same("--key")),
        opt(&["--connect-to"], Through(oha_connect_to)),
        opt(&["--unix-socket"], Same("--unix")),
        opt(&["--no-tui"], Flag(&["-q"])),
        opt(&["-j", "--json"], Flag(&["--json", "-"])),
        opt(&["--output-format"], Through(oha_output)),
        // Rates are always corrected for coordinated omission; both figures are printed.
        opt(&["--latency-correction"], Ignore),
        // Redirects are not followed: a redirect is a response like any other.
        opt(&["-r", "--redirect"], IgnoreValue),
        opt(&["--fps", "-u", "--time-unit", "--connect-timeout"], IgnoreValue),
        opt(&["--no-color", "--disable-color", "--stats-success-breakdown", "--no-pre-lookup"], Ignore),
        opt(&["-w", "--wait-ongoing-requests-after-deadline"], Ignore),
    ],
    defaults: &[
        (&["-n", "-z"], &["-n", "200"]),
        (&["-c"], &["-c", "50"]),
        (&["--http-version", "--http2"], &["--http", "1.1"]),
        (&["--disable-compression"], &["-H", "Accept-Encoding: gzip, compress, deflate, br"]),
    ],
    method: Some(GET_WITH_BODY),
    duration_wins: true,
    long_with_one_dash: false,
};

/// Options with content, those that name a method, and the method without them.
const GET_WITH_BODY: DefaultMethod = DefaultMethod { content: &["-d", "-D"], named_by: "-m", method: "GET" };

fn oha_version(version: &str) -> Result<Vec<String>, String> {
    match version {
        "1.0" | "1.1" | "2" => Ok(vec!["--http".into(), version.into()]),
        "2.0" => Ok(vec!["--http".into(), "2".into()]),
        _ => Err(format!("oha's HTTP version {version} is not supported; use 1.0, 1.1 or 2")),
    }
}

/// `example.org:443:localhost:8443`: host and port of the URL, and where to connect to instead.
fn oha_connect_to(text: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("oha's --connect-to {text} is not HOST:PORT:TARGET:TARGET_PORT");
    let (rest, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    // An IPv6 address contains colons and is in brackets.
    let split = if rest.ends_with(']') { rest.rfind(":[") } else { rest.rfind(':') }.ok_or_else(wrong)?;
    let (from, host) = (&rest[..split], &rest[split + 1..]);
    match from.contains(':') && !host.is_empty() {
        true => Ok(vec!["--connect-to".into(), format!("{host}:{port}")]),
        false => Err(wrong()),
    }
}

fn oha_output(format: &str) -> Result<Vec<String>, String> {
    match format {
        "text" => Ok(Vec::new()),
        "quiet" => Ok(vec!["-q".into()]),
        "json" | "csv" => Ok(vec![format!("--{format}"), "-".into()]),
        _ => Err(format!("oha's output format {format} is not supported; use text, json, csv or quiet")),
    }
}
