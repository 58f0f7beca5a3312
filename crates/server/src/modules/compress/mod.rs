//! `compress`: compresses responses while they are sent, whatever handler made them.
//!
//! ```text
//! filter ── fields (vary, etag, digests)
//!    └───── source: content ─▶ encoder (gzip, br, zstd) ─▶ connection
//!            memory (limits), pool (reuse)
//! ```
//!
//! The filter decides by the heads of response and request; for a response that is not compressed it costs only the
//! lookup of its type. A compressed file is read by this process; any other stays a file. Compression runs after
//! everything that changes fields, since it depends on them, and before `throttle`, which counts the bytes sent.
//!
//! Not here: precompressed files (`file.send-compressed`).

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

/// The filter for these settings, if they enable any coding.
fn build(route: &RouteContext<'_>) -> Option<Box<dyn Filter>> {
    let (settings, types) =
        (route.innermost().get::<Settings>(), &route.inherited.get::<file::Settings>().mime);
    let filter = || filter::Compression::new(settings, types.compressibility());
    (!settings.targets.is_empty()).then(|| Box::new(filter()) as Box<dyn Filter>)
}
