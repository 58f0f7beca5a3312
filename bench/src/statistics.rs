//! Medians and ranges over the rounds of a race.

/// The distribution of one figure over the rounds of one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The median; for an even count the mean of the two middle values.
    pub(crate) median: f64,
    /// The smallest value.
    pub(crate) min: f64,
    /// The largest value.
    pub(crate) max: f64,
}

/// The spread of `values`, or `None` if there are none. Values that are not finite (a round without a single
/// response has no cost) are left out.
pub(crate) fn spread(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    Some(Spread { median: (low + high) / 2.0, min, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        let cases = [
            (vec![], None),
            (vec![f64::NAN, f64::INFINITY], None),
            (vec![4.0], Some((4.0, 4.0, 4.0))),
            (vec![9.0, 1.0, 5.0], Some((5.0, 1.0, 9.0))),
            (vec![4.0, 1.0, 3.0, 2.0], Some((2.5, 1.0, 4.0))),
            (vec![2.0, f64::NAN, 1.0, 3.0], Some((2.0, 1.0, 3.0))),
        ];
        for (values, expected) in cases {
            let expected = expected.map(|(median, min, max)| Spread { median, min, max });
            assert_eq!(spread(values.clone()), expected, "{values:?}");
        }
    }
}
