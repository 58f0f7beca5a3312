//! The CPUs that programs may use, and how busy they are (proc_pid_status(5), proc_stat(5)).

use super::Server;
use super::process::ticks;
use crate::CpuRoom;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{read_dir, read_to_string};

/// The use of each CPU of this machine so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Busy(BTreeMap<usize, Ticks>);

/// Clock ticks of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    /// Programs, and other virtual machines on the same host.
    busy: u64,
    idle: u64,
}

impl Busy {
    /// Since the machine was started.
    pub fn read() -> Self {
        Self::of(&read_to_string("/proc/stat").unwrap_or_default())
    }

    fn of(stat: &str) -> Self {
        Self(stat.lines().filter_map(cpu).collect())
    }

    /// The CPUs that this program and the server may use, and their use between two readings. `None`:
    /// unknown.
    pub fn room(&self, end: &Self, server: Option<&Server>) -> Option<CpuRoom> {
        let generator = allowed(std::process::id());
        let processes = server.map(Server::processes).unwrap_or_default();
        let server: BTreeSet<_> = processes.into_iter().flat_map(allowed).collect();
        let (mut busy, mut idle) = (0, 0);
        for cpu in generator.union(&server) {
            let (from, to) = (self.0.get(cpu)?, end.0.get(cpu)?);
            busy += to.busy.saturating_sub(from.busy);
            idle += to.idle.saturating_sub(from.idle);
        }
        let list = |cpus: BTreeSet<usize>| cpus.into_iter().collect::<Vec<_>>();
        (!generator.is_empty()).then(|| CpuRoom {
            generator: list(generator),
            server: list(server),
            busy: ticks(busy),
            idle: ticks(idle),
        })
    }
}

/// `cpu0 user nice system idle iowait irq softirq steal …`. Interrupts are left out: they are caused by the
/// network, and belong to what is measured.
fn cpu(line: &str) -> Option<(usize, Ticks)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let number = words.next()?.parse().ok()?;
    let count: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| count.get(index).copied().unwrap_or(0);
    (count.len() >= 4).then(|| (number, Ticks { busy: at(0) + at(1) + at(2) + at(7), idle: at(3) + at(4) }))
}

/// The CPUs that a process's threads may use.
fn allowed(process: u32) -> BTreeSet<usize> {
    let threads = read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let status = threads.filter_map(|thread| read_to_string(thread.path().join("status")).ok());
    status.filter_map(|text| Some(list(named(&text)?))).flatten().collect()
}

fn named(status: &str) -> Option<&str> {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
}

/// `0-2,5`.
fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.trim().parse().ok()?..=high.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        let cases: [(&str, &[usize]); 4] =
            [("\t0-2,5\n", &[0, 1, 2, 5]), ("1", &[1]), ("", &[]), ("0,2-3", &[0, 2, 3])];
        for (text, cpus) in cases {
            assert_eq!(list(text), cpus, "{text}");
        }
        assert_eq!(named("Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"), Some("\t0-1"));
    }

    #[test]
    fn interrupts_are_neither_busy_nor_idle() {
        let stat =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 50 600 700 8 0 0\ncpu12 1 0 0 5 0 0 0 0 0 0\nintr 1\n";
        let Busy(cpus) = Busy::of(stat);
        assert_eq!(cpus.len(), 2, "the sum is none");
        assert_eq!(cpus[&0], Ticks { busy: 14, idle: 90 });
        assert_eq!(cpus[&12], Ticks { busy: 1, idle: 5 });
    }

    #[test]
    fn this_process_has_room_on_the_cpus_it_may_use() {
        let begin = Busy::read();
        let room = begin.room(&Busy::read(), None).expect("the kernel reports it");
        assert!(room.generator.len() >= std::thread::available_parallelism().map_or(1, usize::from));
        assert!(room.server.is_empty());
    }
}
