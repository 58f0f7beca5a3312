//! Which worker takes connections from which accept queues.

/// The queues that each worker is to have, of a listener with this many `queues`, if they have those in `held` now. Every queue
/// has a worker, and queues are spread evenly; few change hands. If there are fewer queues than workers, workers share them.
pub(super) fn assign(held: &[&[usize]], queues: usize) -> Vec<Vec<usize>> {
    let mut assigned = vec![Vec::new(); held.len()];
    let mut free: Vec<usize> = (0..queues).collect();
    for (own, held) in assigned.iter_mut().zip(held) {
        own.extend(free.iter().position(|queue| held.contains(queue)).map(|at| free.remove(at)));
    }
    for queue in free {
        let least = (0..held.len()).min_by_key(|at| (assigned[*at].len(), !held[*at].contains(&queue)));
        if let Some(least) = least {
            assigned[least].push(queue);
        }
    }
    for (at, own) in assigned.iter_mut().enumerate().filter(|(_, own)| own.is_empty()) {
        own.push(held[at].first().copied().unwrap_or(at % queues));
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_a_queue_and_every_queue_a_worker() {
        // The queues of the workers, how many there are, and what each of the workers gets.
        type Case = (&'static [&'static [usize]], usize, &'static [&'static [usize]]);
        let cases: &[Case] = &[
            (&[&[], &[], &[]], 3, &[&[0], &[1], &[2]]),
            (&[&[], &[], &[]], 1, &[&[0], &[0], &[0]]),
            (&[&[0], &[0], &[0]], 1, &[&[0], &[0], &[0]]),
            (&[&[0], &[1], &[2]], 3, &[&[0], &[1], &[2]]),
            (&[&[1]], 4, &[&[1, 0, 2, 3]]),
            (&[&[1], &[3]], 4, &[&[1, 0], &[3, 2]]),
            (&[&[0], &[]], 2, &[&[0], &[1]]),
            (&[&[0, 1], &[], &[]], 2, &[&[0], &[1], &[0]]),
            (&[&[0, 1, 2, 3], &[], &[], &[]], 4, &[&[0], &[1], &[2], &[3]]),
            (&[&[0, 1, 2, 3], &[]], 4, &[&[0, 2], &[1, 3]]),
            (&[&[], &[]], 3, &[&[0, 2], &[1]]),
        ];
        for (held, queues, want) in cases {
            assert_eq!(assign(held, *queues), *want, "{held:?} {queues}");
        }
    }
}
