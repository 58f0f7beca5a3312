//! `stash`: a place for YAML anchors.

use crate::config::directive::{Directive, Levels};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "stash",
    levels: Levels::ALL,
    argument: "anything",
    default: "",
    help: "Does nothing. Keep there what you refer to with YAML aliases.",
    set: |_, _| Ok(()),
}];
