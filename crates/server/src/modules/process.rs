//! The process: its user, its threads, its files, and options of all its sockets.
//!
//! The program applies these settings: it switches users, counts CPUs and writes the pid file.

use crate::config::directive::{Directive, Levels, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use std::path::PathBuf;

/// The settings of this feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `user`; `None`: root switches to `nobody`.
    pub user: Option<String>,
    /// `num-threads`
    pub threads: Threads,
    /// `num-name-resolution-threads`
    pub name_resolution_threads: usize,
    /// `pid-file`
    pub pid_file: Option<PathBuf>,
    /// `tcp-fastopen`: length of the queue, 0 for none.
    pub tcp_fastopen: u32,
    /// `tcp-reuseport`
    pub tcp_reuseport: bool,
}

impl FeatureSetting for Settings {}

/// The number of workers, and the CPUs they run on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One per CPU that the process may use.
    #[default]
    Usable,
    /// This many.
    Number(usize),
    /// One pinned to each of these CPUs; a CPU may occur twice.
    Cpus(Vec<usize>),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user: None,
            threads: Threads::Usable,
            name_resolution_threads: 32,
            pid_file: None,
            tcp_fastopen: 4096,
            tcp_reuseport: true,
        }
    }
}

/// More threads than this must be a typo: no machine has as many CPUs.
const MOST_THREADS: u64 = 4096;

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("The process", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "user",
        levels: Levels::GLOBAL,
        argument: "the name of a user",
        default: "nobody, if started as root",
        help: "The user that the server runs as once its ports are bound. `user: root` keeps root privileges.",
        set: |scope, node| {
            let name = node.text().ok().filter(|name| !name.is_empty() && !name.contains([':', '/', '\0']));
            let name = name.ok_or_else(|| node.expected("the name of a user"))?;
            scope.global.get_mut::<Settings>().user = Some(name.to_owned());
            Ok(())
        },
    },
    Directive {
        name: "num-threads",
        levels: Levels::GLOBAL,
        argument: "a number, or a sequence of CPUs such as `[0, 2-5]`",
        default: "the CPUs that the process may use",
        help: "The number of workers. A sequence pins one worker to each of the listed CPUs. A reload starts and \
               removes workers without losing a connection.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().threads = threads(node)?;
            Ok(())
        },
    },
    Directive {
        name: "num-name-resolution-threads",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "32",
        help: "The maximum number of threads that resolve names from requests (CONNECT, `x-reproxy-url`), \
               and of further threads that resolve names of upstreams; they are started on demand. Up to 32 \
               lookups per thread are queued for requests; beyond that a request gets 503.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().name_resolution_threads =
                node.integer(1..=MOST_THREADS)? as usize;
            Ok(())
        },
    },
    Directive {
        name: "pid-file",
        levels: Levels::GLOBAL,
        argument: "a path",
        default: "none",
        help: "The file that contains the process ID while the server runs.",
        set: |scope, node| {
            let path = node.text().ok().filter(|path| !path.is_empty() && !path.contains('\0'));
            let path = path.ok_or_else(|| node.expected("the path of a file"))?;
            scope.global.get_mut::<Settings>().pid_file = Some(PathBuf::from(path));
            Ok(())
        },
    },
    Directive {
        name: "tcp-fastopen",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "4096",
        help: "The length of the queue for TCP Fast Open, which lets a client send its request with the \
               first packet; 0 disables it.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().tcp_fastopen = node.integer(0..=0x7fff_ffff)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "tcp-reuseport",
        levels: Levels::GLOBAL,
        argument: "ON | OFF",
        default: "ON",
        help: "Whether every worker has its own accept queue (SO_REUSEPORT) or all workers share one.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().tcp_reuseport = node.on_off()?;
            Ok(())
        },
    },
];

fn threads(node: &Node) -> Result<Threads, ConfigError> {
    match &node.value {
        Value::Scalar(_) => Ok(Threads::Number(node.integer(1..=MOST_THREADS)? as usize)),
        Value::Sequence(nodes) if !nodes.is_empty() => {
            let mut cpus = Vec::new();
            for node in nodes {
                cpus.extend(self::cpus(node)?);
            }
            if cpus.len() as u64 > MOST_THREADS {
                return Err(node.error(format!("more than {MOST_THREADS} threads")));
            }
            Ok(Threads::Cpus(cpus))
        }
        _ => Err(node.expected("a number of threads, or a sequence of CPUs such as `[0, 2-5]`")),
    }
}

/// `3` or `2-5`
fn cpus(node: &Node) -> Result<std::ops::RangeInclusive<usize>, ConfigError> {
    let wanted = || node.expected("the number of a CPU, such as `3`, or a range, such as `2-5`");
    let text = node.text().map_err(|_| wanted())?;
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| Node::scalar(text.trim()).integer(0..=MOST_THREADS - 1).map_err(|_| wanted());
    let (first, last) = (number(first)? as usize, number(last)? as usize);
    if first > last { Err(wanted()) } else { Ok(first..=last) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::load_text;

    fn read(line: &str) -> Result<Settings, String> {
        let text = format!("{line}\nlisten: 80\nhosts: {{a: {{paths: {{}}}}}}\n");
        let loaded = load_text("test", &text).map_err(|errors| errors.errors[0].message.clone())?;
        Ok(loaded.settings.global.get::<Settings>().clone())
    }

    #[test]
    fn threads_are_a_number_or_a_list_of_cpus() {
        for (line, want) in [
            ("num-threads: 16", Threads::Number(16)),
            ("num-threads: [0]", Threads::Cpus(vec![0])),
            ("num-threads: [0, 2-4, 0]", Threads::Cpus(vec![0, 2, 3, 4, 0])),
            ("num-threads: [1-1]", Threads::Cpus(vec![1])),
        ] {
            assert_eq!(read(line).unwrap().threads, want, "{line}");
        }
        for line in ["0", "-1", "[]", "[4-2]", "[1-]", "[-1]", "[a]", "[[1]]", "{a: 1}", "9999999", "[1.5]"] {
            assert!(read(&format!("num-threads: {line}")).is_err(), "{line}");
        }
    }
}
