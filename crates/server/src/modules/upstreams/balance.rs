//! Load balancing: selects the upstream for a request, without clocks or connections.

use super::hash;
use std::hash::{BuildHasher, RandomState};

/// How requests are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// In turn, in proportion to the weights.
    #[default]
    RoundRobin,
    /// To the upstream with the fewest requests in flight relative to its weight.
    LeastConn,
    /// To the less busy of two upstreams drawn at random by weight, so that workers, which do not know of each other,
    /// do not all pick the same one.
    TwoChoices,
    /// The same key always goes to the same upstream.
    Hash,
}

/// An upstream as a balancer sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Relative to the weights of the others; not zero.
    pub(super) weight: u32,
    /// Hash of its name.
    pub(super) number: u64,
    /// Requests in flight.
    pub(super) in_flight: usize,
    /// Whether it may be chosen.
    pub(super) fit: bool,
}

impl Candidate {
    /// Whether it has fewer requests in flight than `other`, relative to the weights.
    fn is_idler_than(&self, other: &Self) -> bool {
        self.in_flight as u64 * u64::from(other.weight) < other.in_flight as u64 * u64::from(self.weight)
    }
}

/// Distributes requests among upstreams; one per worker.
#[derive(Debug)]
pub(super) struct Balancer {
    policy: Policy,
    /// Per upstream: its current weight (round robin).
    owed: Vec<i64>,
    /// Index at which the next search starts, so that ties rotate (least connections).
    turn: usize,
    /// State of the random number generator.
    random: u64,
}

impl Balancer {
    /// Creates a balancer for `upstreams` upstreams.
    pub(super) fn new(policy: Policy, upstreams: usize) -> Self {
        let random = RandomState::new().hash_one(0);
        Self { policy, owed: vec![0; upstreams], turn: 0, random }
    }

    /// Resets the state for a new number of upstreams.
    pub(super) fn renew(&mut self, upstreams: usize) {
        self.owed.clear();
        self.owed.resize(upstreams, 0);
    }

    /// Returns the index of the upstream for the next request; `None` if no upstream may be chosen. `key` is the
    /// request's hash key, if it has one; `candidate` describes each upstream.
    pub(super) fn choose(
        &mut self,
        key: Option<u64>,
        candidate: impl Fn(usize) -> Candidate,
    ) -> Option<usize> {
        if self.owed.len() == 1 {
            return candidate(0).fit.then_some(0);
        }
        match (self.policy, key) {
            (Policy::LeastConn, _) => self.least(candidate),
            (Policy::TwoChoices, _) => self.better_of_two(candidate),
            (Policy::Hash, Some(key)) => self.drawn_by(key, candidate),
            (Policy::RoundRobin | Policy::Hash, _) => self.in_turn(candidate),
        }
    }

    /// The upstream with the highest draw for the key.
    fn drawn_by(&self, key: u64, candidate: impl Fn(usize) -> Candidate) -> Option<usize> {
        let fit = (0..self.owed.len()).map(|index| (index, candidate(index))).filter(|(_, own)| own.fit);
        let draws = fit.map(|(index, own)| (index, hash::draw(key, own.number, own.weight)));
        draws.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
    }

    /// Smooth weighted round robin: every upstream gains its weight; the largest is chosen and pays back the total.
    fn in_turn(&mut self, candidate: impl Fn(usize) -> Candidate) -> Option<usize> {
        let (mut best, mut total): (Option<usize>, i64) = (None, 0);
        for index in 0..self.owed.len() {
            let Candidate { weight, fit: true, .. } = candidate(index) else { continue };
            self.owed[index] += i64::from(weight);
            total += i64::from(weight);
            if best.is_none_or(|best| self.owed[index] > self.owed[best]) {
                best = Some(index);
            }
        }
        self.owed[best?] -= total;
        best
    }

    fn least(&mut self, candidate: impl Fn(usize) -> Candidate) -> Option<usize> {
        let count = self.owed.len();
        let mut best: Option<(usize, Candidate)> = None;
        for index in (0..count).map(|step| (self.turn + step) % count) {
            let own = candidate(index);
            if own.fit && best.is_none_or(|(_, best)| own.is_idler_than(&best)) {
                best = Some((index, own));
            }
        }
        self.turn = best?.0 + 1;
        best.map(|(index, _)| index)
    }

    fn better_of_two(&mut self, candidate: impl Fn(usize) -> Candidate) -> Option<usize> {
        let first = self.draw(&candidate, None)?;
        let Some(second) = self.draw(&candidate, Some(first)) else { return Some(first) };
        Some(if candidate(second).is_idler_than(&candidate(first)) { second } else { first })
    }

