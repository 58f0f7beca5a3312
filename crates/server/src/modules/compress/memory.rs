//! Limits the memory of a worker's encoders.
//!
//! The encoder of a response waits if its client reads slowly, and there may be many such clients. All encoders of the
//! process together take at most one part in [`PART`] of the memory available to it; workers that compress share it
//! evenly. Memory is reserved when a response's head is decided on, since the head names the coding.

use super::settings::Target;
use hayami_http::negotiate::Coding;
use std::cell::Cell;
use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The divisor of the memory that encoders may use.
const PART: u64 = 64;

/// Encoders may always use this much: enough for about thirty at default qualities.
const LEAST: u64 = 32 << 20;

/// The most that a small encoder takes.
const SMALL: u64 = 384 << 10;

/// Workers that have compressed something.
static WORKERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static USED: Used = const { Used(Cell::new(None)) };
}

/// Bytes that the encoders of a worker use; `None` before the first one.
struct Used(Cell<Option<u64>>);

impl Drop for Used {
    fn drop(&mut self) {
        if self.0.get().is_some() {
            WORKERS.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Memory reserved for one encoder of a worker; released when dropped. It stays on its thread.
#[derive(Debug)]
pub(super) struct Reservation {
    bytes: u64,
    _of_its_thread: std::marker::PhantomData<*const ()>,
}

impl Reservation {
    /// Reserves memory for an encoder; `None` if the other encoders of this worker have used it up.
    pub(super) fn new(target: Target) -> Option<Self> {
        Self::within(target, total() / workers())
    }

    fn within(target: Target, most: u64) -> Option<Self> {
        let bytes = encoder_bytes(target);
        // The last quarter is reserved for small encoders.
        let most = if bytes <= SMALL { most } else { most / 4 * 3 };
        let (before, used) = (used(), used() + bytes);
        // One encoder is always allowed, whatever it takes.
        (before == 0 || used <= most).then(|| {
            USED.with(|own| own.0.set(Some(used)));
            Self { bytes, _of_its_thread: std::marker::PhantomData }
        })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // The thread may be exiting.
        let _ =
            USED.try_with(|Used(used)| used.set(used.get().map(|bytes| bytes.saturating_sub(self.bytes))));
    }
}

fn used() -> u64 {
    USED.with(|own| own.0.get()).unwrap_or_else(|| {
        // On first use: once per worker, not per request.
        WORKERS.fetch_add(1, Ordering::Relaxed);
        0
    })
}

fn workers() -> u64 {
    WORKERS.load(Ordering::Relaxed).max(1)
}

/// Bytes that an encoder takes for content of any length. Measured, and rounded up to include its unsent output.
pub(super) fn encoder_bytes(target: Target) -> u64 {
    let kib = match (target.coding, target.quality) {
        (Coding::Gzip | Coding::Identity, _) => 384,
        (Coding::Brotli, 0) => 256,
        (Coding::Brotli, 1) => 448,
        (Coding::Brotli, ..=3) => 832,
        (Coding::Brotli, ..=5) => 1792,
        (Coding::Brotli, 6) => 2816,
        (Coding::Brotli, 7) => 9728,
        (Coding::Brotli, 8) => 17_920,
        (Coding::Brotli, 9) => 32_512,
        (Coding::Brotli, _) => 6144,
        (Coding::Zstd, 1) => 384,
        (Coding::Zstd, 2) => 704,
        (Coding::Zstd, 3) => 1216,
        (Coding::Zstd, ..=6) => 2944,
        (Coding::Zstd, ..=12) => 6144,
        (Coding::Zstd, _) => 9728,
    };
    kib << 10
}

/// Bytes for the encoders of all workers.
fn total() -> u64 {
    static TOTAL: OnceLock<u64> = OnceLock::new();
    *TOTAL.get_or_init(|| (memory() / PART).max(LEAST))
}

/// Bytes available to the process: the memory of the machine, or of its control group if that is less. On Linux at
/// least one is known.
fn memory() -> u64 {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let group = group(&read("/proc/self/cgroup")).map(|group| format!("/sys/fs/cgroup{group}/memory.max"));
    let limits = [group, Some("/sys/fs/cgroup/memory.max".to_owned())].map(|path| limit(&read(&path?)));
    let known = limits.into_iter().flatten().chain(machine(&read("/proc/meminfo")));
    known.min().unwrap_or(0)
}

/// The path of the control group (version 2).
fn group(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::"))
}

fn limit(text: &str) -> Option<u64> {
    // `max`: no limit.
    text.trim().parse().ok()
}

fn machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROTLI: Target = Target { coding: Coding::Brotli, quality: 1 };
    const GZIP: Target = Target { coding: Coding::Gzip, quality: 1 };

    #[test]
    fn encoders_take_no_more_than_the_budget_and_the_last_quarter_is_for_gzip() {
        let most = 8 * encoder_bytes(BROTLI);
        let held: Vec<_> = std::iter::from_fn(|| Reservation::within(BROTLI, most)).collect();
        assert_eq!(held.len(), 6);
        let gzip: Vec<_> = std::iter::from_fn(|| Reservation::within(GZIP, most)).collect();
        assert_eq!(gzip.len() as u64, (most - 6 * encoder_bytes(BROTLI)) / encoder_bytes(GZIP));
        drop(held);
        assert!(Reservation::within(BROTLI, most).is_some(), "they are given back");
        drop(gzip);
        let large = Reservation::within(Target { coding: Coding::Brotli, quality: 9 }, most);
        assert!(large.is_some(), "one there may be");
        assert!(Reservation::within(GZIP, most).is_none());
    }

    #[test]
    fn the_memory_of_the_machine_and_of_the_control_group_are_read() {
        assert_eq!(machine("MemTotal:       24684000 kB\nMemFree: 1 kB\n"), Some(24_684_000 << 10));
        assert_eq!(machine("MemFree: 1 kB\n"), None);
        assert_eq!((limit("max\n"), limit("1073741824\n")), (None, Some(1 << 30)));
        assert_eq!(
            group("1:name=systemd:/x\n0::/system.slice/hayami.service\n"),
            Some("/system.slice/hayami.service")
        );
        assert!(total() >= LEAST);
    }
}
