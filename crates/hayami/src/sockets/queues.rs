//! Which worker takes connections from which accept queues.

/// The queues that each worker opens, of a listener with this many `queues`, beside those that it has (`held`). Every worker
/// has one then, and every queue at least one worker: queues of workers that have left go to the others.
pub(super) fn assign(held: &[&[usize]], queues: usize) -> Vec<Vec<usize>> {
    let mut opened = vec![Vec::new(); held.len()];
    let mut orphans = (0..queues).filter(|queue| !held.iter().any(|own| own.contains(queue)));
    for at in (0..held.len()).filter(|at| held[*at].is_empty()) {
        // Without a queue of its own, a worker shares one with another worker.
        opened[at].push(orphans.next().unwrap_or(at % queues));
    }
    for (at, orphan) in orphans.enumerate() {
        opened[at % held.len()].push(orphan);
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_a_queue_and_every_queue_a_worker() {
        // What the workers have, how many queues there are, what each of them opens.
        type Case = (&'static [&'static [usize]], usize, &'static [&'static [usize]]);
        let cases: &[Case] = &[
            (&[&[], &[], &[]], 3, &[&[0], &[1], &[2]]),
            (&[&[], &[], &[]], 1, &[&[0], &[0], &[0]]),
            (&[&[0], &[1], &[2]], 3, &[&[], &[], &[]]),
            (&[&[1]], 4, &[&[0, 2, 3]]),
            (&[&[1], &[3]], 4, &[&[0], &[2]]),
            (&[&[0], &[]], 2, &[&[], &[1]]),
            (&[&[0, 1], &[], &[]], 2, &[&[], &[1], &[0]]),
            (&[&[], &[]], 3, &[&[0, 2], &[1]]),
        ];
        for (held, queues, want) in cases {
            assert_eq!(assign(held, *queues), *want, "{held:?} {queues}");
        }
    }
}
