//! What workers count: durations ([`Histogram`]), what happened when ([`Timeline`]), and how the counts of
//! several workers become one. Everything has a bounded size, however long a run is.
//!
//! The counts themselves are fields of [`Tally`], in `outcome`.

pub(crate) mod causes;
mod errors;
mod histogram;
mod statuses;
mod timeline;

pub use causes::{Cause, Causes};
pub use errors::Errors;
pub use histogram::{Bucket, Histogram};
pub use statuses::Statuses;
pub use timeline::{Slot, Timeline};

use crate::Tally;

impl Tally {
    /// The time to connect of all connections, whether opened before or during the measurement.
    #[must_use]
    pub fn connects(&self) -> Histogram {
        let mut connects = self.connect.clone();
        connects.merge(&self.connect_before);
        connects
    }

    /// Adds what another worker, or another round, has counted.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        match (&mut self.uncorrected, &other.uncorrected) {
            (Some(own), Some(more)) => own.merge(more),
            (own @ None, more) => own.clone_from(more),
            (Some(_), None) => {}
        }
        self.connect.merge(&other.connect);
        self.connect_before.merge(&other.connect_before);
        self.first_byte.merge(&other.first_byte);
        self.statuses.merge(&other.statuses);
        self.errors.merge(&other.errors);
        self.causes.merge(&other.causes);
        self.requests += other.requests;
        self.responses += other.responses;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.bytes_head += other.bytes_head;
        self.bytes_content += other.bytes_content;
        self.connections += other.connections;
        self.resumed += other.resumed;
        self.timeline.merge(&other.timeline);
        if self.sample.is_none() {
            self.sample.clone_from(&other.sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    fn one(status: u16) -> Tally {
        let mut tally = Tally { requests: 2, responses: 1, bytes_in: 100, ..Tally::default() };
        tally.statuses.add(status, 1);
        tally.latency.record(1000);
        tally.timeline.at(5).responses += 1;
        tally.connect_before.record(7);
        tally.errors.timeout += 1;
        tally.sample = Some(Sample { status, ..Sample::default() });
        tally
    }

    #[test]
    fn merging_adds_and_keeps_the_first_sample() {
        let mut sum = Tally::default();
        sum.merge(&one(200));
        sum.merge(&one(404));
        assert_eq!((sum.requests, sum.responses, sum.bytes_in), (4, 2, 200));
        assert_eq!(sum.statuses.classes(), [0, 0, 1, 0, 1, 0]);
        assert_eq!((sum.latency.count(), sum.timeline.slots()[0].responses), (2, 2));
        assert_eq!((sum.errors.total(), sum.connects().count()), (2, 2));
        assert_eq!(sum.sample.map(|sample| sample.status), Some(200));
    }

    #[test]
    fn uncorrected_latencies_merge_when_either_side_has_some() {
        let with = |nanos| {
            let mut tally = Tally::default();
            tally.uncorrected.get_or_insert_default().record(nanos);
            tally
        };
        let (mut left, mut right) = (with(5), Tally::default());
        left.merge(&Tally::default());
        right.merge(&with(7));
        right.merge(&left);
        assert_eq!(left.uncorrected.map(|own| own.count()), Some(1));
        assert_eq!(right.uncorrected.map(|own| own.count()), Some(2));
    }
}
