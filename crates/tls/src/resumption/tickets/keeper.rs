//! The thread that keeps the ticket keys of all workers fresh.

use super::{Ring, Source};
use crate::resumption::Report;
use crate::resumption::alive::Signal;
use crate::resumption::clock::unix_now;
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Renews `ring` from `source` until it is no longer needed. `first` is notified after the first time.
pub(in crate::resumption) fn keep(
    mut source: Source,
    ring: &ArcSwap<Ring>,
    lifetime: u32,
    report: &Report,
    signal: &Signal,
    first: &Sender<()>,
) {
    let lifetime = u64::from(lifetime);
    loop {
        if let Some(next) = source.refresh(&ring.load(), unix_now(), lifetime, report) {
            ring.store(Arc::new(next));
        }
        let _ = first.send(());
        if !signal.wait(source.interval(lifetime)) {
            return;
        }
    }
}
