//! The options of other load generators: a table for each, with the corresponding `hayami bench` options.
//! Those of hey and oha are in `hey`.

use super::hey;

/// Another load generator.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) options: &'static [Opt],
    /// Arguments for its defaults: added unless one of these options occurred.
    pub(super) defaults: &'static [(&'static [&'static str], &'static [&'static str])],
    /// The method of requests with content, if it is not POST.
    pub(super) method: Option<DefaultMethod>,
    /// With a duration, a number of requests has no effect.
    pub(super) duration_wins: bool,
    /// Options of several letters begin with one dash, and letters are not joined (Go's `flag`).
    pub(super) long_with_one_dash: bool,
}

/// The method of requests with content.
#[derive(Clone, Copy)]
pub(super) struct DefaultMethod {
    /// The options for content.
    pub(super) content: &'static [&'static str],
    /// The option that names a method.
    pub(super) named_by: &'static str,
    /// The method without it.
    pub(super) method: &'static str,
}

/// An option with its names and its translation.
pub(super) struct Opt {
    pub(super) names: &'static [&'static str],
    pub(super) does: Does,
}

/// The translation of an option.
pub(super) enum Does {
    /// Nothing: it changes what is printed.
    Ignore,
    /// The same, with a value.
    IgnoreValue,
    /// The `hayami bench` option, with the value.
    Same(&'static str),
    /// These arguments; the option has no value.
    Flag(&'static [&'static str]),
    /// Arguments made from its value.
    Through(fn(&str) -> Result<Vec<String>, String>),
}

impl Does {
    pub(super) fn takes_value(&self) -> bool {
        matches!(self, Self::IgnoreValue | Self::Same(_) | Self::Through(_))
    }
}

impl Tool {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        [&AB, &WRK, &WRK2, &H2LOAD, &hey::HEY, &hey::OHA].into_iter().find(|tool| tool.name == name)
    }

    pub(super) fn find(&self, name: &str) -> Option<&'static Opt> {
        self.options.iter().find(|option| option.names.contains(&name))
    }
}

pub(super) const fn opt(names: &'static [&'static str], does: Does) -> Opt {
    Opt { names, does }
}

use Does::{Flag, Ignore, IgnoreValue, Same, Through};

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

pub(super) fn field(name: &str, value: &str) -> Vec<String> {
    vec!["-H".into(), format!("{name}: {value}")]
}

fn plain_protocol(name: &str) -> Result<Vec<String>, String> {
    match name {
        "h2c" => Ok(["--http", "2"].map(String::from).into()),
        "http/1.1" => Ok(["--http", "1.1"].map(String::from).into()),
        _ => Err(format!("h2load's protocol {name} is not supported; use h2c or http/1.1")),
    }
}

/// The Basic scheme (RFC 7617 §2): user, colon and password in base64 (RFC 4648 §4).
pub(super) fn basic(credentials: &str) -> Vec<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for bytes in credentials.as_bytes().chunks(3) {
        let group =
            bytes.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
        for place in 0..4 {
            match place <= bytes.len() {
                true => text.push(DIGITS[(group >> (18 - 6 * place) & 63) as usize] as char),
                false => text.push('='),
            }
        }
    }
    field("Authorization", &format!("Basic {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        for (text, coded) in [("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("user:pass", "dXNlcjpwYXNz")] {
            assert_eq!(basic(text)[1], format!("Authorization: Basic {coded}"));
        }
    }
}