    /// Draws an eligible upstream other than `other` at random, by weight.
    fn draw(&mut self, candidate: &impl Fn(usize) -> Candidate, other: Option<usize>) -> Option<usize> {
        let weights = || {
            let own = |index| (index, candidate(index));
            let fit = (0..self.owed.len()).map(own).filter(|(index, c)| c.fit && Some(*index) != other);
            fit.map(|(index, candidate)| (index, u64::from(candidate.weight)))
        };
        let total: u64 = weights().map(|(_, weight)| weight).sum();
        let mut at = next(&mut self.random).checked_rem(total)?;
        for (index, weight) in weights() {
            match at.checked_sub(weight) {
                Some(rest) => at = rest,
                None => return Some(index),
            }
        }
        None
    }
}

/// The next random number: good enough for balancing, without a system call.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash::mix(*state)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `requests` requests each upstream gets; an upstream is its weight, requests in flight, fit.
    fn shares(policy: Policy, upstreams: &[(u32, usize, bool)], requests: usize) -> Vec<usize> {
        let mut balancer = Balancer { random: 7, ..Balancer::new(policy, upstreams.len()) };
        let mut shares = vec![0; upstreams.len()];
        for _ in 0..requests {
            let candidate = |index: usize| {
                let (weight, in_flight, fit) = upstreams[index];
                Candidate { weight, in_flight, fit, number: 0 }
            };
            shares[balancer.choose(None, candidate).expect("one is fit")] += 1;
        }
        shares
    }

    #[test]
    fn every_member_gets_the_share_of_its_weight() {
        use Policy::{LeastConn, RoundRobin};
        type Case<'a> = (Policy, &'a [(u32, usize, bool)], usize, &'a [usize]);
        let cases: &[Case<'_>] = &[
            (RoundRobin, &[(1, 0, true)], 3, &[3]),
            (RoundRobin, &[(1, 9, true), (1, 0, true)], 10, &[5, 5]),
            (RoundRobin, &[(5, 0, true), (1, 0, true), (1, 0, true)], 70, &[50, 10, 10]),
            (RoundRobin, &[(5, 0, false), (1, 0, true), (2, 0, true)], 9, &[0, 3, 6]),
            (LeastConn, &[(1, 3, true), (1, 2, true)], 4, &[0, 4]),
            (LeastConn, &[(2, 3, true), (1, 2, true)], 4, &[4, 0]),
            (LeastConn, &[(1, 0, true), (1, 0, true), (1, 0, false)], 6, &[3, 3, 0]),
        ];
        for (policy, upstreams, requests, want) in cases {
            assert_eq!(shares(*policy, upstreams, *requests), *want, "{policy:?} {upstreams:?}");
        }
    }

    #[test]
    fn a_heavy_upstream_is_not_asked_many_times_in_a_row() {
        let mut balancer = Balancer::new(Policy::RoundRobin, 3);
        let weights = [5, 1, 1];
        let choose = |_| {
            let fit = |index: usize| Candidate { weight: weights[index], number: 0, in_flight: 0, fit: true };
            balancer.choose(None, fit).unwrap()
        };
        assert_eq!((0..7).map(choose).collect::<Vec<_>>(), [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn of_two_the_idler_one_is_chosen() {
        assert_eq!(shares(Policy::TwoChoices, &[(1, 5, true), (1, 4, true)], 100), [0, 100]);
        assert_eq!(shares(Policy::TwoChoices, &[(1, 5, true), (9, 4, false)], 100), [100, 0]);
        let thirds = shares(Policy::TwoChoices, &[(1, 0, true), (1, 0, true), (1, 0, true)], 3000);
        assert!(thirds.iter().all(|share| (800..1200).contains(share)), "{thirds:?}");
        let weighted = shares(Policy::TwoChoices, &[(8, 0, true), (1, 0, true), (1, 0, true)], 3000);
        assert!(weighted[0] > 2000, "{weighted:?}");
    }

    #[test]
    fn without_a_usable_member_none_is_chosen() {
        for policy in [Policy::RoundRobin, Policy::LeastConn, Policy::TwoChoices, Policy::Hash] {
            for count in [1, 3] {
                let unfit = Candidate { weight: 1, number: 0, in_flight: 0, fit: false };
                assert_eq!(Balancer::new(policy, count).choose(Some(7), |_| unfit), None, "{policy:?}");
            }
        }
    }

    #[test]
    fn a_key_goes_to_the_same_one_and_without_a_key_all_take_turns() {
        let mut balancer = Balancer::new(Policy::Hash, 3);
        let mut choose = |key, out: Option<usize>| {
            let number = |index: usize| hash::number(&[index as u8]);
            balancer.choose(key, |index| Candidate {
                weight: 256,
                number: number(index),
                in_flight: 0,
                fit: out != Some(index),
            })
        };
        let first = choose(Some(5), None);
        assert!((0..10).all(|_| choose(Some(5), None) == first));
        let other = choose(Some(5), first);
        assert!(other.is_some() && other != first);
        assert_eq!(choose(Some(5), None), first, "it is back");
        let mut turns: Vec<_> = (0..3).map(|_| choose(None, None)).collect();
        turns.sort_unstable();
        assert_eq!(turns, [Some(0), Some(1), Some(2)]);
    }
}
