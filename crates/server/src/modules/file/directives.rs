//! The directives of static files.

use crate::config::directive::Directive;

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[];
