//! Under construction.

use crate::config::directive::Directive;

/// The settings of this feature.
#[derive(Clone, Debug, Default)]
pub struct Settings {}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[];
