//! How many responses had which status.

/// Responses counted by status code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statuses {
    /// At the index of each code; as long as the highest code needs.
    counts: Vec<u64>,
}

/// Room for the codes of RFC 9110 and those that servers invent: 100 to 599.
const USUAL: usize = 600;

impl Statuses {
    /// Counts responses with this code.
    #[inline]
    pub fn add(&mut self, code: u16, responses: u64) {
        let index = usize::from(code);
        if index >= self.counts.len() {
            self.counts.resize(USUAL.max(index + 1), 0);
        }
        self.counts[index] += responses;
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(code, responses)| self.add(code, responses));
    }

    /// Clears everything and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Each code that occurred and how often, in the order of the codes.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        let coded = self.counts.iter().enumerate().filter(|(_, responses)| **responses > 0);
        coded.map(|(code, responses)| (u16::try_from(code).unwrap_or(u16::MAX), *responses))
    }

    /// Responses by class: 200 to 299 at index 2; at index 0 those outside 100 to 599.
    #[must_use]
    pub fn classes(&self) -> [u64; 6] {
        let mut classes = [0; 6];
        for (code, responses) in self.iter() {
            let class = usize::from(code / 100);
            classes[if class < 6 { class } else { 0 }] += responses;
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_counted_apart_and_added_up_by_class() {
        let mut statuses = Statuses::default();
        for (code, responses) in [(200, 3), (204, 1), (999, 2), (99, 1), (404, 5), (200, 1)] {
            statuses.add(code, responses);
        }
        let mut other = Statuses::default();
        other.add(500, 7);
        other.add(404, 1);
        statuses.merge(&other);
        let all: Vec<_> = statuses.iter().collect();
        assert_eq!(all, [(99, 1), (200, 4), (204, 1), (404, 6), (500, 7), (999, 2)]);
        assert_eq!(statuses.classes(), [3, 0, 5, 0, 6, 7]);
    }
}
