//! `stash`: a place for YAML anchors.

use crate::config::directive::{Directive, Levels, group};
use crate::feature::Feature;

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Anchors", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "stash",
    levels: Levels::ALL,
    argument: "anything",
    default: "",
    help: "Has no effect. Use it for values that YAML aliases refer to.",
    set: |_, _| Ok(()),
}];
