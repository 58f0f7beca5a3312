//! `compress`: responses are compressed while they are sent, whatever they come from.
//!
//! ```text
//! filter ── fields (vary, etag, digests)
//!    └───── source: content ─▶ encoder (gzip, br, zstd) ─▶ connection
//!            memory (how many), pool (used again)
//! ```
//!
//! The filter decides by the response's head and the request's; a response that it leaves alone costs the look-up of its
//! type. A file that is compressed is read by this process; one that is not stays a file. Compression has its place
//! behind everything that changes fields, since it depends on them, and before `throttle`, which counts what is sent.
//!
//! Not here: files that were compressed beforehand (`file.send-compressed`).

mod directives;
mod encoder;
mod fields;
mod filter;
mod memory;
mod pool;
mod settings;
mod shortage;
mod source;

pub use directives::DIRECTIVES;
pub use settings::{Settings, Target};

use crate::config::directive::group;
use crate::feature::{Feature, RouteContext};
use crate::handler::Filter;
use crate::modules::file;

/// This feature.
pub const FEATURE: Feature =
    Feature { body_filter: Some(build), ..Feature::new(&[group("Compression", DIRECTIVES)]) };

/// The filter of these settings, if they ask for one.
fn build(route: &RouteContext<'_>) -> Option<Box<dyn Filter>> {
    let (settings, types) =
        (route.innermost().get::<Settings>(), &route.inherited.get::<file::Settings>().mime);
    let filter = || filter::Compression::new(settings, types.compressibility());
    (!settings.targets.is_empty()).then(|| Box::new(filter()) as Box<dyn Filter>)
}
