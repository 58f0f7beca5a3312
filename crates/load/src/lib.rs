//! Generates load on HTTP servers and reports the results: the library behind `hayami bench`.
//!
//! ```text
//! options ─▶ Plan ─▶ run(&plan, &target, &control) ─▶ Outcome ─▶ warnings, comparison, reports
//!                       worker threads, each a Tally ──▲
//! ```
//!
//! [`plan`] and [`outcome`] are plain data: the input and the result. Everything else turns the one into the
//! other or reports it. Sockets are in `hayami-net`, the command line is in `hayami`.
#![forbid(unsafe_code)]

mod clock;
pub mod compare;
mod connection;
pub mod control;
mod dial;
mod distance;
pub mod like;
pub mod limits;
pub mod outcome;
mod pace;
pub mod plan;
pub mod report;
mod run;
pub mod server;
pub mod tally;
pub mod warnings;
mod worker;

pub use control::{Control, Live, Phase};
pub use outcome::{CpuRoom, Death, Ended, Outcome, Sample, ServerCost, Tally, TlsSpoken};
pub use plan::{Plan, Target};
pub use run::run;
pub use tally::{Cause, Causes, Errors, Histogram, Slot, Statuses, Timeline};
