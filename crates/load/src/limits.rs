//! What the system allows: open files, and ports to connect from.

use crate::plan::{Address, KeepAlive, Plan};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ops::RangeInclusive;

/// Descriptors other than connections: epolls, clocks, the terminal, reports.
const RESERVE: u64 = 64;

/// Descriptors that a plan needs.
pub fn files_needed(plan: &Plan) -> u64 {
    // With jitter, the start of a connection may overtake the end of the previous one.
    let is_uneven = plan.distance.is_some_and(|distance| !distance.jitter.is_zero());
    let overtaking = if is_uneven && renews(plan) { plan.connections / 4 } else { 0 };
    (plan.connections + overtaking) as u64 + 4 * plan.threads as u64 + RESERVE
}

/// Raises the open-files limit up to `needed`, beyond the hard limit if permitted; returns the new limit.
pub fn raise_files(needed: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let (current, maximum) = (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX));
    if current < needed {
        let wanted = Rlimit { current: Some(needed.min(maximum)), maximum: limit.maximum };
        let _ = setrlimit(Resource::Nofile, wanted);
        if maximum < needed {
            // Only root may raise the hard limit.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: Some(needed) });
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Why a plan cannot be run with this open-files limit, and the remedy.
pub fn files_short(plan: &Plan, limit: u64) -> Option<String> {
    let needed = files_needed(plan);
    (limit < needed).then(|| {
        let room = limit.saturating_sub(needed - plan.connections as u64);
        format!(
            "{} connections need {needed} open files, but the limit is {limit}: \
             raise it as root (ulimit -n {needed}), or use at most -c {room}",
            plan.connections
        )
    })
}

/// How many local ports connections of one source address may use, by the system's setting.
pub fn ports() -> u64 {
    port_range().len() as u64
}

/// The system's setting itself.
pub(crate) fn port_range() -> RangeInclusive<u16> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range(&text).unwrap_or(32_768..=60_999)
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut numbers = text.split_whitespace().map(str::parse);
    let (low, high) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (high >= low).then_some(low..=high)
}

/// Whether connections come and go during the run.
pub(crate) fn renews(plan: &Plan) -> bool {
    plan.keep_alive != KeepAlive::On
}

/// Ports of all source addresses together.
pub(crate) fn ports_of(plan: &Plan, ports: u64) -> u64 {
    ports * plan.sources.len().max(1) as u64
}

/// Why a plan has too few local ports, and the remedy; determined before the run.
pub fn ports_short(plan: &Plan, ports: u64) -> Option<String> {
    let tcp = plan.targets.iter().any(|target| matches!(target.address, Address::Tcp(_)));
    let room = ports_of(plan, ports);
    let connections = plan.connections as u64;
    (tcp && connections > room).then(|| {
        format!(
            "{connections} connections to one address and port need more than the {room} local ports: {}",
            more_ports(connections.div_ceil(ports).max(2))
        )
    })
}

/// The remedies when local ports run out.
pub(crate) fn more_ports(sources: u64) -> String {
    let list: Vec<_> = (2..2 + sources.min(4)).map(|last| format!("127.0.0.{last}")).collect();
    format!(
        "connect from {sources} local addresses (on this machine: --source {}), or widen \
         net.ipv4.ip_local_port_range",
        list.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::plan;

    #[test]
    fn the_limit_is_raised_as_far_as_needed() {
        let before = raise_files(0);
        assert!(raise_files(before) >= before);
        assert!(raise_files(32) >= before, "never lowered");
    }

    #[test]
    fn too_few_files_say_how_many_connections_fit() {
        let plan = Plan { connections: 1000, threads: 2, ..plan() };
        assert_eq!(files_short(&plan, 1072), None);
        let text = files_short(&plan, 500).expect("too few");
        assert!(text.contains("ulimit -n 1072") && text.contains("-c 428"), "{text}");
    }

    #[test]
    fn ports_are_counted_for_each_source() {
        let mut plan = Plan { connections: 50_000, ..plan() };
        assert!(ports_short(&plan, 28_232).is_some_and(|text| text.contains("--source 127.0.0.2,127.0.0.3")));
        plan.sources = vec![[127, 0, 0, 2].into(), [127, 0, 0, 3].into()];
        assert_eq!(ports_short(&plan, 28_232), None);
        plan.sources.clear();
        plan.targets[0].address = Address::Unix("/run/x".into());
        assert_eq!(ports_short(&plan, 28_232), None, "no ports there");
    }

    #[test]
    fn the_range_is_read_as_the_kernel_writes_it() {
        assert_eq!(range("32768\t60999\n"), Some(32_768..=60_999));
        assert_eq!(range(""), None);
        assert_eq!(range("5 1"), None);
    }
}
