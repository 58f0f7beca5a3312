//! A server's processes and their memory, from /proc. Their CPU time is reported by `hayami bench`.

use std::collections::BTreeMap;
use std::fs;

/// The fields of /proc/PID/stat used here (`proc(5)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The state: `R`, `S`, `Z` …
    pub(crate) state: char,
    parent: u32,
    /// Clock ticks after boot: with the process id it identifies a process uniquely.
    pub(crate) started: u64,
}

/// The processes of a server: the one started and all its descendants.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        if let Some(stat) = stat(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).into_iter().flatten());
        next += 1;
    }
    found
}

/// The sum of the peak resident sizes of a process tree, in bytes. Shared pages are counted for each process.
pub(crate) fn peak_memory(root: u32) -> u64 {
    sum_of_status(root, "VmHWM:")
}

/// The sum of the current resident sizes of a process tree, in bytes.
pub(crate) fn resident(root: u32) -> u64 {
    sum_of_status(root, "VmRSS:")
}

/// The sum of the current proportional sizes (PSS) of a process tree, in bytes: shared pages are counted once
/// in total. 0 where the kernel does not allow reading them.
pub(crate) fn proportional(root: u32) -> u64 {
    let read = |pid| fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    tree(root).into_iter().filter_map(read).filter_map(|sizes| status_bytes(&sizes, "Pss:")).sum()
}

fn sum_of_status(root: u32, field: &str) -> u64 {
    let read = |pid| fs::read_to_string(format!("/proc/{pid}/status")).ok();
    tree(root).into_iter().filter_map(read).filter_map(|status| status_bytes(&status, field)).sum()
}

/// The stat line of a process; `None` if it has ended.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(line: &str) -> Option<Stat> {
    // The name is in parentheses and may contain any character, including closing parentheses.
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // proc(5) counts from 1, and the state is its field 3, the first here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: number(4)?.try_into().ok()?,
        started: number(22)?,
    })
}

fn status_bytes(status: &str, field: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = rest.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name_is() {
        for name in ["nginx", "a b", ") S 1 (", "((("] {
            let line = format!(
                "77 ({name}) S 12 77 77 0 -1 4194560 500 600 0 0 7 11 2 3 20 0 1 0 123456 9000 200 1 1\n"
            );
            assert_eq!(parse_stat(&line), Some(Stat { state: 'S', parent: 12, started: 123_456 }), "{name}");
        }
        for broken in ["", "77 (x", "77 (x) S 12 77"] {
            assert_eq!(parse_stat(broken), None, "{broken}");
        }
    }

    #[test]
    fn memory_of_a_status_is_in_bytes() {
        let status = "Name:\tx\nVmPeak:\t  9000 kB\nVmHWM:\t    5120 kB\nVmRSS:\t       8 kB\n";
        assert_eq!(status_bytes(status, "VmHWM:"), Some(5120 * 1024));
        assert_eq!(status_bytes(status, "VmRSS:"), Some(8192));
        assert_eq!(status_bytes(status, "VmSwap:"), None);
    }

    #[test]
    fn the_tree_of_a_process_holds_itself_and_its_children() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let own = std::process::id();
        let found = tree(own);
        assert!(found[0] == own && found.contains(&child.id()), "{found:?}");
        assert!(resident(own) > 0 && peak_memory(own) >= resident(own) / 2);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
