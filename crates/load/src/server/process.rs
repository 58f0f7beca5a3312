//! Processes, as /proc shows them (proc_pid_stat(5), proc_pid_smaps(5)).

use super::CpuTime;
use std::collections::HashSet;
use std::fs::{read_dir, read_link, read_to_string};
use std::time::Duration;

/// The figures of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    pid: u32,
    parent: u32,
    /// Clock ticks in user space and kernel, with those of children that were waited for.
    user: u64,
    system: u64,
}

/// All processes at one moment.
pub(super) struct Table(Vec<Row>);

impl Table {
    pub(super) fn read() -> Self {
        let stat = |pid| row(&read_to_string(format!("/proc/{pid}/stat")).ok()?);
        Self(pids().into_iter().filter_map(stat).collect())
    }

    pub(super) fn has(&self, pid: u32) -> bool {
        self.0.iter().any(|row| row.pid == pid)
    }

    /// The roots, then their children, then theirs: process IDs wrap, so a child's may be lower than its
    /// parent's.
    pub(super) fn family(&self, roots: &[u32]) -> Vec<u32> {
        let mut family: Vec<u32> = roots.iter().copied().filter(|&pid| self.has(pid)).collect();
        let mut known: HashSet<u32> = family.iter().copied().collect();
        let mut next = 0;
        while let Some(&parent) = family.get(next) {
            let children = self.0.iter().filter(|row| row.parent == parent && known.insert(row.pid));
            family.extend(children.map(|row| row.pid));
            next += 1;
        }
        family
    }

    pub(super) fn cpu(&self, roots: &[u32]) -> CpuTime {
        let family: HashSet<_> = self.family(roots).into_iter().collect();
        let own = self.0.iter().filter(|row| family.contains(&row.pid));
        let (user, system) = own.fold((0, 0), |sum, row| (sum.0 + row.user, sum.1 + row.system));
        CpuTime { user: ticks(user), system: ticks(system) }
    }
}

pub(super) fn ticks(count: u64) -> Duration {
    let a_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_secs_f64(count as f64 / a_second as f64)
}

/// `pid (name) state ppid …`; the name may hold anything, parentheses too.
fn row(stat: &str) -> Option<Row> {
    let (pid, rest) = stat.split_once(" (")?;
    let fields: Vec<&str> = rest.rsplit_once(')')?.1.split_whitespace().collect();
    // Fields 14 to 17 of proc_pid_stat(5): utime, stime, cutime, cstime; the state is field 3.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let parent = fields.get(1)?.parse().ok()?;
    let (user, system) = (number(14)? + number(16)?, number(15)? + number(17)?);
    Some(Row { pid: pid.parse().ok()?, parent, user, system })
}

fn pids() -> Vec<u32> {
    let entries = read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The processes, other than this one, that have one of these sockets open.
pub(super) fn holding(inodes: &HashSet<u64>) -> Vec<u32> {
    let own = std::process::id();
    let holds = |pid: &u32| {
        let open = read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let links = open.filter_map(|entry| read_link(entry.path()).ok());
        links.filter_map(|link| socket(link.to_str()?)).any(|inode| inodes.contains(&inode))
    };
    if inodes.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<_> = pids().into_iter().filter(|&pid| pid != own).filter(holds).collect();
    found.sort_unstable();
    found
}

/// `socket:[123]`.
fn socket(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Bytes of memory of a process.
pub(super) fn memory(pid: u32) -> u64 {
    let proportional =
        read_to_string(format!("/proc/{pid}/smaps_rollup")).ok().and_then(|text| kib(&text, "Pss:"));
    let resident = || kib(&read_to_string(format!("/proc/{pid}/status")).ok()?, "VmRSS:");
    proportional.or_else(resident).unwrap_or(0) * 1024
}

fn kib(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse().ok())
}

/// A process's name.
pub(super) fn name(pid: u32) -> Option<String> {
    Some(read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "7 (a) b (c) S 3 7 7 0 -1 4194560 1 2 3 4 50 60 5 6 20 0 1 0 100 200 300\n";
        assert_eq!(row(stat), Some(Row { pid: 7, parent: 3, user: 55, system: 66 }));
        assert_eq!(row(""), None);
        assert_eq!(row("7 (a) S 1"), None);
    }

    #[test]
    fn a_family_is_everybody_below() {
        let row = |(pid, parent)| Row { pid, parent, user: 1, system: 2 };
        let table = Table([(1, 0), (5, 1), (4, 5), (6, 4), (9, 1)].map(row).to_vec());
        assert_eq!(table.family(&[5]), [5, 4, 6]);
        assert_eq!(table.family(&[4, 9, 77]), [4, 9, 6]);
        assert_eq!(table.cpu(&[5]), CpuTime { user: ticks(3), system: ticks(6) });
    }

    #[test]
    fn sockets_and_memory_are_read_as_the_kernel_writes_them() {
        assert_eq!(socket("socket:[123]"), Some(123));
        assert_eq!(socket("/dev/null"), None);
        assert_eq!(kib("Rss: 9 kB\nPss:       12 kB\nPss_Dirty: 1 kB\n", "Pss:"), Some(12));
    }
}
