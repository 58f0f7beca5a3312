//! The results that a load generator reports for its own run, whichever it is.

/// The final figures of a load generator; `None` where it does not report one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reported {
    /// Complete and correct responses.
    pub(crate) responses: u64,
    /// Everything else it counted.
    pub(crate) errors: u64,
    /// The measured duration that it reports.
    pub(crate) seconds: f64,
    /// Mean latency, microseconds.
    pub(crate) mean_us: Option<f64>,
    /// Median latency, microseconds.
    pub(crate) p50_us: Option<f64>,
    /// 99th percentile of the latency, microseconds.
    pub(crate) p99_us: Option<f64>,
}

/// A duration as wrk and h2load print it, in microseconds: `653us`, `1.05ms`, `3.00s`, `1.20m`.
pub(super) fn duration_us(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..at].parse().ok()?;
    let factor = match &text[at..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_come_in_all_units_of_the_tools() {
        for (text, us) in
            [("0.00us", 0.0), ("103us", 103.0), ("2.50ms", 2500.0), ("75.20s", 75.2e6), ("1.00m", 60e6)]
        {
            assert!(duration_us(text).is_some_and(|found| (found - us).abs() < 1e-6), "{text}");
        }
        for wrong in ["12", "x", "", "3.0XB", "ms"] {
            assert_eq!(duration_us(wrong), None, "{wrong}");
        }
    }
}
