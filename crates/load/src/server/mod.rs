//! The server's cost: the CPU time and memory of its processes on this machine.
//!
//! A server is found by its listening socket: `/proc/net/tcp`, `tcp6` and `unix` give the socket's inode,
//! `/proc/*/fd` the processes that hold it. Their children belong to them. Processes of other users show their
//! descriptors to root only; `--server-pid` names a process instead. `cpus` reads the use of the CPUs that
//! they share with the generator.

mod cpus;
mod listening;
mod process;

pub use cpus::Busy;

use crate::ServerCost;
use crate::plan::Address;
use process::Table;
use std::time::Duration;

/// The processes of a server.
#[derive(Clone, Debug)]
pub struct Server {
    roots: Vec<u32>,
}

/// Why there are no figures of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It is on another machine.
    Remote,
    /// It is on this machine, and its processes are not visible to this user.
    Hidden,
    /// There is no such process.
    NoProcess(u32),
}

/// CPU time used so far, by all processes seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user space.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// Whether connections to this address stay on this machine.
pub fn is_local(address: &Address) -> bool {
    listening::is_local(address)
}

impl Server {
    /// The processes that listen on this address of this machine.
    ///
    /// # Errors
    /// There are none, or none that are visible.
    pub fn find(address: &Address) -> Result<Self, Unknown> {
        if !listening::is_local(address) {
            return Err(Unknown::Remote);
        }
        let roots = process::holding(&listening::inodes(address));
        if roots.is_empty() { Err(Unknown::Hidden) } else { Ok(Self { roots }) }
    }

    /// This process and its children.
    ///
    /// # Errors
    /// [`Unknown::NoProcess`].
    pub fn of(pid: u32) -> Result<Self, Unknown> {
        match Table::read().has(pid) {
            true => Ok(Self { roots: vec![pid] }),
            false => Err(Unknown::NoProcess(pid)),
        }
    }

    /// The processes, then their children.
    pub fn processes(&self) -> Vec<u32> {
        Table::read().family(&self.roots)
    }

    /// CPU time of the processes, their children, and those children that ended and were waited for.
    pub fn cpu(&self) -> CpuTime {
        Table::read().cpu(&self.roots)
    }

    /// Memory of all processes now, in bytes: each shared page counted once where available (proportional set
    /// size), else in every process (resident set size).
    pub fn memory(&self) -> u64 {
        Table::read().family(&self.roots).into_iter().map(process::memory).sum()
    }

    /// The cost between two readings, with the largest memory seen.
    pub fn cost(&self, begin: CpuTime, end: CpuTime, memory: u64) -> ServerCost {
        let processes = self.processes();
        let name = self.roots.first().and_then(|&pid| process::name(pid)).unwrap_or_default();
        // The time of a process that ended without being waited for is lost.
        let user = end.user.saturating_sub(begin.user);
        ServerCost { processes, name, user, system: end.system.saturating_sub(begin.system), memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_of_a_child_is_found_with_its_time_and_memory() {
        // Only this process listens here, and a generator never counts itself.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = Address::Tcp(listener.local_addr().expect("an address"));
        assert_eq!(listening::inodes(&address).len(), 1);
        assert_eq!(Server::find(&address).err(), Some(Unknown::Hidden));
    }

    #[test]
    fn servers_elsewhere_and_processes_that_are_not_there() {
        let elsewhere = Address::Tcp(([192, 0, 2, 1], 80).into());
        assert_eq!(Server::find(&elsewhere).err(), Some(Unknown::Remote));
        assert_eq!(Server::of(u32::MAX).err(), Some(Unknown::NoProcess(u32::MAX)));
    }

    #[test]
    fn a_process_that_works_pays() {
        let server = Server::of(std::process::id()).expect("it runs");
        let begin = server.cpu();
        let mut sum = 0u64;
        while server.cpu() == begin {
            sum = (0..1_000_000u64).fold(sum, |sum, next| sum.rotate_left(5) ^ next);
        }
        let cost = server.cost(begin, server.cpu(), server.memory());
        assert!(cost.user + cost.system > Duration::ZERO && sum != 1);
        assert!(cost.memory > 100_000, "{}", cost.memory);
        assert_eq!(cost.processes.first(), Some(&std::process::id()));
        assert!(!cost.name.is_empty());
    }
}
