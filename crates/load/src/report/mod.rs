//! What came of a measurement, for people and for programs.
//!
//! Every report is made from one [`Report`], plain data, as one string: [`text()`] for a terminal, [`json()`] and
//! [`csv()`] for programs, [`html()`] as a page to keep. [`live`] is what is seen while a run goes on. Nothing here
//! opens a file.

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

/// The percentiles that every report tells, with their names.
pub(crate) const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// Everything that is reported.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// What happened, a run each, in the order of the runs: all targets of the first round, of the second, …
    pub outcomes: &'a [Outcome],
    /// What could lead to wrong conclusions, a sentence each.
    pub warnings: &'a [String],
    /// With what and where it was measured.
    pub about: &'a About,
}
