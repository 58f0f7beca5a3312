//! The reports of a measurement, for people and for programs.
//!
//! Every report is made from one [`Report`], plain data, as one string: [`text()`] for a terminal, [`json()`] and
//! [`csv()`] for programs, [`html()`] as a self-contained page. [`live`] is the view during a run. Nothing
//! here opens a file.

mod about;
mod bars;
mod csv;
pub(crate) mod failures;
pub(crate) mod figure;
mod html;
mod json;
pub mod live;
mod summary;
mod text;
mod wrap;

#[cfg(test)]
pub(crate) mod samples;

pub use about::{About, Machine, shell};
pub use csv::csv;
pub use html::html;
pub use json::json;
pub use text::text;
pub use wrap::wrap;

use crate::{Outcome, Plan};

/// The percentiles of every report, with their names.
pub(crate) const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// Everything that is reported.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The results, one per run, in the order of the runs: all targets of the first round, of the second, …
    pub outcomes: &'a [Outcome],
    /// The warnings, a sentence each.
    pub warnings: &'a [String],
    /// The environment of the measurement.
    pub about: &'a About,
}
