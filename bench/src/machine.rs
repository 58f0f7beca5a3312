//! Where and on what the race was run.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

/// The facts that results depend on.
pub(crate) struct Machine {
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
}

impl Machine {
    /// Collects the facts; unknown ones are `unknown`.
    pub(crate) fn look() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            commit: commit(),
            date: output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            cpu: model(&cpuinfo).unwrap_or_else(unknown),
            cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).collect::<HashSet<_>>().len(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().into()),
        }
    }
}

/// The commit of the tree, marked if there are uncommitted changes.
fn commit() -> String {
    let tree = env!("CARGO_MANIFEST_DIR");
    let head = output("git", &["-C", tree, "rev-parse", "HEAD"]);
    let changed = output("git", &["-C", tree, "status", "--porcelain", "--untracked-files=no"]);
    if changed.is_empty() { head } else { format!("{head} with uncommitted changes") }
}

fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn output(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => unknown(),
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}
