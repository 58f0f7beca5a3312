//! The causes of failed requests, each with its count. The list is bounded, whatever the server does.

use super::errors::Errors;
use hayami_http::Status;

/// Different causes that are kept; further ones are counted as [`OTHER`].
const MOST: usize = 32;

/// The text for causes beyond the first [`MOST`].
const OTHER: &str = "other causes";

/// A reason for failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The kind of the error, as in [`Errors::by_kind`](crate::Errors::by_kind).
    pub kind: &'static str,
    /// What happened: `connection refused`.
    pub text: String,
    /// How often.
    pub count: u64,
}

/// All reasons for failures of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    all: Vec<Cause>,
}

impl Causes {
    /// Counts failures of this kind and cause.
    pub fn add(&mut self, kind: &'static str, text: &str, count: u64) {
        if count == 0 {
            return;
        }
        let is_full =
            self.all.len() >= MOST && !self.all.iter().any(|own| own.kind == kind && own.text == text);
        let text = if is_full { OTHER } else { text };
        match self.all.iter_mut().find(|own| own.kind == kind && own.text == text) {
            Some(own) => own.count += count,
            None => self.all.push(Cause { kind, text: text.to_owned(), count }),
        }
    }

    /// Counts responses whose status is not an expected one.
    pub fn add_unexpected(&mut self, code: u16, count: u64) {
        let status = format!("unexpected status {}", status(code));
        self.add(Errors::STATUS, &status, count);
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        other.all.iter().for_each(|cause| self.add(cause.kind, &cause.text, cause.count));
    }

    /// Clears everything and keeps the memory.
    pub fn clear(&mut self) {
        self.all.clear();
    }

    /// Whether nothing failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The causes, the most frequent first.
    #[must_use]
    pub fn sorted(&self) -> Vec<Cause> {
        let mut sorted = self.all.clone();
        sorted.sort_by_key(|cause| std::cmp::Reverse(cause.count));
        sorted
    }
}

/// `404 Not Found`, or the number alone where no name is registered.
pub(crate) fn status(code: u16) -> String {
    let name = Status::new(code).map_or("", Status::reason);
    format!("{code} {name}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_cause_comes_first() {
        let mut causes = Causes::default();
        causes.add("reset", "closed", 2);
        causes.add("connect", "refused", 1);
        causes.add("connect", "nothing", 0);
        let mut other = Causes::default();
        other.add("connect", "refused", 2);
        causes.merge(&other);
        let sorted: Vec<_> = causes.sorted().into_iter().map(|cause| (cause.text, cause.count)).collect();
        assert_eq!(sorted, [("refused".to_owned(), 3), ("closed".to_owned(), 2)]);
    }

    #[test]
    fn causes_without_end_take_bounded_memory_and_keep_their_sum() {
        let mut causes = Causes::default();
        for number in 0..1000 {
            causes.add("tls", &format!("fault {number}"), 1);
            causes.add("reset", &format!("fault {number}"), 1);
        }
        let sorted = causes.sorted();
        assert!(sorted.len() <= MOST + 2, "{}", sorted.len());
        assert_eq!(sorted.iter().map(|cause| cause.count).sum::<u64>(), 2000);
        assert_eq!(sorted[0].text, OTHER);
    }
}
